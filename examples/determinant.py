"""A determinant by cofactors, and its gradient, which is the matrix of cofactors.

Every minor of the last rows is computed once and kept in an array, at the number whose bits say which columns it has.
Loops, bit tricks and item assignment stay as they are.
"""

import numpy as np

from pullback import grad, jit


def determinant(a):
    n = len(a)
    minors = np.zeros(1 << n)
    minors[0] = 1.0
    for columns in range(1, 1 << n):
        row = n - columns.bit_count()
        total, sign = 0.0, 1.0
        for j in range(n):
            if columns >> j & 1:
                total += sign * a[row, j] * minors[columns ^ (1 << j)]
                sign = -sign
        minors[columns] = total
    return minors[-1]


def main() -> None:
    a = np.random.default_rng(0).normal(size=(5, 5))
    cofactors = grad(determinant)(a)
    print("determinant", round(float(jit(determinant)(a)), 6), "- NumPy says", round(float(np.linalg.det(a)), 6))
    print("a @ cofactors.T is the determinant times the identity:")
    print(np.round(a @ cofactors.T, 6) + 0.0)


if __name__ == "__main__":
    main()
