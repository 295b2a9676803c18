"""Tensors made, joined, cut, indexed and looked at in other shapes."""
