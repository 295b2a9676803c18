"""Linear algebra and signals that PyTorch has at its top level: older names, and what is nowhere else."""

from __future__ import annotations

from ...compiled.byname import name_in
from ..ops.matrices import factored as D
from ..ops.matrices import factorings as F
from ..ops.matrices import lowrank as Q
from ..ops.matrices import matrix_functions as X
from ..ops.matrices import solving as S
from ..ops.matrices import spectra as V
from ..ops.windows import signals as G
from ..ops.windows import tapers as T
from .results import written

inverse, pinverse, det, logdet, slogdet = written(S.inv, S.pinverse, S.det, S.logdet, S.torch_slogdet)
cholesky, cholesky_solve, cholesky_inverse = written(F.old_cholesky, D.cholesky_solve, D.cholesky_inverse)
qr, svd, lu_solve, lu_unpack = written(F.old_qr, V.old_svd, D.old_lu_solve, F.lu_unpack)
triangular_solve, orgqr, matrix_power = written(D.triangular_solve, Q.orgqr, X.matrix_power)
cross, trace = written(X.old_cross, X.trace)
geqrf, ormqr, lu = written(Q.geqrf, Q.ormqr, Q.lu)
matrix_exp, svd_lowrank, pca_lowrank = X.matrix_exp, Q.svd_lowrank, Q.pca_lowrank

stft, istft = G.stft, G.istft
hann_window, hamming_window, blackman_window = T.hann_window, T.hamming_window, T.blackman_window
bartlett_window, kaiser_window = T.bartlett_window, T.kaiser_window

name_in(globals())
