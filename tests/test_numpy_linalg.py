"""np.linalg under a trace where it has no result: NumPy's errors from compiled code, and what has no derivative."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import pullback as torch
from pullback.compiler.settings import settings
from pullback.runtime.transforms import grad, jit
from pullback.runtime.vmap import vmap

LA: Any = np.linalg
SL: Any = scipy.linalg
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])
GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize(
    ("function", "bad", "text"),
    [
        (lambda a: LA.inv(a), SINGULAR, "Singular matrix"),
        (lambda a: LA.solve(a, np.ones(2)), SINGULAR, "Singular matrix"),
        (lambda a: LA.matrix_power(a, -2), SINGULAR, "Singular matrix"),
        (lambda a: LA.tensorinv(a, ind=1), SINGULAR, "Singular matrix"),
        (lambda a: LA.cholesky(a), INDEFINITE, "Matrix is not positive definite"),
        (lambda a: LA.cholesky(a), np.full((2, 2), np.nan), "Matrix is not positive definite"),
        (lambda a: LA.cholesky(a), np.zeros((2, 2)), "Matrix is not positive definite"),
    ],
)
def test_what_has_no_result_is_numpys_error(function, bad, text, reference) -> None:
    with settings.override(reference=reference):
        for compiled in (jit(function), grad(lambda a: np.sum(function(a)))):
            compiled(GOOD)
            for given in (bad, np.stack([GOOD, bad])[1]):
                with pytest.raises(np.linalg.LinAlgError, match=text):
                    compiled(given)
            compiled(GOOD)  # and goes on afterwards
        with pytest.raises(np.linalg.LinAlgError, match=text):
            vmap(function)(np.stack([GOOD, bad]))


def test_infinite_and_missing_numbers_are_no_error() -> None:
    for a in (np.full((2, 2), np.nan), np.array([[np.nan, 1.0], [0.0, 1.0]])):
        for function in (LA.inv, lambda a: LA.solve(a, np.ones(2))):
            assert np.isnan(jit(function)(a))[np.isnan(function(a))].all()
    assert np.isnan(jit(LA.solve)(GOOD, np.array([np.nan, 1.0]))).all()


@pytest.mark.parametrize("n", [3, 6])
def test_what_is_singular_is_asked_of_the_pivots(n: int) -> None:
    """Results that are not finite are no sign of a singular matrix, and a right side of NaN does not hide one."""
    tiny = np.triu(np.full((n, n), 1e-200))
    zero = np.diag([*np.ones(n - 1), 0.0])
    solve = jit(lambda a, b: LA.solve(a, b))
    assert np.isnan(solve(tiny, np.full(n, 1e200))[0])
    for b in (np.ones(n), np.full(n, np.nan)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            solve(zero, b)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jit(lambda a: LA.inv(a))(np.stack([np.eye(n), zero, np.eye(n)]))
    both = jit(lambda a, b: (LA.solve(a, b), LA.solve(a, 2 * b)))
    both(np.eye(n), np.ones(n))
    assert both.ir("optimized").count(" = require ") == 1
    assert solve(np.zeros((0, 0)), np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_matrices_of_few_rows_are_singular_where_numpys_are(n: int) -> None:
    """Whichever pivot is the first that is zero, beside infinities too; no results are NaN altogether."""
    rng, b = np.random.default_rng(n), np.ones((n, 2))
    solve, inverse, tell = jit(LA.solve), jit(LA.inv), jit(LA.slogdet)
    for _ in range(150):
        a = rng.integers(-1, 2, (n, n)).astype(float)
        a[0, -1] = rng.choice([a[0, -1], np.inf])
        with np.errstate(all="ignore"):
            sign, logarithm = LA.slogdet(a)
        if np.isfinite(a).all():
            np.testing.assert_allclose(tell(a), (sign, logarithm), atol=1e-12)
            made = torch.linalg.solve_ex(torch.tensor(a), torch.tensor(b)).result.numpy()
            np.testing.assert_allclose(made, LA.solve(a, b) if sign else np.full((n, 2), np.nan), atol=1e-12)
        for function, given in ((solve, (a, b)), (inverse, (a,))):
            with pytest.raises(LA.LinAlgError) if sign == 0 else nullcontext():
                function(*given)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_matrices_of_any_size_have_the_same_meaning(n: int) -> None:
    """Up to four rows they are written out; zeros on the diagonal have to be swapped away."""
    rng = np.random.default_rng(n)
    for trial in range(6):
        a = rng.integers(-2, 3, (n, n)).astype(float)
        np.fill_diagonal(a, 0.0 if n > 1 and trial % 2 else 1.5)
        b, want = rng.normal(size=(n, 2)), LA.det(a)
        np.testing.assert_allclose(jit(LA.det)(a), want, atol=1e-12)
        if abs(want) > 1e-9:
            np.testing.assert_allclose(jit(LA.slogdet)(a), LA.slogdet(a), rtol=1e-12)
        if LA.cond(a) < 1e6:
            np.testing.assert_allclose(jit(LA.solve)(a, b), LA.solve(a, b), atol=1e-9)
            np.testing.assert_allclose(jit(LA.inv)(a), LA.inv(a), atol=1e-9)
            ct = rng.normal(size=(n, 2))
            of_a, of_b = grad(lambda a, b, ct=ct: np.sum(LA.solve(a, b) * ct), argnums=(0, 1))(a, b)
            np.testing.assert_allclose(of_b, LA.solve(a.T, ct), atol=1e-9)
            np.testing.assert_allclose(of_a, -LA.solve(a.T, ct) @ LA.solve(a, b).T, atol=1e-8)
        p = a @ a.T + np.eye(n)
        np.testing.assert_allclose(jit(LA.cholesky)(p), LA.cholesky(p), atol=1e-12)


def test_determinants_of_singular_matrices_have_derivatives() -> None:
    assert jit(LA.det)(SINGULAR) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(grad(LA.det)(SINGULAR), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)
    zero = np.zeros((3, 3))
    np.testing.assert_allclose(grad(LA.det)(zero), zero, atol=0)
    sign, size = jit(LA.slogdet)(zero)
    assert (sign, size) == (0.0, -np.inf)


@pytest.mark.parametrize("a", [SINGULAR, np.zeros((3, 3)), np.diag([1.0, 0, 0, 2]), np.ones((1, 1))])
def test_determinants_of_singular_matrices_have_further_derivatives(a: np.ndarray) -> None:
    n, rng = len(a), np.random.default_rng(1)
    x, y = rng.normal(size=(2, n, n))
    f = lambda t: LA.det(a + t * x + t * t * y)  # noqa: E731
    places = np.linspace(-1, 1, 2 * n + 9)
    want = np.polynomial.Polynomial.fit(places, [f(t) for t in places], 2 * n, [-1, 1], window=[-1, 1]).coef
    slope = grad(f)
    third = want[3] * 6 if n > 1 else 0.0
    np.testing.assert_allclose([grad(slope)(0.0), grad(grad(slope))(0.0)], [want[2] * 2, third], atol=1e-11)


def test_whole_numbers_and_empty_matrices_are_as_in_numpy() -> None:
    whole, empty = np.array([[2, 1], [1, 1]]), np.zeros((0, 0))
    for function in (LA.inv, LA.det, LA.norm, LA.eigvalsh):
        made, want = jit(function)(whole), function(whole)
        np.testing.assert_allclose(made, want)
        assert np.asarray(made).dtype == np.asarray(want).dtype
    for function in (LA.inv, LA.det, LA.cholesky):
        np.testing.assert_array_equal(jit(function)(empty), function(empty))


@pytest.mark.parametrize(
    ("function", "args", "error", "text"),
    [
        (LA.inv, (np.ones((2, 3)),), np.linalg.LinAlgError, "must be square"),
        (LA.solve, (np.ones(3), np.ones(3)), np.linalg.LinAlgError, "at least two-dimensional"),
        (LA.solve, (np.eye(3), np.ones(2)), ValueError, "do not fit"),
        (LA.solve, (np.ones((2, 3, 3)), np.ones((4, 3, 1))), ValueError, "do not broadcast"),
        (LA.lstsq, (np.ones((3, 2)), np.ones(4)), np.linalg.LinAlgError, "Incompatible dimensions"),
        (lambda a: LA.eigh(a, "X"), (np.eye(2),), ValueError, "UPLO argument must be 'L' or 'U'"),
        (lambda a: LA.norm(a, "max"), (np.eye(2),), ValueError, "Invalid norm order"),
        (lambda a: LA.norm(a[0], "fro"), (np.eye(2),), ValueError, "Invalid norm order"),
        (lambda a: LA.norm(a, axis=(0, 1, 2)), (np.ones((2, 2, 2)),), ValueError, "number of dimensions"),
        (lambda a: LA.qr(a, "economic"), (np.eye(2),), ValueError, "Unrecognized mode"),
        (lambda a: LA.matrix_power(a, 1.5), (np.eye(2),), TypeError, "exponent must be an integer"),
        (LA.eig, (np.ones((2, 3)),), np.linalg.LinAlgError, "must be square"),
        (LA.eigvals, (np.full((2, 2), np.nan),), np.linalg.LinAlgError, "infs or NaNs"),
        (LA.eigh, (np.full((3, 3), np.nan),), np.linalg.LinAlgError, "Eigenvalues did not converge"),
        (LA.svd, (np.full((2, 3), np.nan),), np.linalg.LinAlgError, "SVD did not converge"),
        (LA.svdvals, (np.where(np.eye(3) > 0, np.nan, 0.0),), np.linalg.LinAlgError, "SVD did not converge"),
        (np.gcd, (4.0, 2.0), TypeError, r"np.gcd does not take.*\n.*\n.*astype\(int\)"),
    ],
)
def test_bad_arguments_are_refused_as_in_numpy(function, args, error, text) -> None:
    with pytest.raises(error, match=text):
        jit(function)(*args)


@pytest.mark.parametrize(
    ("function", "args", "error", "text"),
    [
        (SL.cholesky, (INDEFINITE,), np.linalg.LinAlgError, "not positive definite"),
        (SL.solve, (SINGULAR, np.ones(2)), np.linalg.LinAlgError, "Singular matrix"),
        (SL.solve_triangular, (np.array([[1.0, 2.0], [0.0, 0.0]]), np.ones(2)), np.linalg.LinAlgError, "singular"),
        (SL.solve_triangular, (GOOD, np.ones(3)), ValueError, "are incompatible"),
        (lambda a: SL.solve(a, np.ones(2), assume_a="banded"), (GOOD,), TypeError, "assume_a='banded'"),
        (lambda a: SL.eigh(a, type=2), (GOOD,), TypeError, "type=2"),
        (lambda a: SL.qr(a, mode="thin"), (GOOD,), ValueError, "Mode argument"),
        (lambda a: SL.qz(a, a), (GOOD,), TypeError, "pullback.external"),
        (lambda a: SL.schur(a, sort=np.isfinite), (GOOD,), TypeError, "sort as a function"),
        (lambda a: SL.schur(a, sort="left"), (GOOD,), ValueError, "sort parameter must be"),
        (lambda a: SL.schur(a, output="upper"), (GOOD,), ValueError, "'real', or 'complex'"),
        (lambda a: SL.rq(a, mode="thin"), (GOOD,), ValueError, "Mode argument"),
        (lambda a: SL.orth(a), (SINGULAR,), np.linalg.LinAlgError, "less than full rank"),
        (lambda a: SL.null_space(a), (SINGULAR,), np.linalg.LinAlgError, "less than full rank"),
        (lambda a: SL.subspace_angles(a, a), (SINGULAR,), np.linalg.LinAlgError, "less than full rank"),
        (lambda a: SL.subspace_angles(a, a[:1]), (GOOD,), ValueError, "same number of rows"),
        (lambda a: SL.funm(a, np.sqrt), (-GOOD,), np.linalg.LinAlgError, r"call it with a \+ 0j"),
        (lambda a: SL.funm(a, np.sqrt, disp=False), (GOOD,), TypeError, "disp=False"),
    ],
)
def test_scipys_functions_are_refused_where_they_have_no_meaning(function, args, error, text) -> None:
    with pytest.raises(error, match=text):
        jit(function)(*args)
    assert isinstance(SL.cholesky(GOOD), np.ndarray)  # as before, outside of traces


def test_vectors_that_only_span_a_space_have_the_derivative_of_the_space() -> None:
    """A result that depends on how they span it is an error of the call; of one vector no result does."""
    tall = np.array([[1.0, 0.2], [0.3, 2.0], [0.5, -0.4], [0.1, 0.7]])
    inside = grad(lambda a: np.sum(LA.svd(a)[0][:, :2] ** 3))(tall)
    np.testing.assert_allclose(inside, grad(lambda a: np.sum(LA.svd(a, False)[0] ** 3))(tall), rtol=1e-10)
    for whole in (lambda a: LA.svd(a)[0], lambda a: LA.qr(a, "complete")[0], lambda a: SL.null_space(a.T)):
        for of in (whole, lambda a, whole=whole: abs(whole(a + 1j * a[::-1]))):
            with pytest.raises(NotImplementedError, match="have no derivative but that of the space"):
                grad(lambda a, of=of: np.sum(of(a) ** 3))(tall)
    with pytest.raises(NotImplementedError, match="phases of Schur's vectors"):
        grad(lambda a: np.sum(SL.schur(a + 1j * a[::-1])[0].real))(tall[:2])


def test_forms_of_equal_eigenvalues_have_no_derivative() -> None:
    """It is NaN, where an eigenvalue's own would be a limit of others."""
    for f in (lambda a: np.sum(SL.schur(a)[1]), lambda a: np.sum(SL.funm(a, np.exp))):
        assert np.isnan(grad(f)(np.eye(3))).any()
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert not np.isfinite(grad(lambda a: np.sum(SL.schur(a)[1] ** 3))(turn)).all()
    assert not np.isfinite(grad(lambda a: np.sum(SL.hessenberg(a, True)[1] ** 3))(np.diag([1.0, 2.0, 3.0]))).all()


def test_only_the_triangle_that_is_read_has_a_gradient() -> None:
    for of, upper in (
        (lambda a: np.sum(LA.cholesky(a)), False),
        (lambda a: np.sum(LA.eigvalsh(a, "U") ** 2), True),
    ):
        slope = grad(of)(GOOD)
        assert (np.tril(slope, -1) == 0).all() if upper else (np.triu(slope, 1) == 0).all()
        for i, j in ((0, 0), (1, 0) if not upper else (0, 1)):
            step = np.zeros((2, 2))
            step[i, j] = 1e-6
            assert slope[i, j] == pytest.approx((of(GOOD + step) - of(GOOD - step)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize(
    "factor",
    [
        lambda a: LA.cholesky(a),
        lambda a: LA.cholesky(a, upper=True),
        lambda a: np.swapaxes(LA.cholesky(a), -1, -2),
    ],
)
def test_a_cholesky_factor_is_solved_for_as_a_triangle(factor: Any, rng: np.random.Generator) -> None:
    a, b, along = rng.normal(size=(2, 9, 9)), rng.normal(size=(2, 9, 3)), rng.normal(size=(2, 9, 9))
    a = a @ np.swapaxes(a, 1, 2) + np.eye(9)

    def f(a: Any) -> Any:
        return np.sum(np.sin(LA.solve(factor(a), b)))

    def slope(a: Any) -> Any:
        return np.sum(grad(f)(a) * along)

    compiled = jit(lambda a: LA.solve(factor(a), b))
    np.testing.assert_allclose(compiled(a), LA.solve(factor(a), b), rtol=1e-12, atol=1e-13)
    assert "trsm" in compiled.ir("optimized") and "getrf" not in compiled.ir("optimized")
    for function, derivative in ((f, slope(a)), (slope, np.sum(grad(slope)(a) * along))):
        rise = (function(a + 1e-6 * along) - function(a - 1e-6 * along)) / 2e-6
        np.testing.assert_allclose(derivative, rise, rtol=1e-6, atol=1e-6)


def test_what_is_made_of_no_array_is_made_again_between_calls(rng: np.random.Generator) -> None:
    """Masks and constants on both sides of a call of LAPACK are in none of the arrays that the kernel keeps."""
    a = rng.normal(size=(9, 9))
    f = jit(lambda a: np.tril(LA.inv(np.tril(a) + 9 * np.eye(9)) * 2.0) + np.tril(a, -1))
    want = np.tril(LA.inv(np.tril(a) + 9 * np.eye(9)) * 2.0) + np.tril(a, -1)
    np.testing.assert_allclose(f(a), want, rtol=1e-12, atol=1e-15)
    text = f.ir("loops")
    assert "scratch" in text and not any("bool[" in line or "i64[9,9]" in line for line in text.splitlines())


@pytest.mark.parametrize(
    "part", [lambda x: np.diag(x[:1600].reshape(40, 40)), lambda x: x[3::40], lambda x: x[::-50], lambda x: x[5:5:20]]
)
def test_slopes_of_far_strides_are_put_among_zeros(part: Any, rng: np.random.Generator) -> None:
    x, along = rng.normal(size=2000), rng.normal(size=2000)

    def f(x: Any) -> Any:
        return np.sum(np.sin(part(x)) * np.sum(part(x) ** 2))

    def slope(x: Any) -> Any:
        return np.sum(grad(f)(x) * along)

    for function, derivative in ((f, slope(x)), (slope, np.sum(grad(slope)(x) * along))):
        rise = (function(x + 1e-5 * along) - function(x - 1e-5 * along)) / 2e-5
        np.testing.assert_allclose(derivative, rise, rtol=1e-6, atol=1e-6)
    lanes = rng.normal(size=(3, 2000))
    np.testing.assert_allclose(vmap(grad(f))(lanes), np.stack([grad(f)(row) for row in lanes]), rtol=1e-12, atol=1e-13)
    compiled = grad(f)
    compiled(x)
    assert "mod(" not in compiled.ir("loops")
