"""A transform as one compiled function: traced with the user's function in it, for the arguments of `argnums`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ...compiler.backend.entries import specs
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.results import items_of, map_result
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Graph, Where
from ...compiler.later import later
from ..compiled.byname import made_of
from ..compiled.chosen import Argnums, checked, each_of, places_in, split
from ..compiled.compiled import MISS, Compiled
from ..compiled.derive import Jit, owner_line
from ..compiled.eager import with_tensors
from ..compiled.function import Function
from .leaves import Floats, floats

if TYPE_CHECKING:  # what looks into functions is loaded when somebody looks
    from ..symbolic.readout import differentiated, writing
else:
    differentiated = later(__package__, "..symbolic.readout.differentiated")
    writing = later(__package__, "..symbolic.readout.writing")


class Site(NamedTuple):
    """What errors tell of a transform: its title, where the function is, the names of the chosen arguments."""

    title: str
    where: Where | None
    names: tuple[str, ...]

    def given(self, x: Any, real: bool = False) -> Floats:
        """The leaves of the chosen arguments."""
        return floats(self.title, self.where, self.names, x, real=real)

    def result(self, y: Any) -> Floats:
        """The leaves of what the function returned."""
        return floats(self.title, self.where, (), y, result=True)


@dataclass(frozen=True)
class Blocks(Jit):
    """A function whose results are blocks: arrays, of no axes where they are numbers, unless there is but one."""

    has_aux: bool = False

    def derive(self, traced: Trace, owner: Function) -> tuple[Graph, Any]:
        result, graph = traced.result, traced.graph
        if self.has_aux:
            made, aux = result.items
            return graph, specs.TupleResult((_as_blocks(made, graph), aux))
        return graph, _as_blocks(result, graph)


def _as_blocks(result: Any, graph: Graph) -> Any:
    def array(leaf: Any) -> Any:
        if not isinstance(leaf, (specs.FloatResult, specs.ScalarResult)):
            return leaf
        return specs.ArrayResult(leaf.index, graph.results[leaf.index].type.dtype, ())

    return result if items_of(result) is None else map_result(result, array)


class Derived(Function):
    """What a transform makes of a function, by `body`; a subclass says what that is.

    title      of the transform
    trailing   how many arguments it takes after those of the function: a vector that a product is made with
    order      which derivative its results are: 0 if they are not all derivatives of one order
    """

    title: ClassVar[str]
    trailing: ClassVar[int] = 0
    order: ClassVar[int] = 0

    def __init__(
        self, function: Any, argnums: Any = 0, has_aux: bool = False, static_argnums: Any = (),
        static_argnames: Any = (),
    ) -> None:
        title, trailing, body = self.title, self.trailing, self._body()
        if not callable(function):
            raise TypeError(f"{title} takes a function, got {type(function).__name__}: {function!r:.60}")
        argnums = checked(title, argnums)
        value = Function(function, Jit(title, opens=argnums), static_argnums, static_argnames)
        where = owner_line(value)

        @functools.wraps(function, updated=())
        def traced(*args: Any, **kwargs: Any) -> Any:
            args, last = (args[:-trailing], args[-trailing:]) if trailing else (args, ())
            found = value.places_of(argnums, args[0] if args else None, len(args), tuple(kwargs))
            x, put = split(argnums, found, args, kwargs)
            known = value.argument_names(len(args))
            names = tuple([k if isinstance(k, str) else known[k] for k in found])

            def of(x: Any) -> Any:
                args, kwargs = put(x)
                made = value(*args, **kwargs)
                if not has_aux:
                    return made
                if not (isinstance(made, tuple) and len(made) == 2):
                    raise TypeError(f"{value.__name__} must return (value, aux) because of has_aux=True")
                return made[0]

            made = body(Site(f"{title} of {value.__name__}", where, names), of, x, *last)
            if not has_aux:
                return made
            args, kwargs = put(x)
            return made, value(*args, **kwargs)[1]

        opens: Argnums = argnums
        if trailing:  # the last arguments of a call are not those of the function
            traced.__signature__ = _with_trailing(value)  # type: ignore[attr-defined]
            own = [k - trailing if isinstance(k, int) and k < 0 else k for k in each_of(argnums)]
            opens = (*own, *range(-trailing, 0))
        numbers = tuple([k for k in value._static if isinstance(k, int)])  # the last of f's is not the last of ours
        super().__init__(traced, self._plan(opens, has_aux), numbers, static_argnames)
        self.function, self.argnums, self.has_aux, self.value = function, argnums, has_aux, value
        self._names = () if trailing else self._names  # what is passed by name is not the next by position
        self._has_out = value._has_out
        self.plain = functools.partial(_plainly, function, trailing)
        made_of(self, function, argnums, has_aux, static_argnums, static_argnames)

    def _plan(self, opens: Argnums, has_aux: bool) -> Any:
        return Jit(self.title, opens=opens)

    @staticmethod
    def body(site: Site, value: Callable[[Any], Any], x: Any, *last: Any) -> Any:
        """What the transform makes of `value`, a function of the chosen arguments alone, at `x`."""
        raise NotImplementedError

    def _body(self) -> Callable[..., Any]:
        """`body`, or what knows more than it."""
        return self.body

    def _slopes(self, traced: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The expressions of derivatives by those of the function."""
        if not self.order or self.has_aux:
            return None
        own = args[: len(args) - self.trailing]
        known = self.value._trace(self.value.flatten(own, kwargs)[0])
        values = self.value._expressions(own, kwargs)[1]
        wrt = [leaf for place in places_in(known.signature, self.value, self.argnums) for leaf in place.leaves]
        given = [writing.parameter_of(known.graph.params[k], k, self._symbols()) for k in wrt]
        if not self.trailing:
            return differentiated.slopes(values, given, self.order)
        first = len(traced.graph.params) - len(traced.extras) - len(wrt)
        params = enumerate(traced.graph.params[first : first + len(wrt)], first)
        return differentiated.along(values[0], given, [writing.parameter_of(p, k, ()) for k, p in params])

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Any, str]:
        return self.value._called(args[: len(args) - self.trailing], kwargs)

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.value.bound = self.bound

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.value.bound = self.bound

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tree.Signature, list[Any]]:
        if trailing := self.trailing:
            if len(args) < trailing + (not kwargs):
                how = f"{self.title}(f)(x, v)"
                raise TypeError(f"{self.title}({self.__name__}) takes the arguments and then a vector: {how}")
            if kwargs:
                own, kwargs = self.value._bind(args[:-trailing], kwargs)
                args = (*own, *args[-trailing:])
        return super().flatten(args, kwargs)

    def _enter_again(self, found: Compiled, way: Any, places: Any) -> None:
        if not self.trailing:
            super()._enter_again(found, way, places)

    def __slow__(self, *args: Any, **kwargs: Any) -> Any:
        made = self._of_tensors(args, kwargs)
        return super().__slow__(*args, **kwargs) if made is MISS else made

    def _of_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose chosen arguments are Tensors, as under `func`; else MISS."""
        if not tree.CALLS or tracing.current() is not None or tree.follower((args, kwargs)) is None:
            return MISS
        kwargs = dict(kwargs)
        out = None if self._has_out else kwargs.pop("out", None)
        own = args[: len(args) - self.trailing]
        found = self.value.places_of(self.argnums, own[0] if own else None, len(own), tuple(kwargs))
        if not all(isinstance(k, int) for k in found):
            return MISS
        argnums: Any = tuple(found) if isinstance(self.argnums, tuple) else found[0]
        given = [own[k] for k in found if isinstance(k, int)]
        return with_tensors(self.title, self.function, args, given, out, (argnums, self.has_aux), kwargs)


def _with_trailing(value: Function) -> inspect.Signature | None:
    """The signature of a function that takes more positional arguments at its end."""
    signature = value._signature
    if signature is None:
        return None
    given = list(signature.parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in given):
        return signature
    own = [p for p in given if p.kind <= p.POSITIONAL_OR_KEYWORD]
    rest = inspect.Parameter("vector", inspect.Parameter.VAR_POSITIONAL)
    return signature.replace(parameters=[*own, rest, *given[len(own) :]])


def _plainly(function: Callable[..., Any], trailing: int, *args: Any, **kwargs: Any) -> Any:
    return function(*args[: len(args) - trailing], **kwargs)


__all__ = ["Blocks", "Derived", "Site"]
