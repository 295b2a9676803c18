"""What a tensor is: its array, dtype and shape, the memory it shares, and its place in the gradient graph."""
