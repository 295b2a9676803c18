"""Kinds of tensors that PyTorch's compiler has, and which are not here."""
