"""Operations whose derivative somebody else has written, and those that only differentiation sees.

    custom args...          value(args), whose cotangents go by rule(args, results, cotangents of float results)
    again args...           the same function within its own rule, on its first arguments, those `given`
    checkpoint args...      region(args), of which nothing but the args is kept for the backward sweep
    stop_gradient x         x, whose cotangent is zero
    refused args...         a cotangent that no rule gives, which would be made of these

    %1: f64[] = custom %x {given=1, name="f"}
      | @value(%x: f64[]) {...}
      | @rule(%x: f64[], %y: f64[], %ct: f64[]) {...}

They stay as long as something may be differentiated again, because a rule holds at every order; then `expand` puts
plain operations in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..ir.graph import Builder, Graph, Op, Value, evaluate, inline, rewrite
from ..ir.primitive import Primitive
from ..ir.types import Type
from .control import Call, Region, _results, _takes
from .elementwise import mul
from .source import number


class Custom(Region):
    """The first region's results; the second gives the cotangents of the float arguments."""

    holds = 2
    attributes: ClassVar = {"name": "word", "given": "axis"}

    def infer(self, types, attrs, regions):
        value, rule = regions
        _takes(attrs["name"], value, types)
        results = _results(value)
        _takes(f"the rule of {attrs['name']}", rule, [*types, *results, *filter(_is_float, results)])
        if _results(rule) != tuple(filter(_is_float, types)):
            raise TypeError(f"the rule of {attrs['name']} gives other types than the float arguments have")
        return results

    def evaluate(self, args, attrs, regions):
        return evaluate(regions[0], args)

    def expand(self, b, op, args):
        return inline(op.regions[0], b, args)

    def pull(self, b, op, cotangents):
        floats = [(r, ct) for r, ct in zip(op.results, cotangents, strict=True) if r.type.is_float]
        given = [number(b, 0, r.type) if ct is None else ct for r, ct in floats]
        rule = op.regions[1]
        if _mentions(rule, op.attrs["name"]):
            rule = _unfolded(rule, op, rule.params[op.attrs["given"] : len(op.args)])
        made = iter(inline(rule, b, [*op.args, *op.results, *given]))
        return [next(made) if a.type.is_float else None for a in op.args]

    def samples(self, rng):
        return [([rng.normal(size=(3,)), rng.normal(size=(3,))], {"name": "product", "given": 2})]

    def sample_regions(self):
        t = Type("f64", (3,))
        b = Builder("rule", [t] * 4, ["x", "y", "out", "ct"])
        x, y, _, ct = b.params
        return (_product(), b.finish([mul(b, y, ct), mul(b, x, ct)]))


class Again(Primitive):
    """A custom function called by its own rule: using the rule puts a `custom` in its place."""

    attributes: ClassVar = {"name": "word", "types": "types"}

    def infer(self, types, attrs, regions):
        if not isinstance(attrs.get("types"), tuple):
            raise TypeError(f"again wants the types of its results, got {dict(attrs)}")
        return attrs["types"]

    def samples(self, rng):
        return []


class Checkpoint(Call):
    """A function whose pullback runs it once more."""

    def pull(self, b, op, cotangents):
        raise NotImplementedError("the adjoint pass differentiates regions")


class StopGradient(Primitive):
    """The value itself, as a constant to derivatives of every order."""

    arity = 1
    exact = True

    def infer(self, types, attrs, regions):
        (type,) = types
        return (type,)

    def evaluate(self, args, attrs, regions):
        return [args[0]]

    def expand(self, b, op, args):
        return args

    def pull(self, b, op, cotangents):
        return [None]

    def batch(self, m):
        return m.emit(self, *m.args)

    def samples(self, rng):
        return [([rng.integers(-3, 3, (2, 3))], {})]


class Refused(Primitive):
    """A cotangent that no rule gives: an error where it is needed after all.

    It takes what it would be made of, so that it has no derivative either: one along a direction is made by pulling
    back once more, and so are those of higher order.
    """

    attributes: ClassVar = {"type": "type", "text": "word"}

    def infer(self, types, attrs, regions):
        return (attrs["type"],)

    def evaluate(self, args, attrs, regions):
        raise TypeError(attrs["text"])

    def expand(self, b, op, args):
        text, where = op.attrs["text"], op.where or b.where
        raise TypeError(text if where is None or "\n" in text else f"{text}\n  at {where.told()}")

    def pull(self, b, op, cotangents):
        return [self.of(b, a.type, op.attrs["text"], [*cotangents, *op.args]) for a in op.args]

    def of(self, b: Builder, type: Type, text: str, made_of: Sequence[Value | None]) -> Value:
        """A cotangent of this type, which would be made of the floats among these values."""
        return self(b, *[v for v in made_of if v is not None and v.type.is_float], type=type, text=text)

    def batch(self, m):
        type = m.op.attrs["type"]
        return m.emit(self, *m.args, type=type.with_shape((m.size, *type.shape)), text=m.op.attrs["text"])

    def samples(self, rng):
        return []


def _unfolded(graph: Graph, of: Op, extras: Sequence[Value]) -> Graph:
    """The graph with calls of the function within its own rule made calls with that rule, in regions too.

    `extras` is what the graph has for the function's arguments after those `given`: regions are handed them.
    """

    def visit(b: Builder, op: Op, args: Any) -> Any:
        if op.prim is again and op.attrs["name"] == of.attrs["name"]:
            return b.emit(custom, *args, *extras, regions=of.regions, **of.attrs)
        if not _calls(op, of.attrs["name"]):
            return None
        regions = [_widened(op, k, of, extras) for k in range(len(op.regions))]
        return b.append(Op(op.prim, (*args, *extras), op.attrs, tuple(regions), op.results, b.where))

    return rewrite(graph, visit)


def _widened(op: Op, k: int, of: Op, extras: Sequence[Value]) -> Graph:
    """Region `k` of `op` with more parameters for what it is handed more."""
    region, own = op.regions[k], tuple([Value(v.type) for v in extras])
    is_rule = op.prim is custom and k == 1
    at = len(op.args) if is_rule else len(region.params)
    made = Graph(region.name, (*region.params[:at], *own, *region.params[at:]), region.body, region.results)
    made = _unfolded(made, of, own)
    if not is_rule:
        return made
    text = f"{op.attrs['name']} has no derivative with respect to what {of.attrs['name']} takes from outside"
    b = Builder(made.name)
    b.params, b.body = made.params, list(made.body)
    more = [refused.of(b, v.type, text, made.params) for v in own if v.type.is_float]
    return b.finish([*made.results, *more])


def _mentions(graph: Graph, name: str) -> bool:
    """Whether a graph, or a region in it, calls the custom function of this name again."""
    return any((op.prim is again and op.attrs["name"] == name) or _calls(op, name) for op in graph.body)


def _calls(op: Op, name: str) -> bool:
    """Whether regions of an operation do; those of a function that happens to have the name mean itself by it."""
    is_another = op.prim is custom and op.attrs["name"] == name
    return not is_another and any(_mentions(each, name) for each in op.regions)


def _product() -> Graph:
    t = Type("f64", (3,))
    b = Builder("product", [t, t], ["x", "y"])
    return b.finish([mul(b, *b.params)])


def _is_float(type: Type) -> bool:
    return type.is_float


custom, again, checkpoint = Custom("custom"), Again("again"), Checkpoint("checkpoint")
stop_gradient, refused = StopGradient("stop_gradient"), Refused("refused")

__all__ = ["again", "checkpoint", "custom", "refused", "stop_gradient"]
