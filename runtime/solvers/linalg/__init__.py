"""scipy.linalg's and scipy.sparse.linalg's equations of traced matrices: banded, sparse, Lyapunov's and Riccati's."""
