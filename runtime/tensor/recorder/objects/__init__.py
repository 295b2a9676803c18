"""LLVM text of what the recorder's objects are: tensors, cells, the tape and its notes, how they live and die."""
