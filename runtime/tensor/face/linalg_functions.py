"""Linear algebra under the names that PyTorch gives it, taking `out`."""

from __future__ import annotations

from ..calls.recording import record_functions, wrapped
from ..ops.folds import norms as N
from ..ops.matrices import factored as D
from ..ops.matrices import factorings as F
from ..ops.matrices import matrix_functions as X
from ..ops.matrices import products as P
from ..ops.matrices import solving as S
from ..ops.matrices import spectra as V
from ..ops.matrices import symmetric as Y
from .results import written

LinAlgError = S.LinAlgError

for _part in (S.inverted, S.solution, F.factored):
    wrapped(_part)  # what those call that look whether it went well

inv, inv_ex, pinv, det, slogdet = written(S.inv, S.inv_ex, S.pinv, S.det, S.slogdet)
solve, solve_ex, solve_triangular, lu_solve = written(S.solve, S.solve_ex, S.solve_triangular, D.lu_solve)
tensorinv, tensorsolve = written(D.tensorinv, D.tensorsolve)
cholesky, cholesky_ex, qr, svd, svdvals = written(F.cholesky, F.cholesky_ex, F.qr, V.svd, V.svdvals)
eig, eigvals = written(V.eig, V.eigvals)
ldl_factor, ldl_factor_ex, ldl_solve = written(Y.ldl_factor, Y.ldl_factor_ex, Y.ldl_solve)
eigh, eigvalsh, lu, lu_factor, lu_factor_ex = written(V.eigh, V.eigvalsh, F.lu, F.lu_factor, F.lu_factor_ex)
householder_product, lstsq, matrix_rank = written(F.householder_product, F.lstsq, F.matrix_rank)
matrix_power, multi_dot, cond, cross = written(X.matrix_power, X.multi_dot, X.cond, X.cross)
matrix_norm, norm, vector_norm = written(X.matrix_norm, X.norm, N.vector_norm)
vecdot, matmul = written(X.vecdot, P.matmul)
matrix_exp, diagonal, vander = X.matrix_exp, X.diagonal, X.vander

record_functions(globals())

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip
