"""Beside the tensors: feeding a training loop with data, and keeping tensors in files."""
