"""Derivatives that the user writes: custom_vjp, custom_jvp, custom_formula and stop_gradient.

    @custom_vjp
    def clipped(x): return x
    clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))

One rule is enough, whichever: a pushforward is transposed to serve gradients, a formula is differentiated in place of
the function, and a rule is made of ordinary operations, which are differentiated in their turn, so Hessians and
Hessian-vector products follow. The shapes and dtypes of what a rule returns are checked when it is traced.

Outside of compiled functions a function with a rule is the plain function. A rule says nothing of values that its
function takes from outside: where their derivative is asked for, that is a TypeError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..compiler.frontend import region as R
from ..compiler.frontend import tracing, tree
from ..compiler.frontend.array import Array, here, value_of
from ..compiler.frontend.errors import TraceError, message
from ..compiler.frontend.tracing import user_line
from ..compiler.ops import custom as ops
from .compiled.byname import ByName, made_of
from .compiled.sources import Sources
from .compiled.tracebacks import boundary
from .custom import Call, apply, checked, converted, cotangents, defined, transposed, zeros


class Ruled(ByName):
    """A function with a derivative of its own. `nondiff_argnums` are arguments that the rule is handed as they are."""

    wants = ""

    @boundary
    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()) -> None:
        if not callable(fun):
            raise TypeError(f"{type(self).__name__} takes a function, got {type(fun).__name__}")
        for name in ("__module__", "__qualname__", "__doc__", "__annotations__"):
            if hasattr(fun, name):
                setattr(self, name, getattr(fun, name))
        self.__name__ = getattr(fun, "__name__", type(fun).__name__)
        self.__wrapped__ = fun
        given = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.nondiff_argnums = given
        self._rules: tuple[Callable[..., Any], ...] = ()
        self._given: tuple[str, tuple[Any, ...]] | None = None
        try:
            self._signature = inspect.signature(fun)
        except (TypeError, ValueError):
            self._signature = None
        made_of(self, fun, nondiff_argnums)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "rules": self._given, "of rules": Sources(self._rules)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if state["rules"] is not None:
            form, rules = state["rules"]
            state["of rules"].give_to(rules)
            getattr(self, form)(*rules)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.__name__}>"

    @property
    def __reads__(self) -> tuple[Callable[..., Any], ...]:
        """Functions whose globals and cells are inputs like those of the function itself."""
        return self._rules

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._rules:
            raise AttributeError(f"{self.__name__} has no rule yet: call {self.__name__}.{self.wants}")
        args = self._positional(args, kwargs)
        now = tracing.current()
        if now is None:
            refuse_tensors(self.__name__, args)
            return self.__wrapped__(*args)
        name = self.__name__ if self.__name__.isidentifier() else "function"
        return apply(now, self, name, self.__wrapped__, self._rule, args)

    def _give(self, form: str, *rules: Any) -> None:
        """Note the rule; None stands where there is none for an argument."""
        for each in rules:
            if not callable(each) and not (each is None and form == "defjvps"):
                raise TypeError(f"{form} takes functions, got {type(each).__name__}: {each!r:.60}")
        self._rules, self._given = tuple([rule for rule in rules if rule is not None]), (form, rules)

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, with defaults: rules take them like that."""
        if self._signature is None:
            if kwargs:
                raise TypeError(f"{self.__name__} has no signature: pass its arguments by position")
            return args
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}() {error}; its signature is {self._signature}") from None
        if bound.kwargs:
            raise TypeError(f"{self.__name__}: a rule takes arguments by position; {next(iter(bound.kwargs))} has none")
        bound.apply_defaults()
        return bound.args

    def _parted(self, args: Sequence[Any]) -> tuple[list[Any], list[int]]:
        """The arguments that the rule is handed as they are, and the numbers of the others."""
        apart = sorted({k + len(args) if k < 0 else k for k in self.nondiff_argnums})
        if apart and not 0 <= apart[0] <= apart[-1] < len(args):
            given = f"nondiff_argnums is {self.nondiff_argnums}"
            raise TypeError(f"{self.__name__}: {given}, but there are {len(args)} arguments")
        return [args[k] for k in apart], [k for k in range(len(args)) if k not in apart]

    def _argument(self, k: int) -> str:
        names = list(self._signature.parameters) if self._signature is not None else []
        return f"argument {names[k]}" if k < len(names) else f"argument {k}"

    def _rule(self, call: Call, arrays: Sequence[Array], results: Sequence[Array], cts: Sequence[Any]) -> Sequence[Any]:
        raise NotImplementedError


class custom_vjp(Ruled):
    """A function with a pullback of its own, as in JAX: `f = custom_vjp(f)`, and then `f.defvjp(fwd, bwd)`.

    fwd(*args) -> (result, saved)           the function, and whatever bwd needs
    bwd(saved, cotangent) -> cotangents     a tuple with one for each argument, like it; None for zeros

    With `nondiff_argnums`, bwd is handed those arguments first and gives none for them. The cotangent is like the
    result.

    >>> f = custom_vjp(lambda x: abs(x))
    >>> f.defvjp(lambda x: (abs(x), x), lambda x, ct: (np.where(x < 0, -ct, ct),))
    >>> grad(f)(0.0)
    1.0
    """

    wants = "defvjp(fwd, bwd)"

    @boundary
    def defvjp(self, fwd: Callable[..., tuple[Any, Any]], bwd: Callable[..., Any]) -> None:
        """Give the rule; see the class."""
        self._give("defvjp", fwd, bwd)

    def _rule(self, call: Call, arrays: Sequence[Array], results: Sequence[Array], cts: Sequence[Any]) -> Sequence[Any]:
        fwd, bwd = self._rules
        args = call.given(arrays)
        apart, numbers = self._parted(args)
        made = R.call(fwd, *args)
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            _wrong(call, "fwd", fwd, f"returns {_kind(made)}", "return (result, saved)")
        checked(call, f"the result of fwd of {call.name}", defined(fwd), made[0])
        given = R.call(bwd, *apart, made[1], call.returned(cts))
        if not isinstance(given, (tuple, list)):
            fix = "return a tuple, also for one argument: (ct,)"
            _wrong(call, "bwd", bwd, f"returns {_kind(given)}", fix)
        if len(given) != len(numbers):
            fix = f"return one for each of {', '.join(map(self._argument, numbers)) or 'no arguments'}"
            _wrong(call, "bwd", bwd, f"returns {len(given)} cotangents for {len(numbers)} arguments", fix)
        made = dict(zip(numbers, given, strict=True))
        names = [self._argument(k) for k in range(len(args))]
        return cotangents(call, names, [made.get(k) for k in range(len(args))], defined(bwd))


class custom_jvp(Ruled):
    """A function with a pushforward of its own, as in JAX: `f = custom_jvp(f)`, and then `f.defjvp(rule)`.

    rule(primals, tangents) -> (result, tangent of the result)

    It is linear in the tangents, which makes its transpose the pullback: gradients need no other rule. With
    `nondiff_argnums` it is handed those arguments first, and neither primals nor tangents have them.

    >>> f = custom_jvp(np.sin)
    >>> _ = f.defjvp(lambda primals, tangents: (np.sin(primals[0]), 2.0 * tangents[0]))
    >>> grad(f)(0.0)
    2.0
    """

    wants = "defjvp(rule)"

    @boundary
    def defjvp(self, rule: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
        """Give the rule; see the class."""
        self._give("defjvp", rule)
        return rule

    @boundary
    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Give a rule for each argument: `rule(tangent, result, *args)` is the tangent of the result; None for zeros.

        >>> f = custom_jvp(lambda x, y: x * y)
        >>> f.defjvps(lambda t, result, x, y: t * y, lambda t, result, x, y: x * t)
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps knows no nondiff_argnums: use defjvp")
        self._give("defjvps", *rules)

        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            result = self(*primals)
            total = None
            for each, tangent in zip(rules, tangents, strict=True):
                if each is not None:
                    made = R.call(each, tangent, result, *primals)
                    total = made if total is None else _added(total, made)
            return result, R.mapped(result, lambda x: 0.0 * x) if total is None else total

        self._rules = (rule, *self._rules)

    def _rule(self, call: Call, arrays: Sequence[Array], results: Sequence[Array], cts: Sequence[Any]) -> Sequence[Any]:
        now, rule = here(), self._rules[0]
        floats, n = call.floats, len(arrays)

        def push(*given: Array) -> list[Any]:
            args = call.given(given[:n])
            apart, numbers = self._parted(args)
            tangents = _tangents(args, floats, given[n:])
            made = R.call(rule, *apart, tuple([args[k] for k in numbers]), tuple([tangents[k] for k in numbers]))
            if not isinstance(made, (tuple, list)) or len(made) != 2:
                _wrong(call, "the pushforward", rule, f"returns {_kind(made)}", "return (result, tangent)")
            checked(call, f"the result of the pushforward of {call.name}", defined(rule), made[0])
            what = f"the tangent that the pushforward of {call.name} returns"
            moved = checked(call, what, defined(rule), made[1], floats=True)
            return [converted(x, leaf) for x, leaf in zip(moved, call.value.leaves, strict=True) if leaf.type.is_float]

        leaves = [R.leaf_of(x) for x in arrays]
        region = R.trace_region(now, f"{call.name}_push", [*leaves, *[leaves[k] for k in floats]], push)
        inputs = range(n, n + len(floats))
        seeds = [ct for ct, leaf in zip(cts, call.value.leaves, strict=True) if leaf.type.is_float]
        made, reads = transposed(now, region, inputs, [*arrays, *[0.0] * len(floats)], seeds)
        if reads.intersection(inputs):
            fix = "multiply tangents by what depends on primals only"
            _wrong(call, "the pushforward", rule, "is not linear in the tangents", fix)
        return made


class custom_formula(Ruled):
    """A function whose derivative is that of another one, its formula: `f = custom_formula(f)`, `f.defformula(g)`.

    For results that are computed in a way that should not be, or cannot be, differentiated: a table, an iteration, a
    form that avoids cancellation. The formula takes the same arguments, and returns the same up to rounding; made by
    `lambdify`, it is SymPy's.

    >>> f = custom_formula(lambda x: np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))
    >>> _ = f.defformula(lambda x: np.log(1.0 + np.exp(x)))
    >>> grad(f)(0.0)
    0.5
    """

    wants = "defformula(g)"

    def defformula(self, formula: Callable[..., Any]) -> Callable[..., Any]:
        """Give the formula; see the class."""
        self._give("defformula", formula)
        return formula

    def _rule(self, call: Call, arrays: Sequence[Array], results: Sequence[Array], cts: Sequence[Any]) -> Sequence[Any]:
        now, formula = here(), self._rules[0]

        def value(*given: Array) -> list[Any]:
            made = checked(call, f"the formula of {call.name}", defined(formula), R.call(formula, *call.given(given)))
            return [converted(x, leaf) for x, leaf in zip(made, call.value.leaves, strict=True) if leaf.type.is_float]

        region = R.trace_region(now, f"{call.name}_formula", [R.leaf_of(x) for x in arrays], value)
        seeds = [ct for ct, leaf in zip(cts, call.value.leaves, strict=True) if leaf.type.is_float]
        return transposed(now, region, call.floats, arrays, seeds)[0]


def stop_gradient(x: Any) -> Any:
    """The same tree, as a constant to derivatives of every order.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    now = tracing.current()

    def stopped(leaf: Any) -> Any:
        if isinstance(leaf, Array) and now is not None:
            return Array(now, now.emit(ops.stop_gradient, value_of(now, leaf)), leaf.weak)
        return leaf.detach() if type(leaf) in tree.MADE_OF else leaf

    return R.mapped(x, stopped)


# ---- parts


def refuse_tensors(name: str, args: Any) -> None:
    """Their own backward() would not know of the rule."""
    found: list[Any] = []
    R.mapped(args, found.append)
    if any(type(x) in tree.MADE_OF and x.requires_grad for x in found):
        verdict = f"backward() of Tensors does not know the rule of {name}"
        raise TraceError(message(verdict, user_line(), f"call {name} in a function under grad, value_and_grad or jit"))


def _kind(x: Any) -> str:
    return "an array" if isinstance(x, Array) else f"a {type(x).__name__}"


def _wrong(call: Call, what: str, function: Any, verdict: str, fix: str) -> NoReturn:
    raise TraceError(message(f"{what} of {call.name} {verdict}", defined(function), fix))


def _tangents(args: Sequence[Any], floats: Sequence[int], given: Sequence[Array]) -> Any:
    """Trees like the arguments: the tangents given for the traced float arrays, zeros for other numbers."""
    numbers, left = iter(range(len(R.arrays_of(args)))), iter(given)

    def tangent(x: Any) -> Any:
        if isinstance(x, Array):
            return next(left) if next(numbers) in floats else zeros(x.shape)
        if isinstance(x, np.ndarray):
            return np.zeros(x.shape)
        return 0.0 if isinstance(x, (int, float, np.generic)) and not isinstance(x, bool) else x

    return R.mapped(tuple(args), tangent)


def _added(a: Any, b: Any) -> Any:
    """The sum of two like trees."""
    left: list[Any] = []
    R.mapped(a, left.append)
    mine = iter(left)
    return R.mapped(b, lambda x: next(mine) + x)


__all__ = ["Ruled", "custom_formula", "custom_jvp", "custom_vjp", "refuse_tensors", "stop_gradient"]
