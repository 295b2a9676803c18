"""Random programs, what they must give, and how they are made small.

    python -m tests.fuzz compositions 20000 0        structured NumPy programs under nests of transforms
    python -m tests.fuzz control 2000 0              control flow, effects and exceptions as plain Python has them
    python -m tests.fuzz tensors 10000 0             views, writes, hooks, modes and threads, against torch

`choices` is where generators draw from; `formulas`, `bodies` and `nests` write programs; `duals` and `plainly` say what
they must give; `compositions` and `tensors` compare; `shrink` makes small what is wrong; `kinds` joins these, and
`__main__` runs thousands in processes of their own.
"""
