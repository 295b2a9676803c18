"""What tensors can do: one folder for each kind of operation."""
