"""Extension modules with arguments and results of random structure, imported into this process."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from tests.built import made


def _tree(rng: np.random.Generator, depth: int) -> Any:
    kind = rng.integers(0, 7 if depth else 4)
    if kind == 0:
        return float(rng.normal())
    if kind == 1:
        return int(rng.integers(-5, 5))
    if kind in (2, 3):
        shape = tuple(rng.integers(0 if kind == 2 else 1, 4, rng.integers(1, 4)))
        return rng.integers(-9, 9, shape).astype(rng.choice(["f8", "f4", "i8", "i4"]))
    items = [_tree(rng, depth - 1) for _ in range(rng.integers(0, 4))]
    if kind == 4:
        return {f"k{n}": each for n, each in enumerate(items)}
    return items if kind == 5 else tuple(items)


def _twice(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _twice(each) for key, each in reversed(x.items())}
    return type(x)(map(_twice, x)) if isinstance(x, (list, tuple)) else x + x


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (dict, list, tuple)):
        inner = [each for item in (x.items() if isinstance(x, dict) else x) for each in _leaves(item)]
        return [type(x), *inner]
    return [x]


def test_random_trees(tmp_path: Path) -> None:
    """In and out of trees of all kinds, in this process: what the function itself gives."""
    rng = np.random.default_rng(7)
    trees = {f"f{k}": (_tree(rng, 3), rng.normal(size=3)) for k in range(30)}
    path = made(tmp_path, dict.fromkeys(trees, lambda t, x: _twice((t, x))), trees, name="trees")
    if not path:
        return
    spec = importlib.util.spec_from_file_location("trees", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, args in trees.items():
        got, want = _leaves(getattr(module, name)(*args)), _leaves(_twice(args))
        for a, b in zip(got, want, strict=True):
            assert type(a) is type(b) and np.array_equal(a, b), name
            assert not isinstance(a, np.ndarray) or a.dtype == b.dtype
