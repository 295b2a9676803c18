"""scipy.stats on traced values: distributions by their formulas, samples, ranks and tests."""
