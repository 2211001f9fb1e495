"""What asv measures, implementation by implementation; run by asv from asv_bench, imported by nobody.

Which implementation does what, by which expression, stands in `implementations`; how an expression is made ready and
looped over in `common`; a benchmark in `bench_*` is a topic of the one with a loop of the other. Of `buflend` nothing
is imported but what is in the wheel.
"""
