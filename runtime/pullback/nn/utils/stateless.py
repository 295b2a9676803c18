"""Modules as functions of their parameters, under an older path; see pullback.runtime.tensor.transforms.stateless."""

from pullback.runtime.tensor.transforms.stateless import functional_call as functional_call
from pullback.runtime.tensor.transforms.stateless import reparametrized as _reparametrize_module  # noqa: F401
