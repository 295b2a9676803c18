"""Looking inside a compiled function: the text of its stages, how its forms came about, their memory, its formula."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.frontend import tracing, tree
from ...compiler.frontend.results import assemble
from ...compiler.frontend.trace import Trace, leaves_of
from ...compiler.ir.graph import Graph
from ...compiler.ir.types import FLOATING
from ...compiler.later import later
from ...compiler.ops.require import Warned
from .chosen import EVERY
from .compiled import Compiled
from .tracebacks import boundary
from .variants import rerolled

if TYPE_CHECKING:  # what looks into functions is loaded when somebody looks
    from ..inspect import costs, diagnosis, explored, stages
    from ..inspect.diagnosis import Diagnosis
    from ..inspect.profile import Profile
    from ..inspect.text import Text
    from ..symbolic import results
    from ..symbolic.readout import bindings, called, differentiated, latex, matrixwise, writing
    from ..symbolic.readout.latex import Latex
    from . import report, sparsity
    from .report import Memory, Report
    from .sparsity import Pattern
else:
    costs, diagnosis = later(__package__, "..inspect.costs"), later(__package__, "..inspect.diagnosis")
    explored, stages = later(__package__, "..inspect.explored"), later(__package__, "..inspect.stages")
    results = later(__package__, "..symbolic.results")
    bindings = later(__package__, "..symbolic.readout.bindings")
    called = later(__package__, "..symbolic.readout.called")
    differentiated = later(__package__, "..symbolic.readout.differentiated")
    latex, writing = later(__package__, "..symbolic.readout.latex"), later(__package__, "..symbolic.readout.writing")
    matrixwise = later(__package__, "..symbolic.readout.matrixwise")
    report, sparsity = later(__package__, ".report"), later(__package__, ".sparsity")

WRITTEN_OUT = 32
"""The most operations of a function in which no loop is looked for that was written out."""

Followed = tuple[Trace, Graph, list[np.ndarray], list[str]]


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

    @boundary
    def ir(self, stage: str = "graph", *args: Any, **kwargs: Any) -> Text:
        """The text of a stage, for these arguments or for those of the latest compilation.

        stage   graph, adjoint, optimized, loops, llvm or asm; or diff for what each pass has changed

        It is a str that can do more: see `Text`. ValueError for other stages, and if nothing has been compiled yet.

        >>> print(jit(np.tanh).ir("optimized", 2.0).splitlines()[1].partition("  #")[0].strip())
        %0: f64[] = tanh %x
        """
        if not isinstance(stage, str):
            came = f"stage is of class {type(stage).__name__}, expected one of {', '.join(stages.ALL)}"
            raise TypeError(f"ir: {came}: pass arguments of the call behind it, as in ir('graph', x)")
        if stage not in stages.ALL:
            raise ValueError(f"no stage {stage!r}: there are {', '.join(stages.ALL)}")
        return stages.text_of(self._shown(f"ir({stage!r}, ...)", args, kwargs), stage)

    def _shown(self, asked: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compiled:
        """The form for these arguments, or the latest."""
        if args or kwargs:
            return self._for(args, kwargs)
        if self._latest is None and hasattr(self.__wrapped__, "examples"):
            return self._for(tuple(self.__wrapped__.examples()), {})
        if self._latest is None:
            fix = f"call it, or pass example arguments: {asked}"
            raise ValueError(f"{self.__name__} has not been compiled yet: {fix}")
        return self._latest

    @boundary
    def diagnose(self, *args: Any, **kwargs: Any) -> Diagnosis:
        """Run a call once more, operation by operation, and tell the first that made a NaN, an infinity, an overflow or
        a denormal, in the value and in the gradient: its line, operands, round and way to the result; and kinks.

        The arguments are those of a call, and what it raises is raised.

        >>> print(jit(lambda x: np.sum(np.log(x))).diagnose(np.array([1.0, 0.0])).first.kind)
        infinity
        """
        traced, derived, inputs, names = self._followed(args, kwargs)
        return diagnosis.diagnose(self.__name__, traced.graph, derived, inputs, names)

    @boundary
    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """What each line of a call costs, in the value and in the gradient: measured times of both and of the call, and
        flops and bytes as they are counted. The arguments are those of a call, which is made many times.

        >>> [each.name for each in grad(lambda x: np.sum(np.sin(x))).profile(np.ones(8)).sweeps]
        ['value', 'gradient']
        """
        traced, derived, inputs, _ = self._followed(args, kwargs)
        given = args if args or kwargs else tuple(inputs)
        return costs.profile(self.__name__, traced.graph, derived, inputs, lambda: self(*given, **kwargs))  # type: ignore

    @boundary
    def explore(self, path: Any = None, *args: Any, **kwargs: Any) -> Path:
        """Write one HTML page with all stages side by side, linked by lines, and give its path.

        path   the page's file; by default one in a new folder for temporary files
        args   of a call, for values, cotangents and measured costs; without them the latest compilation is shown

        The page holds all that it shows: it needs no server and no network.

        >>> slope = grad(lambda x: np.sum(np.sin(x) ** 2))
        >>> slope.explore(None, np.ones(3)).suffix
        '.html'
        """
        return explored.explored(self, path, args, kwargs)

    def _followed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
        """The trace for a call, the graph that is compiled for it, what that is given, and what this is called."""
        if not args and not kwargs and hasattr(self.__wrapped__, "examples"):
            args = tuple(self.__wrapped__.examples())
        signature, leaves = self.flatten(args, kwargs)
        with tracing.silenced():  # warnings are not what is looked for
            traced = self._trace(signature, values=leaves)
        derived, _ = self.plan.derive(traced, self)
        given = [*leaves, *map(tree.canonical, traced.extras)]
        inputs = [np.asarray(x, p.type.numpy) for x, p in zip(given, traced.graph.params, strict=True)]
        names = [path for path, _ in leaves_of(signature, self.argument_names(len(signature[1]) - 1))]
        return traced, derived, inputs, [*names, *["an array of its own"] * len(traced.extras)]

    @boundary
    def report(self, *args: Any, **kwargs: Any) -> Report:
        """How the compiled forms came about, and why; example arguments are compiled first, and only they are told."""
        return report.report_of(self.__name__, self.argument_names, self._forms(args, kwargs), self._entered)

    @boundary
    def memory(self, *args: Any, **kwargs: Any) -> Memory:
        """The memory that a call needs, by the same rules."""
        return report.memory_of(self.__name__, self.argument_names, self._forms(args, kwargs))

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

    @boundary
    def sparsity(self, *args: Any, **kwargs: Any) -> Pattern:
        """Which elements of the results can depend on which elements of the arguments of floats: `print` shows it.

        Of a gradient, on those that it is for: the pattern of the Hessian. ValueError where there are too many.
        """
        signature, leaves = self.flatten(args, kwargs)
        opens = self.plan.opens
        if opens is None or opens is EVERY:
            kinds = [[tree.dtype_of(n) for _, n in tree.nodes(node) if n[0] != "static"] for node in signature[1][:-1]]
            opens = tuple([k for k, each in enumerate(kinds) if each and set(each) <= set(FLOATING)])
        found = sparsity.pattern_of(self, opens, signature, leaves, slopes=self.plan.name != "jit")
        return sparsity.Pattern(found.matrix)

    @boundary
    def sympy(self, *args: Any, matrices: bool = False, intermediates: bool | None = None, **kwargs: Any) -> Any:
        """What a call returns, as SymPy expressions; example arguments are needed where one is more than a float.

        An array of up to 64 elements is a Matrix or an Array of expressions, a larger one an ArrayComprehension over
        its indices; elements of arguments are `x[i]`. A long loop is a Sum, a Product or a recurrence (`doit()` writes
        it out), a branch a Piecewise. NoExpression, a TypeError, for what is none of these. With `matrices` arrays of
        any size are read as a whole: arguments are MatrixSymbols, vectors columns, and products, sums, inverses,
        solutions, determinants and functions of elements are what SymPy has for them.

        What shares much is long when it is written out, as a gradient is. It has names for its parts then, those of
        the function's source where there are such: `bindings` and `body`, and `doit()` writes them out. With
        `intermediates` short results have names as well; with False nothing has.

        >>> jit(lambda x: np.sum(x * x)).sympy(np.ones(2))
        x[0]**2 + x[1]**2
        >>> grad(lambda x, A: x @ A @ x).sympy(np.ones(9), np.ones((9, 9)), matrices=True)
        A*x + A.T*x
        >>> print(jit(lambda x, y: np.sin(x * y) + np.cos(x * y)).sympy(intermediates=True))
        sin(t_0) + cos(t_0), where
            t_0 = x*y
        """
        if not args and not kwargs:
            args = (1.0,) * int(self._positional[0])
        if matrices:
            graph, result = self.plan.derive(self._trace(self.flatten(args, kwargs)[0]), self)
            whole = matrixwise.to_matrices(graph, self._symbols())
            return assemble(results.with_complex(result), lambda leaf: whole[leaf.index])
        result, made = self._expressions(args, kwargs)
        if intermediates is not False:
            made = bindings.named(made, lambda: self._called(args, kwargs), bool(intermediates))
        return assemble(results.with_complex(result), lambda leaf: made[leaf.index])

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Any, str]:
        """What the function, or that which it is the derivative of, calls its values."""
        if isinstance(self.__wrapped__, Inside):
            return self.__wrapped__._called(args, kwargs)
        traced = self._trace(self.flatten(args, kwargs)[0])
        return called.names_of(traced.graph, self._symbols(), traced.extras)

    def _expressions(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        """What a call returns, and the expressions that are its leaves."""
        traced = self._trace(self.flatten(args, kwargs)[0])
        rolled = rerolled(traced) if len(traced.graph.body) > WRITTEN_OUT else traced
        try:  # very many rounds that are written out are read as the loop that they are
            return self._read(rolled, args, kwargs)
        except writing.NoExpression:
            if rolled.graph is traced.graph:
                raise
            return self._read(traced, args, kwargs)

    def _read(self, traced: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        graph, result = self.plan.derive(traced, self)
        if any(op.regions for op in traced.graph.body):
            made = self._differentiated(traced, graph, args, kwargs)
            if made is not None and differentiated.is_long(made):
                return result, made
        try:
            return result, writing.to_sympy(graph, self._symbols(), traced.extras)
        except writing.NoExpression:  # of what is kept for a gradient
            made = self._differentiated(traced, graph, args, kwargs)
            if made is None:
                raise
            return result, made

    def _differentiated(
        self, traced: Trace, graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any] | None:
        """The results of a derivative of a function with a long loop: SymPy differentiates its sums and recurrences."""
        try:
            made = self._slopes(traced, args, kwargs)
        except writing.NoExpression:
            return None
        return made if made is not None and len(made) == len(graph.results) else None

    def _slopes(self, traced: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The expressions of a derivative by those of its function; None for what is none."""
        inner = self.__wrapped__
        of = getattr(self.plan, "differentiated", None)  # of gradients
        wrt = of and of(traced, self)
        if isinstance(inner, Inside):
            values = inner._expressions(args, kwargs)[1]
        elif wrt:
            values = writing.to_sympy(traced.graph, self._symbols(), traced.extras)
        else:
            return None
        if not wrt:
            return values if of is None else None
        given = [writing.parameter_of(traced.graph.params[k], k, self._symbols()) for k in wrt]
        return [*(values if self.plan.with_value else []), *differentiated.slopes(values, given)]

    @boundary
    def latex(self, *args: Any, intermediates: bool = True, matrices: bool = False, **kwargs: Any) -> Latex:
        """What a call returns, as an aligned block of LaTeX, which notebooks show; see `sympy`.

        Parts that are used more than once get a line each, unless `intermediates` is False.
        """
        names = self.argument_names(int(self._positional[0]) or len(args))
        made = self.sympy(*args, matrices=matrices, intermediates=intermediates, **kwargs)
        return latex.to_latex(self.__name__, names, made)

    def _symbols(self) -> Any:
        inner = self.__wrapped__
        while isinstance(inner, Inside):
            inner = inner.__wrapped__
        return getattr(inner, "symbols", ())


__all__ = ["Inside"]
