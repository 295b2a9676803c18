"""scipy.interpolate with traced values or places: splines, grids, scattered points and polynomials."""
