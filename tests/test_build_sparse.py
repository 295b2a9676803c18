"""Extension modules of sparse derivatives: the entries as a function, and their pattern."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pullback as pb
from tests.built import made


def test_built_modules_have_entries_and_patterns(tmp_path: Path) -> None:
    def energy(x, k):
        """The energy of a chain."""
        return k * np.sum((x[1:] - x[:-1]) ** 4) + np.sum(np.cos(x))

    def steps(x):
        return x[1:] * x[:-1], np.stack([np.sum(x)])

    curve, slope = pb.hessian(energy, sparse=True), pb.jacobian(lambda x: np.concatenate(steps(x)), sparse=True)
    x, y = np.linspace(0, 1, 30), np.cos(np.arange(30.0))
    path = made(tmp_path, {"curve": curve, "slope": slope}, {"curve": (x, 2.0), "slope": (x,)}, name="chain_module")
    refused = ((lambda n, x: x[n:] ** 2, "has whole numbers"), (lambda x: x + 1.0, "which is what the pattern"))
    for wrong, said in refused:
        given = {"f": pb.jacobian(wrong, sparse=True), "f_pattern": np.sin}
        with pytest.raises((TypeError, ValueError), match=said):
            pb.build(given, {"f": (3, x) if "whole" in said else (x,), "f_pattern": (1.0,)}, name="wrong", out=tmp_path)
    if path is None:
        return
    spec = importlib.util.spec_from_file_location("chain_module", path)
    assert spec and spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    indices, starts, shape = module.curve_pattern()
    matrix = sp.csr_array((module.curve(y, k=3.0), indices, starts), shape)
    np.testing.assert_allclose(matrix.toarray(), pb.hessian(energy)(y, 3.0), rtol=1e-12, atol=1e-12)
    assert "energy of a chain" in module.curve.__doc__
    indices, starts, shape = module.slope_pattern()
    assert shape == (30, 30)
    np.testing.assert_array_equal(module.slope(y), slope(y).data)
    np.testing.assert_array_equal(indices, slope(y).indices)
