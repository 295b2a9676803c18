"""What packages import of PyTorch's own machinery, by what it is about; each is found under the path PyTorch has."""
