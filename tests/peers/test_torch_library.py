"""Operators that programs define answer as under torch: schemas, results, gradients and texts of errors."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

import pullback
from pullback.runtime.operators import aten


def answer(t: Any, call: Callable[..., Any]) -> Any:
    """What a program says with either; errors by their type and what comes before the details."""
    with t.library._scoped_library("peers", "FRAGMENT") as lib:
        try:
            found = call(t, lib)
        except Exception as error:
            text = str(error).partition("\nCast error")[0].partition(" Duplicate registration")[0]
            return type(error).__name__, text.rstrip().replace("pullback.runtime.tensor.face.tensor.", "torch.")
    return str(found).replace("pullback.runtime.tensor.face.tensor.", "torch.")


def defined(*args: Any, schema: str = "f(Tensor x, int n=2, *, float s=1.0) -> Tensor", **kwargs: Any) -> Any:
    def call(t: Any, lib: Any) -> Any:
        lib.define(schema)
        lib.impl("f", lambda *args, **kwargs: (args[1:], kwargs) and t.ones(2) * len(args))
        return t.ops.peers.f(*[t.ones(2) if a is ... else a for a in args], **kwargs)

    return call


def schema(text: str) -> Any:
    def call(t: Any, lib: Any) -> Any:
        lib.define(text)
        return t.ops.peers.f.default._schema, t.ops.peers.f, t.ops.peers.f.default, t.ops.peers.f.overloads()

    return call


def inferred(function: Callable[[Any], Any], writes: Any = ()) -> Any:
    return lambda t, lib: t.library.infer_schema(function(t), mutates_args=writes)


def annotated(**kinds: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of x with annotations of either."""

    def made(t: Any) -> Any:
        def function(x):
            return x

        function.__annotations__ = {name: kind(t) for name, kind in kinds.items()}
        return function

    return made


def tensor(t: Any) -> Any:
    return t.Tensor


CALLS = [
    defined(...), defined(..., 3), defined(..., s=2), defined(3), defined(), defined(..., 1, 2), defined(..., k=2),
    defined(..., "s"), defined(..., 2.5), defined(..., None), defined(..., s="a"),
    defined(..., schema="f(Tensor x) -> Tensor"), defined(..., 2, schema="f(Tensor x) -> Tensor"),
    defined(..., 1.0, schema="f(Tensor x, float[] w) -> Tensor"),
    defined(..., ["a"], schema="f(Tensor x, float[] w) -> Tensor"),
    defined([...], schema="f(Tensor x) -> Tensor"), defined(3, schema="f(Tensor? x) -> Tensor"),
    defined(..., 3, schema="f(Tensor x, bool b) -> Tensor"),
    defined(..., "a", schema="f(Tensor x, Scalar b) -> Tensor"),
    schema("f(Tensor x) -> Tensor"), schema("f(Tensor(a!) x, int[2] k=1) -> ()"),
    schema('f(Tensor[] x, ScalarType? d=None, str s="a", bool b=True) -> (Tensor, Tensor)'),
    schema("f(Tensor x, *, float s=0.5, SymInt n=3, Scalar v=1) -> Tensor[]"),
    schema("f(Tensor x) -> (Tensor a, int b)"),
    lambda t, lib: [lib.define("f(Tensor x) -> Tensor"), lib.define("f(Tensor x) -> Tensor")],
    lambda t, lib: t.ops.peers.none, lambda t, lib: t.ops.aten.none, lambda t, lib: t.ops.aten.sin.default,
    lambda t, lib: [lib.define("f(Tensor x) -> Tensor"), lib.impl("f", abs, "XYZ")],
    lambda t, lib: t.library.Library("peers", "X"), lambda t, lib: t.library.Library("prim", "DEF"),
    lambda t, lib: t.library.define("f", "(Tensor x) -> Tensor"),
    lambda t, lib: t.library.register_fake("peers::none", abs), lambda t, lib: t.library.fallthrough_kernel(),
    inferred(annotated(x=tensor, **{"return": tensor})),
    inferred(annotated(x=lambda t: list[t.Tensor | None], **{"return": tensor})),
    inferred(annotated(x=lambda t: t.Tensor | None, **{"return": lambda t: None})),
    inferred(annotated(x=lambda t: t.dtype, **{"return": lambda t: tuple[t.Tensor, int]})),
    inferred(annotated(x=tensor, **{"return": lambda t: list[t.Tensor]}), {"x"}),
    inferred(annotated(x=lambda t: float, **{"return": lambda t: tuple[t.Tensor]})),
    inferred(annotated(**{"return": tensor})), inferred(annotated(x=tensor)),
    inferred(annotated(x=tensor, **{"return": tensor}), {"z"}),
    inferred(annotated(x=lambda t: int, **{"return": tensor}), {"x"}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_answers(number: int) -> None:
    ours, theirs = (answer(t, CALLS[number]) for t in (pullback, torch))
    assert ours == theirs


def cubed(t: Any) -> Any:
    """A custom operator in NumPy, with its gradients of two orders."""

    def cube(x, w=2.0):
        return t.from_numpy(x.detach().numpy() ** 3 * w)

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.w = inputs[1]

    cube.__annotations__ = {"x": t.Tensor, "w": float, "return": t.Tensor}
    made = t.library.custom_op("peers2::cube", cube, mutates_args=())
    made.register_autograd(lambda ctx, g: (3 * ctx.w * g * ctx.saved_tensors[0] ** 2, None), setup_context=keep)
    return made


def test_gradients() -> None:
    found = []
    for t in (pullback, torch):
        op, x = cubed(t), t.tensor([1.0, -2.0, 0.5], requires_grad=True)
        (first,) = t.autograd.grad(op(x, 1.5).sum(), x, create_graph=True)
        (second,) = t.autograd.grad(t.ops.peers2.cube(first).sum(), x)
        lanes = t.vmap(op)(t.arange(6.0).reshape(3, 2))
        found.append([first.tolist(), second.tolist(), lanes.tolist(), op(x).requires_grad, repr(op)])
    assert found[0] == found[1]


def test_operators_of_torch_take_their_arguments_in_its_order() -> None:
    """Where both have an argument of a name, it stands in the same place of one of the operator's overloads."""
    theirs: dict[str, list[dict[str, int]]] = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten":
            names = [a.name for a in schema.arguments if not a.kwarg_only]
            theirs.setdefault(name, []).append({n: k for k, n in enumerate(names)})
    wrong, compared = {}, 0
    for name, places in theirs.items():
        packet = aten.packet(name)
        if packet is None or name == "polygamma_":  # its signature is that of the function, and its order the method's
            continue
        parameters = inspect.signature(packet._function).parameters.values()
        ours = {"self" if p.name == "input" else p.name: k for k, p in enumerate(parameters) if p.kind in (0, 1)}
        compared += any(len(ours.keys() & one.keys()) > 1 for one in places)
        if not any(all(ours[n] == one[n] for n in ours.keys() & one.keys()) for one in places):
            wrong[name] = ours, places
    assert wrong == {}
    assert compared > 150
