"""Functions of lists of tensors, `_foreach_*`: torch's own samples, values, gradients and what is written in place."""

import warnings
from typing import Any

import pytest
import torch
from torch.testing._internal import common_methods_invocations as database

import pullback
from pullback.compiler.settings import settings
from tests.peers import test_torch_operators as operators
from tests.peers.test_torch_operators import Unsupported, compared, difference, ours, plain, run

KINDS = ["unary", "binary", "pointwise", "reduce", "other"]
OPERATORS = [op for kind in KINDS for op in getattr(database, f"foreach_{kind}_op_db")]
DTYPES = [torch.float64, torch.int64, torch.complex128]


def small(op: Any, dtype: torch.dtype, gradients: bool) -> list[Any]:
    """Up to 12 samples from all over the list, of few tensors."""
    options = {"num_input_tensors": [3], "intersperse_empty_tensors": True}
    fitting = list(op.sample_inputs("cpu", dtype, requires_grad=gradients, **options))
    return fitting[:: max(1, len(fitting) // 12)]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_samples(op: Any, dtype: torch.dtype) -> None:
    if dtype not in op.dtypes:
        return
    wrong, count = [], 0
    torch.manual_seed(0)
    gradients = op.supports_autograd and not op.name.endswith(("copy", "zero")) and dtype is not torch.int64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in small(op, dtype, gradients):
            try:
                with settings.override(reference=True):
                    order = 2 if dtype is torch.float64 else 1
                    found = [both(op, sample, order)] if hasattr(pullback, op.name) else []
                    found += [] if op.inplace_variant is None else [in_place(op, sample)]
            except Unsupported:
                continue
            count += 1
            wrong += [f"{operators._described(sample)}: {f}" for f in found if f]
    assert count, "no samples"
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:5])


def both(op: Any, sample: Any, order: int) -> str | None:
    mine, theirs = operators.sample_outcomes(op, sample, order)
    return compared(mine, theirs, False) if not is_unwritten(theirs.error) else None


def is_unwritten(error: Exception | None) -> bool:
    """Whether torch has no kernel for the dtype, which says nothing of what the result would be."""
    said = ("not implemented for", "a bool tensor")
    return isinstance(error, NotImplementedError) or any(t in str(error) for t in said)


def in_place(op: Any, sample: Any) -> str | None:
    """The list that is given holds what is written, and is what is returned."""
    function = getattr(pullback, f"{op.name}_")
    with torch.no_grad(), pullback.no_grad():
        made: dict[int, Any] = {}
        theirs = [t.detach().clone() for t in sample.input]
        mine = [ours(t, made) for t in theirs]
        args = [ours(a, made) for a in sample.args]
        want = run(torch, lambda: op.inplace_variant(theirs, *sample.args, **sample.kwargs), [], None, 0)
        got = run(pullback, lambda: function(mine, *args, **sample.kwargs), [], None, 0)
        if want.error is None and got.error is None:
            return difference(plain(mine, pullback), plain(theirs, torch), "written")
        return compared(got, want, False) if not is_unwritten(want.error) else None


BAD = {
    "two lists": lambda t, a: t._foreach_add(a, a[:1]),
    "scalars": lambda t, a: t._foreach_add(a, [1.0]),
    "nothing": lambda t, a: t._foreach_add([], 1.0),
    "alpha": lambda t, a: t._foreach_add(a, 1.0, alpha=2),
    "a tensor": lambda t, a: t._foreach_add(a[0], 1.0),
    "numbers": lambda t, a: t._foreach_abs([1.0]),
    "a vector": lambda t, a: t._foreach_mul(a, a[0]),
    "too few": lambda t, a: t._foreach_mul(a),
    "a keyword": lambda t, a: t._foreach_mul(a, number=2.0),
    "leaves": lambda t, a: t._foreach_mul_([x.requires_grad_() for x in a], 2.0),
    "empty": lambda t, a: t._foreach_max([a[0][:0]]),
    "weights": lambda t, a: t._foreach_addcmul(a, a, a, a[1][:1]),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(name: str) -> None:
    raised = []
    for module in (torch, pullback):
        with pytest.raises((TypeError, RuntimeError)) as caught:
            BAD[name](module, [module.ones(2), module.ones(3)])
        raised.append(caught.value)
    assert type(raised[0]) is type(raised[1])
    if isinstance(raised[0], RuntimeError):
        assert str(raised[0]).rstrip(".") in str(raised[1])


KEYWORDS = {
    "other": lambda t, a: t._foreach_sub(a, other=a, alpha=2),
    "scalar": lambda t, a: t._foreach_div(a, scalar=2),
    "scalars": lambda t, a: t._foreach_addcdiv(a, tensor1=a, tensor2=a, scalars=[1, 2]),
    "value": lambda t, a: t._foreach_addcmul(a, a, a, value=3.0),
    "a tensor of scalars": lambda t, a: t._foreach_addcmul(a, a, a, t.tensor([2.0, 3.0])),
    "a number to powers": lambda t, a: t._foreach_pow(2.0, a),
    "ord": lambda t, a: t._foreach_norm(a, ord=1, dtype=t.float64),
    "powers": lambda t, a: t._foreach_powsum(a, 3),
    "weights": lambda t, a: t._foreach_lerp(a, a, weight=0.25),
    "tensors": lambda t, a: t._foreach_max(tuple(a)),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords(name: str) -> None:
    want, got = (KEYWORDS[name](m, [m.tensor([1.0, 2.0]), m.tensor([3.0])]) for m in (torch, pullback))
    assert not difference(plain(got, pullback), plain(want, torch), name)


def test_every_function_is_there() -> None:
    missing = [n for n in dir(torch) if n.startswith("_foreach_") and not hasattr(pullback, n)]
    assert not missing
    with pytest.raises(AttributeError):
        _ = pullback._foreach_nothing
