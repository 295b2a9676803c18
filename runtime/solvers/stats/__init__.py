"""scipy.stats' fits and expected values, with traced data and parameters."""
