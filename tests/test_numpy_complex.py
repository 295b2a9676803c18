"""Complex numbers in NumPy functions: arguments, results, control flow, transforms and what is refused."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.frontend.errors import TraceError
from tests.numpy_cases import Case, executed, subjects
from tests.test_numpy_functions import _same

Z = np.array([1 + 2j, -0.5 + 0.3j, 0.25 - 1.5j])


# ---- every case of real numbers, with complex ones: NumPy's values, or refused


def _complex(a: Any) -> Any:
    if not (isinstance(a, np.ndarray) and a.dtype == np.float64):
        return a
    return a + 1j * (0.7 * a[::-1] - 0.2) if a.ndim else a + 0.3j


SAME = {
    "basics": 178, "creation": 31, "linalg": 61, "ordering": 30, "polynomials": 67, "scipy_distances": 0,
    "scipy_equations": 22, "scipy_fourier": 12, "scipy_images": 0, "scipy_integrate": 0, "scipy_interpolate": 0,
    "scipy_linalg": 134, "scipy_samples": 1, "scipy_signal": 0, "scipy_spatial": 0, "scipy_summaries": 0,
    "sets": 47, "shaping": 46, "special": 0,
    "special_functions": 9, "statistics": 54, "stats_more": 3, "ufunc_methods": 32,
}
"""How many cases of each subject are NumPy's with complex arguments; all others are refused."""


@pytest.mark.parametrize("subject", sorted(set(subjects()) - {"complex_numbers", "stats"}))
def test_what_is_not_refused_is_numpys(subject: str) -> None:
    """A meaning for real numbers alone would give something else, as a norm that does not conjugate does."""
    outcomes = Counter(_outcome(case) for case in subjects()[subject])
    assert outcomes["same"] >= SAME[subject], outcomes


def _outcome(case: Case) -> str:
    args = [_complex(a) for a in case.args]
    with np.errstate(all="ignore"), warnings.catch_warnings(), executed(case):
        warnings.simplefilter("ignore")
        try:
            want = case.function(*args)
        except Exception as error:
            want = error
        try:
            made = pb.jit(case.function)(*args)
        except TraceError:
            return "refused"
        except Exception as error:
            assert isinstance(want, Exception), f"{case.of}: {error!r}, where NumPy gives {want!r:.80}"
            return "error"
    assert not isinstance(want, Exception), f"{case.of}: {made!r:.80}, where NumPy has {want!r}"
    _same(made, want, max(case.rtol, 1e-9))
    return "same"


# ---- arguments and results


@pytest.mark.parametrize("z", [1 + 2j, np.complex128(0.5j), np.complex64(1 - 1j), Z, Z.astype(np.complex64), Z[::2]])
def test_results_have_numpys_types(z: Any) -> None:
    made = pb.jit(lambda z: [z * 2, z.real + z.imag, abs(z)])(z)
    for got, want in zip(made, [z * 2, z.real + z.imag, abs(z)], strict=True):
        assert type(got) is type(want)
        np.testing.assert_allclose(got, want, rtol=1e-6)
        assert np.asarray(got).dtype == np.asarray(want).dtype


def test_containers_hold_them() -> None:
    made = pb.jit(lambda d: {"a": d["b"][0] * 2j, "c": (d["b"][1], 1j)})({"b": [Z, 3.0]})
    np.testing.assert_array_equal(made["a"], Z * 2j)
    assert made["c"] == (3.0, 1j)


def test_arrays_around_are_read_at_each_call() -> None:
    around = Z.copy()
    total = pb.jit(lambda x: np.sum(x * around))
    np.testing.assert_allclose(total(2.0), np.sum(2.0 * around))
    around[0] = 0
    np.testing.assert_allclose(total(2.0), np.sum(2.0 * around))


def test_real_arguments_may_give_complex_results() -> None:
    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(pb.jit(lambda x: np.exp(1j * x))(x), np.exp(1j * x))
    made = pb.jit(np.linalg.eigvals)(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    np.testing.assert_allclose(sorted(made.imag), [-1, 1])


def test_a_real_number_scales_both_parts() -> None:
    """As C99 and Python 3.14 have it, so that 2 * inf leaves the other part a number."""
    assert pb.jit(lambda x, z: x * z)(2.0, complex(np.inf, 1)) == complex(np.inf, 2)
    assert pb.jit(lambda x, z: z / x)(2.0, complex(1, -np.inf)) == complex(0.5, -np.inf)


# ---- control flow


def _julia(z: Any, c: Any, n: int) -> Any:
    for _ in range(n):
        z = z * z + c
    return z


def _escape(c: Any) -> Any:
    z, k = 0, 0
    while abs(z) < 2 and k < 50:
        z = z * z + c
        k += 1
    return z, k


def _turned(z: Any) -> Any:
    if abs(z) > 1:
        return z * 2
    return 1j * z


def _filled(x: float) -> Any:
    w = np.zeros(4, complex)
    for k in range(4):
        w[k] = np.exp(1j * x * k)
    return w


def _collected(x: float) -> Any:
    return np.array([np.exp(1j * x * k) for k in range(3)] + [x])


@pytest.mark.parametrize(
    ("function", "args"),
    [(_julia, (0.1 + 0.2j, -0.4 + 0.1j, 6)), (_escape, (0.3 + 1j,)), (_escape, (0.1j,)), (_turned, (0.3 + 0.1j,)),
     (_turned, (3 + 0.1j,)), (_filled, (0.3,)), (_collected, (0.7,))],
)  # fmt: skip
def test_branches_loops_and_stores(function: Any, args: Any) -> None:
    made, want = pb.jit(function)(*args), function(*args)
    for got, true in zip(*(x if isinstance(x, tuple) else (x,) for x in (made, want)), strict=True):
        np.testing.assert_allclose(got, true, rtol=1e-12)
        assert type(got) is type(true)


def test_pullbacks_own_loops() -> None:
    assert pb.jit(lambda x: pb.cond(x > 0, lambda x: x * 1j, lambda x: 1j + x, x))(2.0) == 2j
    assert pb.jit(lambda x: pb.fori_loop(0, 3, lambda i, c: c * 1j, x + 0j))(2.0) == -2j
    last, rows = pb.jit(lambda x: pb.scan(lambda c, a: (c * a, c + a), 1j, x))(np.array([2.0, 3.0]))
    assert last == 6j
    np.testing.assert_array_equal(rows, [2 + 1j, 3 + 2j])


def test_parts_of_arrays_are_views() -> None:
    def written(x: Any) -> Any:
        z = np.zeros(2, complex)
        for k in range(2):
            z.real[k] = x[k]  # type: ignore[attr-defined]
        return z

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(pb.jit(written)(x), written(x))


# ---- derivatives


def _slopes(function: Any, z: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """The derivative along x plus i times that along y, by differences."""
    made = np.zeros_like(z)
    for k in range(z.size):
        step = np.eye(z.size)[k] * h
        for unit in (1, 1j):
            made[k] += unit * (function(z + unit * step) - function(z - unit * step)) / (2 * h)
    return made


LOSSES = {
    "squares": lambda z: np.sum(np.abs(z) ** 2),
    "phase": lambda z: np.sum(np.angle(z) * z.real),
    "spectrum": lambda z: np.sum(np.abs(np.fft.fft(np.exp(z))) ** 3) * 0.01,
    "solve": lambda z: np.abs(np.linalg.solve(np.outer(z, z.conj()) + np.diag([2.0, 3.0, 4.0]), z) @ z),
    "powers": lambda z: np.real(np.sum(z**3 / (z + 2j) - z ** (0.5 + 1j))),
    "loop": lambda z: np.abs(_julia(z[0], z[1] * 0.3, 4)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_steepest_ascent(name: str) -> None:
    function = LOSSES[name]
    want = _slopes(function, Z)
    np.testing.assert_allclose(pb.grad(function)(Z), want, rtol=1e-6, atol=1e-7)
    value, slope = pb.value_and_grad(function)(Z)
    np.testing.assert_allclose(value, function(Z), rtol=1e-12)
    np.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_second_derivatives(name: str) -> None:
    """The gradient of the gradient's product with a direction."""
    function, along = LOSSES[name], np.array([0.3 - 1j, 0.5 + 0.2j, -1 + 0.7j])

    def product(z: Any) -> Any:
        return np.real(np.vdot(along, pb.grad(function)(z)))

    np.testing.assert_allclose(pb.grad(product)(Z), _slopes(product, Z), rtol=2e-5, atol=1e-6)


def test_forward_mode_and_pullbacks() -> None:
    v = np.array([1.0, 1j, 2 - 1j])
    value, tangent = pb.jvp(lambda z: z**3, (Z,), (v,))
    np.testing.assert_allclose(value, Z**3)
    np.testing.assert_allclose(tangent, 3 * Z**2 * v)
    (pulled,) = pb.vjp(lambda z: z**3, Z)[1](v)
    np.testing.assert_allclose(pulled, np.conj(3 * Z**2) * v)


def test_jacobians_of_real_results() -> None:
    want = np.diag(2 * Z.conj())
    np.testing.assert_allclose(pb.jacrev(lambda z: np.real(z * z))(Z), want, atol=1e-15)
    np.testing.assert_allclose(pb.jacfwd(lambda z: np.real(z * z))(Z), want, atol=1e-15)


def test_lanes() -> None:
    made = pb.vmap(lambda z, x: z * x, in_axes=(-1, None))(np.ones((2, 3)) * 1j, 2.0)
    np.testing.assert_array_equal(made, np.full((3, 2), 2j))
    slopes = pb.vmap(pb.grad(lambda z: np.abs(z) ** 2))(Z)
    np.testing.assert_allclose(slopes, 2 * Z)


def test_a_step_against_the_gradient_goes_down() -> None:
    """What the convention is for."""
    target = np.array([1j, 2.0, -1 - 1j])
    loss, z = pb.value_and_grad(lambda z: np.sum(np.abs(np.fft.fft(z) - target) ** 2)), Z
    for _ in range(60):
        z = z - 0.1 * loss(z)[1]
    assert loss(z)[0] < 1e-12


def test_signs_at_the_ends() -> None:
    parts = [0.0, -0.0, 2.0, -np.inf, np.inf, np.nan]
    z = np.array([complex(x, y) for x in parts for y in parts])
    np.testing.assert_array_equal(pb.jit(lambda z: np.sign(z))(z), np.sign(z))


def test_infinite_ends_of_complex_interpolation_are_real() -> None:
    at, ends = [-1.0, 0.5, 9.0], {"left": np.inf, "right": -np.inf}
    made = pb.jit(lambda z: np.interp(at, [0, 1, 2], z, **ends))(Z)
    np.testing.assert_array_equal(made, np.interp(at, [0, 1, 2], Z, **ends))


def test_the_order_of_complex_numbers_with_nan() -> None:
    nan = np.nan
    z = np.array([5, complex(1, nan), complex(nan, 1), 2 + 1j, complex(nan, nan), complex(nan, -1), complex(0, nan)])
    np.testing.assert_array_equal(pb.jit(lambda z: np.sort(z))(z), np.sort(z))
    np.testing.assert_array_equal(pb.jit(lambda z: np.argsort(z))(z), np.argsort(z))
    kept = np.sort(z[[0, 3]])
    np.testing.assert_array_equal(pb.jit(lambda z: np.searchsorted(kept, z))(z), np.searchsorted(kept, z))
    assert pb.jit(lambda z: np.argmin(z))(z) == np.argmin(z) == 1
    np.testing.assert_array_equal(pb.jit(lambda z: np.max(z))(z), np.max(z))
    assert np.isnan(pb.jit(lambda z: np.median(z))(z)) and pb.jit(lambda z: np.nanmedian(z))(z) == np.nanmedian(z)


def test_powers_of_zero() -> None:
    y = np.array([1 + 1j, -1 + 1j, 1j, 0j, 2.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(pb.jit(lambda y: np.power(0j, y))(y), np.power(0j, y))


# ---- what is refused


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (lambda z: np.floor(z), TraceError, "np.floor of complex numbers"),
        (lambda z: np.quantile(z, 0.5), TraceError, "np.quantile of complex numbers"),
        (lambda z: np.max(z[:0]), ValueError, "over an axis without elements"),
        (lambda z: np.argmin(z[:0]), ValueError, "attempt to get argmin of an empty sequence"),
        (lambda z: np.interp(z, [0, 1], [0, 1]), TraceError, "np.interp at points of complex numbers"),
        (lambda z: np.nanargmax(z * np.nan), ValueError, "All-NaN slice encountered"),
        (lambda z: z.astype(float), TraceError, "would lose the imaginary parts"),
        (lambda z: np.linalg.qr(z[:, None] * z, "raw"), TraceError, "np.linalg.qr with mode='raw'"),
        (lambda z: np.fft.rfft(z), TypeError, "takes real values"),
        (lambda z: float(z[0]), TypeError, "not 'complex'"),
        (lambda z: np.roots(z * 0), ValueError, "leading coefficient is 0"),
        (lambda z: z[0] // 2, TraceError, "floor_divide"),
        (lambda z: np.fft.fft(z, axis=3), IndexError, "axis 3"),
        (lambda z: np.fft.fft(z, n=0), ValueError, "Invalid number of FFT data points"),
        (lambda z: np.fft.fft(z, norm="none"), ValueError, "Invalid norm value none"),  # type: ignore[arg-type]
        (lambda z: np.linalg.cholesky(z[:, None] * z), np.linalg.LinAlgError, "not positive definite"),
        (lambda z: np.linalg.solve(0 * z[:, None] * z, z), np.linalg.LinAlgError, "Singular matrix"),
    ],
)
def test_refusals(function: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        pb.jit(function)(Z)


@pytest.mark.parametrize(
    ("transform", "text"),
    [(pb.grad, "returned complex numbers"), (pb.jacrev, "the result is complex"), (pb.jacfwd, "the result is complex")],
)
def test_complex_results_have_no_gradient(transform: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        transform(lambda z: z[0] * z[1])(Z)


def test_hessians_of_complex_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="is complex"):
        pb.hessian(lambda z: np.sum(np.abs(z) ** 2))(Z)


def test_rules_and_out_take_real_numbers() -> None:
    @pb.custom_vjp
    def doubled(z: Any) -> Any:
        return z * 2

    doubled.defvjp(lambda z: (z * 2, None), lambda kept, ct: (ct * 2,))
    with pytest.raises(TraceError, match="takes or returns complex numbers"):
        pb.jit(doubled)(Z)
    with pytest.raises(TypeError, match="this part of the result is complex"):
        pb.jit(lambda z: z * 2)(Z, out=np.zeros(3, complex))
    with pytest.raises(TraceError, match="external has a rule of its own and takes"):
        pb.jit(lambda z: pb.external(lambda z: float(abs(z[0])), float)(z))(Z)


def test_types_are_pythons() -> None:
    def told(z: Any) -> Any:
        for kind in (complex, float):
            if isinstance(z, kind):
                return z * 2
        return z

    assert pb.jit(told)(1 + 1j) == 2 + 2j


def test_pythons_errors() -> None:
    with pytest.raises(ZeroDivisionError):
        pb.jit(lambda z: 1 / z)(0j)
    with pytest.raises(ZeroDivisionError):
        pb.jit(lambda z: z**-1)(0j)
    assert np.isnan(pb.jit(lambda z: 1 / z)(np.zeros(1, complex))).all()
