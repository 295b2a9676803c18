"""scipy.optimize with traced parameters: roots, minima, fits and programs, by the equations that hold at a solution."""
