"""LLVM text that runs what was noted: inputs go in, kernels are launched, results are put where they are waited for."""
