"""What SciPy's solvers mean for functions with traced parameters: solutions that have derivatives.

SciPy's own solver finds a root or a minimum, on numbers, and the equation that holds there differentiates it; paths
and integrals are computed by loops of the graph. The modules register their meanings where they are imported.
"""

from . import integrals, matrices, minima, paths, polar, riccati, roots, sparse_systems, splines

__all__ = ["integrals", "matrices", "minima", "paths", "polar", "riccati", "roots", "sparse_systems", "splines"]
