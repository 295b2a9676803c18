"""LLVM text that recognises a call, gives its results and notes it: a state or a pattern and arguments go in."""
