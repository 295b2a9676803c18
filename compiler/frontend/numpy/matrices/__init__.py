"""np.linalg on traced arrays: solutions, factors, norms; of real and of complex matrices."""
