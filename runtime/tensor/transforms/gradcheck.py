"""Gradients compared with differences: `gradcheck` and `gradgradcheck`, with PyTorch's signatures and tolerances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....compiler.ir.explained import Explained
from ..ops.elementwise.complexes import view_as_complex, view_as_real
from ..ops.random.draws import default_generator
from ..reverse import autograd
from ..reverse.modes import enable_grad, no_grad
from ..value.cells import cell_of
from ..value.core import Core, requires, wrap

Jacobian = np.ndarray
"""Rows are elements of the input, columns elements of the output."""


class GradcheckError(Explained, RuntimeError, page="GradcheckError"):
    """Gradients and differences disagree."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` at `inputs` are those that central differences of step `eps` show.

    Every element of every float input that requires a gradient is moved, against every element of the result,
    so inputs should be small and of float64.  An element may be off by atol + rtol * |difference|.
    """
    given = (inputs,) if isinstance(inputs, Core) else tuple(inputs)
    try:
        _check_inputs(given)
        func, given = _of_parts(func, given)
        _compare(func, given, eps, atol, rtol)
        _check_again(func, given, nondet_tol)
        if check_undefined_grad:
            _check_zeros(func, given)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradient of `func`, in its inputs and in the weights `grad_outputs` of its results."""
    given = (inputs,) if isinstance(inputs, Core) else tuple(inputs)
    func, given = _of_parts(func, given)
    if grad_outputs is None:
        weights = tuple([_random_like(y) for y in _differentiable(func(*given))])
    else:
        weights = (grad_outputs,) if isinstance(grad_outputs, Core) else tuple(grad_outputs)
        weights = tuple([_as_parts(w) for w in weights])
    count = len(given)

    def gradient(*args: Any) -> tuple[Any, ...]:
        asked = [a for a in args[:count] if _moves(a)]
        results = _differentiable(func(*args[:count]))
        made = autograd.grad(results, asked, args[count:], create_graph=True, allow_unused=True)
        return tuple([g for g in made if isinstance(g, Core)])

    return gradcheck(
        gradient, given + weights, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
    )  # fmt: skip


def _of_parts(func: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The same as a function of real numbers: complex tensors, those that come out too, as pairs of parts."""
    pairs = {k for k, x in enumerate(given) if isinstance(x, Core) and x._kind_of().is_complex}

    def of_real(*args: Any) -> Any:
        made = func(*[view_as_complex(a) if k in pairs else a for k, a in enumerate(args)])
        return tuple(map(_real_view, made)) if isinstance(made, (tuple, list)) else _real_view(made)

    return of_real, tuple([_as_parts(x) for x in given])


def _real_view(y: Any) -> Any:
    return view_as_real(y) if isinstance(y, Core) and y._kind_of().is_complex else y  # type: ignore[arg-type]


def _as_parts(x: Any) -> Any:
    """A complex tensor's parts as a leaf that requires a gradient if the tensor does."""
    if not isinstance(x, Core) or not x._kind_of().is_complex:
        return x
    made: Any = _real_view(x.detach()).clone()  # type: ignore[attr-defined]
    return made.requires_grad_(requires(x))


def _random_like(y: Core) -> Any:
    kind = y._kind_of()
    rng = np.random.default_rng(abs(default_generator.initial_seed()))
    made: Any = wrap(cell_of(np.asarray(rng.standard_normal(kind.shape), kind.type.numpy)))
    return made.requires_grad_()


# ---- what is asked


def _moves(x: Any) -> bool:
    return isinstance(x, Core) and requires(x) and x._kind_of().is_float


def _check_inputs(inputs: Sequence[Any]) -> None:
    if not any(_moves(x) for x in inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have"
            " requires_grad=True."
        )
    for k, x in enumerate(inputs):
        if not _moves(x):
            continue
        if x._kind_of().dtype not in ("f64", "c128"):
            warnings.warn(
                f"Input #{k} requires gradient and is not a double precision floating point or complex. This check"
                " will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if any(step[0] == "spread" for step in x._path):
            raise RuntimeError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs that are"
                " non-overlapping to be able to compute the numerical gradients correctly. You should call"
                " .contiguous on the input before passing it to gradcheck."
            )


def _results(made: Any) -> list[Core]:
    found = [made] if isinstance(made, Core) else list(made)
    if not all(isinstance(y, Core) for y in found):
        raise ValueError("gradcheck: the function must return a Tensor or a sequence of them")
    return found


def _differentiable(made: Any) -> list[Core]:
    return [y for y in _results(made) if requires(y)]


# ---- Jacobians


def _compare(func: Callable[..., Any], inputs: Sequence[Any], eps: float, atol: float, rtol: float) -> None:
    with enable_grad():
        results = _results(func(*inputs))
    constant = not any(map(requires, results))
    moving = [k for k, x in enumerate(inputs) if _moves(x)]
    for k in moving:
        expected = _differences(func, inputs, k, eps)
        for j, y in enumerate(results):
            if not requires(y):
                if constant and y._kind_of().is_float and np.abs(expected[j]).max(initial=0.0) > atol:
                    raise GradcheckError("Numerical gradient for function expected to be zero")
                continue
            got = _analytical(y, inputs[k])
            close = np.abs(got - expected[j]) <= atol + rtol * np.abs(expected[j])
            same = (got == expected[j]) | (np.isnan(got) & np.isnan(expected[j]))
            if not (close | same).all():
                raise GradcheckError(
                    f"Jacobian mismatch for output {j} with respect to input {k},\n"
                    f"numerical:{expected[j]}\nanalytical:{got}\n"
                )


def _differences(func: Callable[..., Any], inputs: Sequence[Any], k: int, eps: float) -> list[Jacobian]:
    """The Jacobian of each result in input k, by central differences."""
    base = np.array(inputs[k]._array())
    columns: list[list[np.ndarray]] = []
    for at in np.ndindex(base.shape):
        sides = []
        for step in (eps, -eps):
            moved = base.copy()
            moved[at] += step
            sides.append(_values(func, inputs, k, moved))
        columns.append([(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)])
    if not columns:
        return [np.zeros((0, y.size)) for y in _values(func, inputs, k, base)]
    return [np.stack(rows) for rows in zip(*columns, strict=True)]


def _values(func: Callable[..., Any], inputs: Sequence[Any], k: int, moved: np.ndarray) -> list[np.ndarray]:
    """The results with another input k, flat and in float64."""
    args = list(inputs)
    with no_grad():
        args = [x.detach().clone().requires_grad_(requires(x)) if _moves(x) else x for x in args]
        args[k].copy_(wrap(cell_of(moved)))
    with enable_grad():
        made = _results(func(*args))
    return [np.array(y._array(), np.float64).ravel() for y in made]


def _analytical(y: Any, x: Any) -> Jacobian:
    """The Jacobian by one backward for each element of the result."""
    kind, rows = y._kind_of(), []
    for n in range(kind.size):
        weight = np.zeros(kind.size, kind.type.numpy)
        weight[n] = 1
        seed = wrap(cell_of(weight.reshape(kind.shape)))
        (g,) = autograd.grad(y, x, seed, retain_graph=True, allow_unused=True)
        rows.append(np.zeros(x._kind_of().size) if g is None else np.array(g._array(), np.float64).ravel())
    return np.stack(rows, 1) if rows else np.zeros((x._kind_of().size, 0))


# ---- what else may be wrong


def _check_again(func: Callable[..., Any], inputs: Sequence[Any], tolerance: float) -> None:
    """Backward gives the same twice."""
    asked = [x for x in inputs if _moves(x)]
    for y in _differentiable(func(*inputs)):
        weight = _random_like(y).detach()
        a, b = (autograd.grad(y, asked, weight, retain_graph=True, allow_unused=True) for _ in range(2))
        for p, q in zip(a, b, strict=True):
            apart = 0.0 if p is None else np.abs(p._array() - q._array()).max(initial=0.0)
            if apart > tolerance:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times"
                    " gives different values, although analytical gradient matches numerical gradient. The tolerance"
                    f" for nondeterminism was {tolerance}."
                )


def _check_zeros(func: Callable[..., Any], inputs: Sequence[Any]) -> None:
    """Backward is linear in what it is given: zeros give zeros, of the kind of the input."""
    asked = [x for x in inputs if _moves(x)]
    results = _differentiable(func(*inputs))
    if not results:
        return
    zeros = [wrap(cell_of(np.zeros(y._kind_of().shape, y._kind_of().numpy))) for y in results]
    made = autograd.grad(results, asked, zeros, allow_unused=True)
    for g, x in zip(made, asked, strict=True):
        if g is None:
            continue
        if g._kind_of() is not x._kind_of():
            raise GradcheckError(f"grad is {g._kind_of()}, but the input is {x._kind_of()}")
        if (g._array() != 0).any():
            raise GradcheckError("backward not multiplied by grad_output")


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
