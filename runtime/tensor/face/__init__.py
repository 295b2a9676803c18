"""The Tensor class, and the functions under the names that PyTorch gives them."""
