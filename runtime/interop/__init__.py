"""Other packages: arrays shared with them, and compiled functions inside PyTorch and JAX."""
