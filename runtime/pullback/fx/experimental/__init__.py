"""What PyTorch traces programs by, and which is not here."""
