"""Libraries that PyTorch uses, asked whether they are there."""

from pullback import _backends as _loaded  # noqa: F401
from pullback.backends import cuda as cuda
from pullback.backends import cudnn as cudnn
from pullback.backends import mkl as mkl
from pullback.backends import mkldnn as mkldnn
from pullback.backends import mps as mps
from pullback.backends import openmp as openmp
from pullback.backends import opt_einsum as opt_einsum
