"""What PyTorch's programs ask for beside numbers: scripting, processes, profilers, tests, torch's own name.

Some of it works, some has no effect and says so in its docstring, and what is refused gives its reason (`refused.py`).
"""
