"""Hostile producers, each read by every consumer in a process of its own: who refuses, who is deceived, who crashes."""
