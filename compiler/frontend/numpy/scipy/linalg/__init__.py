"""scipy.linalg on traced matrices, in np.linalg's functions and those of primitives."""
