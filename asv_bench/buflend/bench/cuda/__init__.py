"""What `buflend compare --device cuda` measures: the parts that have something to show of memory on a CUDA device.

Whatever touches such a device does so in a process of its own, which it may end; the command's process never does.
"""
