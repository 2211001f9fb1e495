"""Producers that lie, break and change their minds, for every protocol that is read.

`driver` hunts, `case` draws inputs, `tree` makes producers of them, `faults` has what can be wrong, `oracle` judges,
`reading` reads what came; a file for each protocol has those producers that tell the truth. `long` is a command.
"""
