"""The gradient graph and the walk backward through it."""
