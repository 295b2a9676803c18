"""What a newcomer does wrong is told at once: misspelt options, transforms made anew, what is not replayed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import build, grad, hvp, jit, jvp, vmap

ANY: Any = pullback
X, W = np.ones((3, 8)), np.ones(8)


def product(x, w):
    return np.sum(x @ w)


REFUSED = [
    (lambda: jit(product, sizes={"xs": ("n", 8)}), ValueError, "'xs', but the signature is (x, w); did you mean 'x'?"),
    (lambda: jit(lambda p: p["a"] * 1.0, sizes={"p['b']": ("n",)})({"a": W}), TypeError, "there are p['a']"),
    (lambda: jit(product, static_argnums=2), ValueError, "static_argnums has 2, but the signature is (x, w)"),
    (lambda: ANY.jit(product, static_argnums="x"), TypeError, "static_argnums has 'x', expected a number"),
    (lambda: ANY.jit(product, static_argnames=1), TypeError, "static_argnames has 1, expected a name"),
    (lambda: vmap(lambda p: p["w"][0], in_axes=1)({"w": [W]}), TypeError, "argument 0['w'][0] has 1 axes"),
    (lambda: jvp(lambda x: x * 2.0, (W,), (np.ones(3),)), TypeError, "has shape (3,) at [0], where an array of"),
    (lambda: hvp(lambda p: np.sum(p["a"] ** 2))({"a": W}, {"a": W[:2]}), TypeError, "shape (2,) at ['a'], where"),
]


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_options_and_vectors_are_checked(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


def test_sizes_of_an_argument_without_arrays_may_be_given() -> None:
    def masked(x, mask=None):
        return np.sum(x if mask is None else x * mask)

    compiled = jit(masked, sizes={"x": ("n",), "mask": ("n",)})
    assert compiled(W) == 8.0 and compiled(W, W) == 8.0


def warned(run: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return caught


def test_a_lambda_wrapped_at_each_call_warns_once_at_its_line() -> None:
    def anew():
        for rate in range(40):
            grad(lambda x: x * x * rate)(2.0)  # noqa: B023

    first, second = warned(anew), warned(anew)
    assert len(first) == 1 and not second
    message = str(first[0].message)
    assert message.startswith("grad was applied to <lambda> 16 times") and "outside of the loop" in message
    assert (first[0].filename, first[0].lineno) == (__file__, anew.__code__.co_firstlineno + 2)


def test_functions_that_hold_other_functions_are_others() -> None:
    operations = [lambda x, k=k: x * k for k in range(20)]

    def each():
        for operation in operations:
            assert grad(lambda x: operation(x))(1.0) == operations.index(operation)  # noqa: B023

    assert not warned(each)


def test_one_transform_of_many_signatures_is_no_waste() -> None:
    compiled = jit(lambda x: x * 2.0, sizes="static")
    assert not warned(lambda: [compiled(np.ones(n)) for n in range(20, 50)])


def test_memory_is_told_in_words_first() -> None:
    told = str(jit(lambda x: np.tanh(x @ x) @ x).memory(np.ones((40, 40)))).splitlines()
    assert told[2].strip() == "reads 12,800 bytes of arguments and writes 12,800 bytes of results"
    assert told[3].startswith("    needs ") and told[3].split()[2] == "bytes"


def test_why_a_call_was_not_replayed_is_told_with_its_line_and_a_way_out() -> None:
    class Two:
        def __index__(self):
            return 2

    def half(x):
        return x[slice(0, Two())]

    for _ in range(3):
        half(pullback.ones(4) * 2.0).sum().item()
    lines = str(pullback.explain()).splitlines()
    place = f"{__file__}:{half.__code__.co_firstlineno + 1}"
    k = lines.index(f"not recognised: getitem at {place} has a slice with bounds that are no ints")
    assert lines[k + 1] == "  write them as int(n)"


def test_the_header_says_what_each_status_means(tmp_path: Path) -> None:
    def checked(x):
        if x < 0.0:
            raise ValueError("x is negative */ 100%")
        return np.sqrt(x)

    build(checked, (1.0,), name="checked", out=tmp_path)
    header = (tmp_path / "checked.h").read_text(encoding="utf-8")
    assert "/* 1: ValueError: x is negative * / 100%" in header
    assert "-1 if there is no memory" in header


def test_a_hash_is_that_of_the_number() -> None:
    compiled, pair = jit(lambda x: hash(x)), jit(lambda x: hash((x, 1)))
    for x in (3.0, 4.5, 3.0, np.float64(2.5)):
        assert compiled(x) == hash(x) and pair(x) == hash((x, 1))
