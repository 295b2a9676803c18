"""np.linalg on traced arrays: solutions, factors, norms."""
