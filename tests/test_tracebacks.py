"""Tracebacks of errors begin and end in the user's code; ours is in them when it is asked for, or has failed itself."""

from __future__ import annotations

import inspect
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import grad, hessian, jit, vmap
from pullback.compiler.settings import settings

ROOT = Path(__file__).resolve().parent.parent
OURS = (str(ROOT / "compiler"), str(ROOT / "runtime"))


def broken(x):
    return helper(x) + 1.0


def helper(x):
    raise KeyError("of the user's")


def unknown(x):
    return np.sum(np.packbits(x))


def out_of_bounds(x):
    return x[np.array([0, 9])].sum()


def shapes(x):
    return np.sum(x @ np.ones((7, 2)))


def frames(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """Files and functions of an error's traceback, and of what Python prints before it."""
    with pytest.raises(Exception) as caught:
        call()
    found = []
    at: BaseException | None = caught.value
    while at is not None:
        found += [(each.filename, each.name) for each in traceback.extract_tb(at.__traceback__)]
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return found


def ours(found: list[tuple[str, str]]) -> list[str]:
    return [name for file, name in found if file.startswith(OURS)]


@pytest.mark.parametrize("function", [broken, unknown, out_of_bounds, shapes])
@pytest.mark.parametrize("transform", [jit, grad])
def test_only_the_boundary_is_ours(function: Callable[..., Any], transform: Callable[..., Any]) -> None:
    made = transform(function)
    for _ in range(2):
        found = frames(lambda: made(np.ones(3)))
        assert ours(found) in (["__slow__"], ["__failed__"]) and found[0][1] in ("<lambda>", "frames")
    if function is broken:
        assert [name for _, name in found][-2:] == ["broken", "helper"]


def test_transforms_of_transforms_are_as_short() -> None:
    for made in (grad(lambda x: jit(shapes)(x) * 2.0), hessian(shapes), vmap(jit(shapes))):
        assert len(ours(frames(lambda made=made: made(np.ones((2, 3)))))) <= 3


def test_all_frames_come_when_they_are_asked_for() -> None:
    with settings.override(traceback="full"):
        assert len(ours(frames(lambda: grad(unknown)(np.ones(3))))) > 5


def test_mistakes_of_ours_keep_their_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise AssertionError("a bug")

    fails.__code__ = fails.__code__.replace(co_filename=str(ROOT / "runtime" / "compiled" / "function.py"))
    made = jit(shapes)
    monkeypatch.setattr(type(made), "_trace", fails)
    assert len(ours(frames(lambda: made(np.ones((2, 7)))))) > 3


def squares(x):
    return np.sum(x * x)


DECORATED: list[Callable[[], Any]] = [
    lambda: grad(3),  # type: ignore[call-overload]
    lambda: grad(argnums=1.5),  # type: ignore[call-overload]
    lambda: jit(static_argnums=7)(squares),
    lambda: jit(squares, sizes={"z": ("n",)}),
    lambda: hessian(3),  # type: ignore[arg-type]
    lambda: vmap(3),  # type: ignore[arg-type]
    lambda: pullback.custom_vjp(3),  # type: ignore[arg-type]
    lambda: pullback.custom_jvp(squares).defjvp(3),  # type: ignore[arg-type]
    lambda: pullback.implicit(3),  # type: ignore[arg-type]
    lambda: pullback.lambdify("2x", 1),
    lambda: pullback.parse("graph @f("),
    lambda: pullback.build(squares, (1.0,), name="a b"),
    lambda: pullback.build(broken, (1.0,), name="a"),
    lambda: pullback.scan(lambda carried, x: (broken(x), x), 1.0, np.ones(3)),
    lambda: jit(squares).ir("nope"),
    lambda: jit(lambda a: np.linalg.qr(a)[1]).sympy(np.eye(3)),
    lambda: jit(squares).diagnose(),
]


@pytest.mark.parametrize("number", range(len(DECORATED)))
def test_errors_while_decorating_begin_in_the_users_code(number: int) -> None:
    found = frames(DECORATED[number])
    assert found[0][1] == "frames" and found[1][1] == "<lambda>" and len(ours(found)) == 1, found
    if "broken" in [name for _, name in found]:
        assert [name for _, name in found][-2:] == ["broken", "helper"]


def test_what_users_call_keeps_its_name_and_its_signature() -> None:
    assert list(inspect.signature(grad).parameters)[:3] == ["function", "argnums", "has_aux"]
    assert pickle.loads(pickle.dumps(pullback.build)) is pullback.build and pullback.build.__module__.endswith("build")
