"""Two more ways to run a graph: over mpmath's numbers, and with a bound on the rounding error of every element.

`run` follows the formulas, not the NumPy meanings, and knows no pull rule: differences of it check derivatives to
as many digits as are asked for.  `bounds` carries, beside each f64 or f32 value, how far any evaluation with the
stated accuracy of each primitive can be from the exact one: tolerances are derived from the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mpmath import mp

from pullback.compiler.ir.graph import Graph, Op, Value
from pullback.compiler.ops.algebras import Numbers

#: what a primitive may be off, in units of rounding of its result; 1 where not stated
ROUNDINGS = dict.fromkeys(
    ["exp", "log", "log1p", "expm1", "sin", "cos", "tanh", "sech2", "sigmoid", "softplus", "erf", "gauss"], 5
)
ROUNDINGS |= dict.fromkeys(["exp2", "log2", "log10", "cbrt", "sinh", "cosh"], 5)
ROUNDINGS |= dict.fromkeys(["tan", "arcsin", "arccos", "arctan", "arctan2"], 5)
ROUNDINGS |= {"pow": 9, "sqrt": 2}

#: primitives that jump, so that an error of their argument may be an error of any size
STEPS = {"sign", "floor", "ceil", "rint", "trunc", "floordiv", "mod"}
COMPARES = {"eq", "ne", "lt", "le", "gt", "ge"}
MOVES = {"spread", "reshape", "transpose", "slice", "pad", "concatenate", "take", "pack"}


class Undecided(Exception):
    """An element so near to a jump, or so large, that no bound can be given."""


# ---- over mpmath's numbers


def run(graph: Graph, args: Sequence[Any]) -> list[np.ndarray]:
    """The results with floats as mpmath's numbers, in arrays of objects, at the precision of its context."""
    env = dict(zip(graph.params, map(_exact, args), strict=True))
    for op in graph.body:
        given = [env[a] for a in op.args]
        env.update(zip(op.results, _run(op, given), strict=True))
    return [env[r] for r in graph.results]


def _exact(a: Any) -> np.ndarray:
    a = np.asarray(a)
    if a.dtype.kind != "f":
        return a
    return _over(lambda x: mp.mpf(float(x)), a)


def _over(f: Any, *arrays: np.ndarray) -> np.ndarray:
    made = np.empty(arrays[0].shape, object)
    for at in np.ndindex(made.shape):
        made[at] = f(*(a[at] for a in arrays))
    return made


def _run(op: Op, args: list[np.ndarray]) -> list[np.ndarray]:
    name, result = op.prim.name, op.results[0].type
    if name == "call":
        return run(op.regions[0], args)
    if name == "const":
        return [_exact(a) for a in op.prim.evaluate(args, op.attrs, ())]
    if name == "cast":
        return [_cast(args[0], op)]
    formula = getattr(op.prim, "formula", None)
    if formula is None or not op.args[0].type.is_float:
        with np.errstate(all="ignore"):
            made = op.prim.evaluate(args, op.attrs, op.regions)
        return [
            np.asarray(m, object if r.type.is_float else r.type.numpy) for m, r in zip(made, op.results, strict=True)
        ]
    made = _over(lambda *xs: _real(formula, *xs), *args)
    return [made if result.is_float else made.astype(result.numpy)]


def _real(formula: Any, *xs: Any) -> Any:
    """A formula's value, NaN where it has no real one."""
    try:
        made = formula(Numbers(mp), *xs)
    except (ZeroDivisionError, ValueError, TypeError):
        return mp.nan
    return mp.nan if isinstance(made, mp.mpc) else made


def _cast(x: np.ndarray, op: Op) -> np.ndarray:
    """Between floats nothing is rounded here."""
    source, result = op.args[0].type, op.results[0].type
    if not source.is_float:
        (made,) = op.prim.evaluate([x], op.attrs, ())
        return _exact(made)
    if result.is_float:
        return x
    return _over(bool if result.dtype == "bool" else int, x).astype(result.numpy)


def slope(graph: Graph, args: Sequence[Any], along: Sequence[Any], digits: int = 60) -> list[Any]:
    """The derivative of each float result in a direction, by a central difference to a third of `digits`."""
    with mp.workdps(digits):
        h = mp.mpf(10) ** (-digits // 3)
        ends = [run(graph, [_moved(a, v, s * h) for a, v in zip(args, along, strict=True)]) for s in (1, -1)]
        return [
            (plus - minus) / (2 * h) if r.type.is_float else None
            for r, plus, minus in zip(graph.results, *ends, strict=True)
        ]


def _moved(a: Any, v: Any, h: Any) -> Any:
    a = np.asarray(a)
    return _exact(a) + _exact(v) * h if a.dtype.kind == "f" else a


def inner(a: Sequence[Any], b: Sequence[Any], digits: int = 60) -> Any:
    """The exact sum of products of all elements of two lists of arrays; None counts as zeros."""
    with mp.workdps(digits):
        pairs = [(_exact(x), _exact(y)) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        return mp.fsum(p * q for x, y in pairs for p, q in zip(x.flat, y.flat, strict=True))


# ---- with bounds


def bounds(graph: Graph, args: Sequence[Any]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The results in floats and, for each element, how far a sound evaluation may be from the exact one."""
    args = [np.asarray(a) for a in args]
    values, errors = _bounds(graph, args, [np.zeros(a.shape) for a in args])
    if not all(np.all(np.isfinite(e)) for e in errors):
        raise Undecided("a result has no bound")
    return values, errors


def _bounds(graph: Graph, args: Any, errors: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    values: dict[Value, np.ndarray] = dict(zip(graph.params, args, strict=True))
    off: dict[Value, np.ndarray] = dict(zip(graph.params, errors, strict=True))
    with np.errstate(all="ignore"):
        for op in graph.body:
            given, e = [values[a] for a in op.args], [off[a] for a in op.args]
            if op.prim.name in ("scan", "loop", "cond", "new_tape"):
                raise Undecided("what loops and branches do to errors is not known here")
            if op.prim.name == "call":
                made, wrong = _bounds(op.regions[0], given, e)
            else:
                made = [
                    np.asarray(m, r.type.numpy)
                    for m, r in zip(op.prim.evaluate(given, op.attrs, ()), op.results, strict=True)
                ]
                apart = op.prim.name == "unpack"
                wrong = op.prim.evaluate(e, op.attrs, ()) if apart else [_error(op, given, e, m) for m in made]
            values.update(zip(op.results, made, strict=True))
            off.update(zip(op.results, wrong, strict=True))
    return [values[r] for r in graph.results], [off[r] for r in graph.results]


def _error(op: Op, given: list[np.ndarray], e: list[np.ndarray], made: np.ndarray) -> np.ndarray:
    """The bound for a result of `op`, given those for its arguments."""
    name, u = op.prim.name, _unit(made)
    wide = [g.astype(np.float64) if g.dtype.kind == "f" else g for g in given]
    if name in COMPARES or name in ("argmax", "cast") or name in STEPS or made.dtype.kind != "f":
        _check_decided(op, wide, e)
    if made.dtype.kind != "f" or not op.args:
        return np.zeros(made.shape)
    size = np.abs(made.astype(np.float64))
    if name == "select":
        return np.where(given[0], e[1], e[2])
    if name == "cast":
        return e[0] + u * size
    if name in MOVES:
        return op.prim.evaluate([e[0], *given[1:]] if name == "take" else e, op.attrs, ())[0]
    if name in ("max", "min"):
        return np.max(e[0], axis=op.attrs["axes"], initial=0.0)
    if name in ("sum", "contract", "correlate", "scatter_add"):
        return _sum_error(op, wide, e, made, u)
    inner = np.abs(wide[0] * wide[1]) if name == "muladd" else 0.0  # the product may be rounded, too
    return _moved_error(op, wide, e, made) + u * (ROUNDINGS.get(name, 1) * size + inner) + _tiny(made)


def _unit(made: np.ndarray) -> float:
    return 2.0**-24 if made.dtype == np.float32 else 2.0**-53


def _tiny(made: np.ndarray) -> float:
    """Two of the least subnormals: what underflow may cost."""
    return 2 * float(np.finfo(made.dtype).smallest_subnormal)


def _sum_error(op: Op, x: list[np.ndarray], e: list[np.ndarray], made: np.ndarray, u: float) -> np.ndarray:
    """Sums in any order: as many roundings as there are terms, of the sum of magnitudes."""

    def total(parts: list[np.ndarray]) -> np.ndarray:
        return np.asarray(op.prim.evaluate(parts, op.attrs, ())[0], np.float64)

    size = [np.abs(a) for a in x]
    many = max(np.prod(a.shape, initial=1.0) for a in x) + 2
    if op.prim.name in ("contract", "correlate"):
        return total([size[0] + e[0], size[1] + e[1]]) - total(size) + 2 * many * u * total(size)
    if op.prim.name == "scatter_add":
        return total([e[0], x[1], e[2]]) + many * u * total([size[0], x[1], size[2]])
    return total(e) + many * u * total(size)


def _moved_error(op: Op, x: list[np.ndarray], e: list[np.ndarray], made: np.ndarray) -> np.ndarray:
    """How much a result moves when each argument moves by its error."""
    moved = np.zeros(made.shape)
    for k, error in enumerate(e):
        if not np.any(error):
            continue
        ends = [op.prim.evaluate([*x[:k], x[k] + s * error, *x[k + 1 :]], op.attrs, ())[0] for s in (1, -1)]
        middle = op.prim.evaluate(x, op.attrs, ())[0]
        moved += np.maximum(np.abs(ends[0] - middle), np.abs(ends[1] - middle)) * 1.01
        moved += 4 * 2.0**-53 * np.abs(middle)
    return moved


def _check_decided(op: Op, x: list[np.ndarray], e: list[np.ndarray]) -> None:
    """Raise Undecided where an error could change a truth or an integer."""
    name = op.prim.name
    if name in COMPARES:
        near = (np.abs(x[0] - x[1]) <= e[0] + e[1]) & (x[0] != x[1]) if x[0].dtype.kind == "f" else False
    elif name == "argmax":
        axis = op.attrs["axis"]
        best = x[0].max(axis, keepdims=True)
        near = (x[0] + e[0] >= best - e[0].max(axis, keepdims=True)) & (x[0] != best)
    elif name == "mod":
        return _check_steps(np.floor_divide, x, e)
    elif name in STEPS or (name == "cast" and not op.results[0].type.is_float):
        return _check_steps(lambda *a: op.prim.evaluate(a, op.attrs, ())[0], x, e)
    else:
        return
    if np.any(near):
        raise Undecided(f"{name} is too near to a jump")


def _check_steps(f: Any, x: list[np.ndarray], e: list[np.ndarray]) -> None:
    """Raise Undecided where a function of steps takes another value within the errors."""
    if not any(np.any(b) for b in e):
        return
    for s in (-1, 1):
        ends = [a + s * b if a.dtype.kind == "f" else a for a, b in zip(x, e, strict=True)]
        if np.any(f(*ends) != f(*x)):
            raise Undecided("an argument is too near to a step")


# ---- gradients


def pulled_wrong(
    graph: Graph,
    args: Sequence[np.ndarray],
    wrt: Sequence[int],
    weights: Sequence[np.ndarray],
    pulled: Sequence[np.ndarray],
    errors: Sequence[np.ndarray],
    rng: np.random.Generator,
) -> str | None:
    """What is wrong with cotangents `pulled` of the parameters `wrt`, for `weights` on the float results.

    <weights, J v> by exact differences must be <pulled, v>, for a random v, within the errors of the cotangents.
    """
    along = [
        np.asarray(rng.normal(size=a.shape)).astype(a.dtype) if k in wrt else np.zeros(a.shape, a.dtype)
        for k, a in enumerate(args)
    ]
    chosen = [along[k] for k in wrt]
    slopes = [s for s in slope(graph, args, along) if s is not None]
    want, got = inner(weights, slopes), inner(pulled, chosen)
    sizes = [np.abs(v) for v in chosen]
    allowed = inner(errors, sizes) + 1e-17 * inner([np.abs(p) for p in pulled], sizes)
    off = abs(got - want)
    return None if off <= allowed else f"{got} is not {want}: off by {off}, allowed {allowed}"
