"""The battery: small frames, lies included, read by every consumer in a process of its own.

It lies in the repository and the sdist, not in the wheel: whoever is installed without it says so.
"""
