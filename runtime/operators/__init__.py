"""Operators by name: what `torch.library` defines and `torch.ops` calls."""
