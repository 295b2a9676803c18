"""Jacobians, Hessians and their products; see pullback.runtime.tensor.transforms.functional."""

from pullback.runtime.programs.tuples import as_tuple as _as_tuple  # noqa: F401
from pullback.runtime.programs.tuples import basis_for as _construct_standard_basis_for  # noqa: F401
from pullback.runtime.programs.tuples import grad_postprocess as _grad_postprocess  # noqa: F401
from pullback.runtime.programs.tuples import tuple_postprocess as _tuple_postprocess  # noqa: F401
from pullback.runtime.tensor.transforms.functional import *  # noqa: F403
