"""Cases of NumPy's sorting, searching and order statistics."""

import numpy as np

from tests.numpy_cases import Case, spread

X = spread(3, 5)

CASES = [
    Case("np.sum", lambda x: np.sum(x, axis=0), (X,)),
]
