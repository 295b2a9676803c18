"""Jacobians and Hessians, dense or sparse: jacrev, jacfwd, jacobian, hessian; and the derivatives of wirtinger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiled.chosen import Argnums
from ..compiled.tracebacks import boundary
from .blocks import Hessian, Holomorphic, Jacfwd, Jacobian, Jacrev, Wirtinger
from .sparse import Sparse


@boundary
def jacrev(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False,
    static_argnums: Any = (), static_argnames: Any = (),
) -> Callable[..., Any]:
    """The Jacobian by pullbacks, a row for each element of the result.

    argnums   for which argument: its number or name, or a tuple of them, for which there is a tuple of blocks then
    has_aux   the function returns (value, aux), and the Jacobian is (blocks, aux)
    holomorphic   the function takes and returns complex numbers, and is holomorphic

    `jacrev(f)(x)` has the shape of f(x) and then that of x, arrays or floats. Where f returns a dict, list or tuple,
    nested or not, it is the same container of such blocks; where x is one, each block is a container like x. Better
    than `jacfwd` where the result is smaller than the argument. TypeError for leaves that are no floats.

    >>> jacrev(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    made = Holomorphic if holomorphic else Jacrev
    return made(function, argnums, has_aux, static_argnums, static_argnames)


@boundary
def jacfwd(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False,
    static_argnums: Any = (), static_argnames: Any = (),
) -> Callable[..., Any]:
    """The Jacobian by pushforwards, a column for each element of the argument.

    argnums   for which argument: its number or name, or a tuple of them, for which there is a tuple of blocks then
    has_aux   the function returns (value, aux), and the Jacobian is (blocks, aux)
    holomorphic   the function takes and returns complex numbers, and is holomorphic

    `jacfwd(f)(x)` has the shape of f(x) and then that of x, arrays or floats. Where f returns a dict, list or tuple,
    nested or not, it is the same container of such blocks; where x is one, each block is a container like x. Better
    than `jacrev` where the result is larger than the argument. TypeError for leaves that are no floats.

    >>> jacfwd(lambda x: (x * x, np.sum(x)))(np.array([1.0, 2.0]))
    (array([[2., 0.],
           [0., 4.]]), array([1., 1.]))
    """
    made = Holomorphic if holomorphic else Jacfwd
    return made(function, argnums, has_aux, static_argnums, static_argnames)


@boundary
def jacobian(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, sparse: bool | str = False,
    pattern: Any = None, holomorphic: bool = False, static_argnums: Any = (), static_argnames: Any = (),
) -> Callable[..., Any]:
    """The Jacobian, by pullbacks or by pushforwards: `jacrev` or `jacfwd`, whichever takes less.

    argnums   for which argument: its number or name, or a tuple of them, for which there is a tuple of blocks then
    has_aux   the function returns (value, aux), and the Jacobian is (blocks, aux)
    holomorphic   the function takes and returns complex numbers, and is holomorphic
    sparse    make a SciPy csr_array of what can be other than zero, or with "csc" a csc_array: see below
    pattern   where that is, if it need not be found: a sparse or dense matrix, True or not zero at all of these places

    The pattern of a sparse Jacobian is found from the graph at the first call. Entries along few diagonals are made
    one by one; else one product for each group of columns, or rows, that have no row in common gives them all.
    `f.values(x)` has the entries alone, in the order of the matrix; `print(f.sparsity(x))` shows the pattern,
    `f.products(x)` says how many products that would be. What goes in and comes out may be containers; a block is a
    matrix with a row for each element of the result. ValueError for a given pattern that misses an entry, found by
    products at the first call with such shapes, there and close by; TypeError where it depends on values, as where
    Python decides on what it computes.

    >>> step = lambda x, u: np.array([x[1], -np.sin(x[0]) + u])
    >>> A, B = jacobian(step, argnums=(0, 1))(np.array([0.0, 1.0]), 0.5)
    >>> A, B
    (array([[ 0.,  1.],
           [-1.,  0.]]), array([0., 1.]))
    >>> jacobian(lambda x: x[1:] * x[:-1], sparse=True)(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    order = _by_columns("jacobian", sparse)
    if sparse or pattern is not None:
        return Sparse("jacobian", function, argnums, has_aux, pattern, static_argnums, static_argnames, order)
    made = Holomorphic if holomorphic else Jacobian
    return made(function, argnums, has_aux, static_argnums, static_argnames)


def _by_columns(title: str, sparse: bool | str) -> bool:
    """Whether a sparse matrix is to be kept column by column; ValueError for orders that there are none of."""
    if isinstance(sparse, str) and sparse not in ("csr", "csc"):
        raise ValueError(f"{title}: sparse is True, 'csr' or 'csc', got {sparse!r:.40}")
    if not isinstance(sparse, bool | np.bool_ | str):
        what = f"{title}: sparse is True, 'csr' or 'csc', got a {type(sparse).__name__}"
        raise TypeError(f"{what}; where entries may be is passed as pattern")
    return sparse == "csc"


@boundary
def wirtinger(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, static_argnums: Any = (),
    static_argnames: Any = (),
) -> Callable[..., Any]:
    """Both derivatives of a function of complex numbers: for z and for its conjugate, as if these were independent.

    function   returns a complex or real scalar, and need not be holomorphic
    argnums    for which argument: its number or name, or a tuple of them
    has_aux    the function returns (value, aux), and the result is (derivatives, aux)

    With z = x + iy they are (f_x - i f_y) / 2 and (f_x + i f_y) / 2, each like the argument (Wirtinger, 1927). The
    second is zero where f is holomorphic, and half the gradient where f is real.

    >>> wirtinger(lambda z: z * np.conj(z))(1.0 + 2.0j)
    ((1-2j), (1+2j))
    """
    return Wirtinger(function, argnums, has_aux, static_argnums, static_argnames)


@boundary
def hessian(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, sparse: bool | str = False,
    pattern: Any = None, static_argnums: Any = (), static_argnames: Any = (),
) -> Callable[..., Any]:
    """The Hessian: `hessian(f)(x)` has the shape of x twice.

    argnums   for which argument: its number or name, or a tuple of them, for which there is a tuple of tuples then
    has_aux   the function returns (value, aux), and the Hessian is (blocks, aux)
    sparse    make a SciPy csr_array of what can be other than zero, or with "csc" a csc_array: see below
    pattern   where that is, if it need not be found: a sparse or dense matrix, True or not zero at all of these places

    Where x is a dict, list or tuple, nested or not, it is a container of containers of blocks. So it is in the
    containers that f returns; a result that is an array has its own shape first. `hessian(f)(x, out=h)` writes it into
    the array h, or into arrays in containers like it.

    A sparse Hessian is made as a sparse Jacobian is, see `jacobian`; as it is symmetric, fewer products are enough.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    order = _by_columns("hessian", sparse)
    if sparse or pattern is not None:
        return Sparse("hessian", function, argnums, has_aux, pattern, static_argnums, static_argnames, order)
    return Hessian(function, argnums, has_aux, static_argnums, static_argnames)


__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]
