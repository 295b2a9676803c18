"""Looking inside a compiled function: the text of its stages, how its forms came about, their memory, its formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compiler.frontend import tree
from ...compiler.frontend.results import assemble
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Graph
from ...compiler.ir.text import show
from ...compiler.ops.require import Warned
from ...compiler.passes import adjoint
from ...compiler.settings import STAGES
from ..symbolic.latex import to_latex
from ..symbolic.writing import NoExpression, slopes, to_sympy
from .chosen import EVERY
from .compiled import Compiled
from .report import Memory, Report, memory_of, report_of
from .sparsity import Pattern, pattern_of


class Inside:
    """What compiled functions can tell of themselves."""

    __name__: str
    __wrapped__: Callable[..., Any]
    plan: Any
    compiled: Callable[..., Compiled]
    silent: Callable[..., Compiled]
    flatten: Callable[..., Any]
    argument_names: Callable[[int], list[str]]
    _trace: Callable[..., Trace]
    _positional: tuple[int, float]
    _groups: dict[Any, Any]
    _latest: Compiled | None
    _entered: list[Any]

    def ir(self, stage: str = "graph", *args: Any, **kwargs: Any) -> str:
        """The text of a stage, for these arguments or for those of the latest compilation."""
        if stage not in STAGES:
            raise ValueError(f"no stage {stage!r}: there are {', '.join(STAGES)}")
        found = self._latest
        if args or kwargs:
            found = self._for(args, kwargs)
        if found is None:
            raise ValueError(f"{self.__name__} has not been compiled yet: call it, or pass example arguments to ir()")
        if stage == "graph":
            return show(found.traced.graph)
        if stage == "adjoint":
            return show(found.graph if found.graph is not found.traced.graph else _adjoint(found.traced))
        return found.kernel.text(stage)

    def report(self, *args: Any, **kwargs: Any) -> Report:
        """How the compiled forms came about, and why; example arguments are compiled first, and only they are told."""
        return report_of(self.__name__, self.argument_names, self._forms(args, kwargs), self._entered)

    def memory(self, *args: Any, **kwargs: Any) -> Memory:
        """The memory that a call needs, by the same rules."""
        return memory_of(self.__name__, self.argument_names, self._forms(args, kwargs))

    def _forms(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Compiled]:
        if args or kwargs:
            return [self._for(args, kwargs)]
        forms = [each for group in list(self._groups.values()) for each in list(group.variants.values())]
        return [each for form in forms for each in (form.variants.forms if form.variants else (form,))]

    def _for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compiled:
        """The form for these arguments."""
        signature, leaves = self.flatten(args, kwargs)
        try:
            return self.compiled(signature, leaves=leaves)
        except Warned:  # which nobody wants to hear now
            return self.silent(signature, leaves)

    def sparsity(self, *args: Any, **kwargs: Any) -> Pattern:
        """Which elements of the results can depend on which elements of the arguments of floats: `print` shows it.

        Of a gradient, on those that it is for: the pattern of the Hessian. ValueError where there are too many.
        """
        signature, leaves = self.flatten(args, kwargs)
        opens = self.plan.opens
        if opens is None or opens is EVERY:
            kinds = [[tree.dtype_of(n) for _, n in tree.nodes(node) if n[0] != "static"] for node in signature[1][:-1]]
            opens = tuple([k for k, each in enumerate(kinds) if each and set(each) <= {"f32", "f64"}])
        return Pattern(pattern_of(self, opens, signature, leaves, slopes=self.plan.name != "jit").matrix)

    def sympy(self, *args: Any, **kwargs: Any) -> Any:
        """What a call returns, as SymPy expressions; example arguments are needed where one is more than a float.

        An array of up to 64 elements is a Matrix or an Array of expressions, a larger one an ArrayComprehension over
        its indices; elements of arguments are `x[i]`. A long loop is a Sum, a Product or a recurrence (`doit()` writes
        it out), a branch a Piecewise. NoExpression, a TypeError, for what is none of these.

        >>> jit(lambda x: np.sum(x * x)).sympy(np.ones(2))
        x[0]**2 + x[1]**2
        """
        if not args and not kwargs:
            args = (1.0,) * int(self._positional[0])
        traced = self._trace(self.flatten(args, kwargs)[0])
        graph, result = self.plan.derive(traced, self)
        try:
            made = to_sympy(graph, self._symbols(), traced.extras)
        except NoExpression:  # of what a loop keeps for its gradient: then SymPy differentiates what it adds up to
            differentiated = getattr(self.plan, "differentiated", None)  # of gradients
            wrt = differentiated and differentiated(traced, self)
            if not wrt:
                raise
            made = slopes(traced.graph, self._symbols(), traced.extras, wrt, self.plan.with_value)
        return assemble(result, lambda leaf: made[leaf.index])

    def latex(self, *args: Any, intermediates: bool = True, **kwargs: Any) -> str:
        """What a call returns, as an aligned block of LaTeX; see `sympy`. Parts used more than once get a line each."""
        names = self.argument_names(int(self._positional[0]) or len(args))
        return to_latex(self.__name__, names, self.sympy(*args, **kwargs), intermediates)

    def _symbols(self) -> Any:
        inner = self.__wrapped__
        while isinstance(inner, Inside):
            inner = inner.__wrapped__
        return getattr(inner, "symbols", ())


def _adjoint(traced: Trace) -> Graph:
    """The adjoint of a function that is compiled as it is, for all its arguments of floats."""
    params = traced.graph.params[: traced.inputs]
    return adjoint(traced.graph, [k for k, p in enumerate(params) if p.type.is_float])


__all__ = ["Inside"]
