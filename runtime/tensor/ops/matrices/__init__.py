"""Products of tensors and linear algebra."""
