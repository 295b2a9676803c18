"""Factorisations and functions of matrices: against NumPy and SciPy, derivatives by differences, failures."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import pullback as torch
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, evaluate
from pullback.compiler.ir.text import parse, show
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.external import calls_of
from pullback.compiler.ops.library import Library
from pullback.compiler.ops.linalg.factor import geqrf
from pullback.compiler.ops.linalg.solutions import cofactor, inverse
from pullback.compiler.passes.pipeline import optimize

L = torch.linalg
RNG = np.random.default_rng(2)
SQUARE, TALL, WIDE = RNG.normal(size=(2, 3, 3)), RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 3, 4))
DEFINITE = SQUARE @ np.swapaxes(SQUARE, -1, -2) + np.eye(3)
RIGHT = RNG.normal(size=(2, 3, 2))


def leaf(a: Any) -> torch.Tensor:
    return torch.tensor(a, dtype=torch.float64, requires_grad=True)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "inv": (L.inv, (SQUARE,)),
    "solve": (L.solve, (SQUARE, RIGHT)),
    "solve from the right": (lambda a, b: L.solve(a, b.mT, left=False), (SQUARE, RIGHT)),
    "solve one matrix for many": (L.solve, (SQUARE[0], RIGHT)),
    "solve_triangular": (lambda a, b: L.solve_triangular(a, b, upper=True), (DEFINITE, RIGHT)),
    "unit triangular": (lambda a, b: L.solve_triangular(a, b, upper=False, unitriangular=True), (SQUARE, RIGHT)),
    "det": (L.det, (SQUARE,)),
    "slogdet": (lambda a: L.slogdet(a)[1], (SQUARE,)),
    "cholesky": (lambda a: L.cholesky(a @ a.mT + torch.eye(3, dtype=torch.float64)), (SQUARE,)),
    "cholesky_solve": (lambda b, a: torch.cholesky_solve(b, torch.tril(a)), (RIGHT, DEFINITE)),
    "cholesky_inverse": (lambda a: torch.cholesky_inverse(torch.triu(a), upper=True), (DEFINITE,)),
    "pinv tall": (L.pinv, (TALL,)),
    "pinv wide": (L.pinv, (WIDE,)),
    "lstsq": (lambda a, b: L.lstsq(a, b)[0], (TALL, RNG.normal(size=(2, 4, 2)))),
    "qr tall": (lambda a: sum(p.sum() + (p**2).sum() for p in L.qr(a)), (TALL,)),
    "qr wide": (lambda a: sum(p.sum() + (p**2).sum() for p in L.qr(a)), (WIDE,)),
    "eigh": (lambda a: sum((abs(p) ** 3).sum() for p in L.eigh(a + a.mT)), (SQUARE,)),
    "eig": (lambda a: sum((p.abs() ** 3).sum() for p in L.eig(a)), (SQUARE,)),
    "svd tall": (lambda a: sum((abs(p) ** 3).sum() for p in L.svd(a, False)), (TALL,)),
    "svd wide": (lambda a: sum((abs(p) ** 3).sum() for p in L.svd(a, False)), (WIDE,)),
    "svdvals": (L.svdvals, (WIDE,)),
    "lu": (lambda a: sum((p**2).sum() for p in L.lu(a)[1:]), (SQUARE,)),
    "lu tall": (lambda a: sum((p**2).sum() for p in L.lu(a)[1:]), (TALL,)),
    "lu wide": (lambda a: sum((p**2).sum() for p in L.lu(a)[1:]), (WIDE,)),
    "lu_solve": (lambda a, b: L.lu_solve(*L.lu_factor(a), b), (SQUARE, RIGHT)),
    "lu_solve adjoint": (lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True), (SQUARE, RIGHT)),
    "matrix_exp": (L.matrix_exp, (SQUARE,)),
    "matrix_exp of large ones": (lambda a: L.matrix_exp(a * 4), (SQUARE,)),
    "matrix_power": (lambda a: L.matrix_power(a, 5), (SQUARE,)),
    "matrix_power of the inverse": (lambda a: L.matrix_power(a, -2), (SQUARE,)),
    "householder_product": (lambda a, t: L.householder_product(a, t), (TALL, RNG.normal(size=(2, 2)))),
    "cond": (L.cond, (SQUARE,)),
    "nuclear": (lambda a: L.matrix_norm(a, "nuc"), (WIDE,)),
    "cross": (lambda a, b: L.cross(a, b.mT[:, :1]), (SQUARE, RIGHT)),
    "multi_dot": (lambda a, b: L.multi_dot([a[0], b[0], b[1].mT]), (SQUARE, RIGHT)),
    "tensorinv": (lambda a: L.tensorinv(a.reshape(2, 2, 4), 2), (RNG.normal(size=(4, 4)),)),
    "tensorsolve": (lambda a: L.tensorsolve(a.reshape(2, 2, 4), a[:2, :2]), (RNG.normal(size=(4, 4)),)),
    "trace": (torch.trace, (TALL[0],)),
}  # fmt: skip


def scalar(function: Callable[..., Any]) -> Callable[..., Any]:
    """A weighted sum of the results."""

    def of(*args: Any) -> Any:
        made = function(*args)
        weights = torch.tensor(np.cos(np.arange(made.numel())).reshape(made.shape))
        return (made * weights).sum()

    return of


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_by_differences(name: str) -> None:
    function, given = FUNCTIONS[name]
    of, rng = scalar(function), np.random.default_rng(8)
    args = [leaf(a) for a in given]
    along = [rng.normal(size=a.shape) for a in given]

    def at(h: float) -> list[torch.Tensor]:
        return [leaf(a + h * v) for a, v in zip(given, along, strict=True)]

    def slope(args: list[torch.Tensor]) -> Any:
        grads = torch.autograd.grad(of(*args), args, create_graph=True)
        return sum((g * torch.tensor(v)).sum() for g, v in zip(grads, along, strict=True))

    h = 1e-4
    want = (8 * (of(*at(h)) - of(*at(-h))) - (of(*at(2 * h)) - of(*at(-2 * h)))) / (12 * h)
    first = slope(args)
    assert abs(first.item() - want.item()) <= 2e-7 * (1 + abs(want.item()))
    if not first.requires_grad:
        return
    grads = torch.autograd.grad(first, args, allow_unused=True)
    second = sum(float((g * torch.tensor(v)).sum()) for g, v in zip(grads, along, strict=True) if g is not None)
    want = (8 * (slope(at(h)) - slope(at(-h))) - (slope(at(2 * h)) - slope(at(-2 * h)))).item() / (12 * h)
    assert abs(second - want) <= 2e-6 * (1 + abs(want))


LANES = ["inv", "solve", "cholesky", "qr tall", "svdvals", "lu", "matrix_exp", "eigh", "pinv tall"]


@pytest.mark.parametrize("name", LANES)
def test_lanes_are_the_loop(name: str) -> None:
    function, given = FUNCTIONS[name]
    args = [torch.tensor(a) for a in given]
    whole = torch.func.vmap(function)(*args)
    parts = torch.stack([function(*(a[k] for a in args)) for k in range(2)])
    np.testing.assert_allclose(whole.numpy(), parts.numpy(), rtol=1e-12, atol=1e-13)


def test_values_are_those_of_numpy_and_scipy() -> None:
    made = L.matrix_exp(torch.tensor(SQUARE * 9)).numpy()
    np.testing.assert_allclose(made, scipy.linalg.expm(SQUARE * 9), rtol=1e-10)
    np.testing.assert_allclose(L.pinv(torch.tensor(WIDE)).numpy(), np.linalg.pinv(WIDE), rtol=1e-10, atol=1e-12)
    p, low, up = (t.numpy() for t in L.lu(torch.tensor(TALL)))
    np.testing.assert_allclose(p @ low @ up, TALL, rtol=1e-13, atol=1e-13)
    want = scipy.linalg.lu(TALL[0])
    for made, w in zip((p[0], low[0], up[0]), want, strict=True):
        np.testing.assert_allclose(made, w, rtol=1e-12, atol=1e-13)
    q, _ = L.qr(torch.tensor(TALL), "complete")
    np.testing.assert_allclose((q @ q.mT).numpy(), np.broadcast_to(np.eye(4), (2, 4, 4)), atol=1e-14)


def test_the_cofactors_of_singular_matrices() -> None:
    """The gradient of a determinant needs no inverse."""
    a = leaf([[1.0, 2.0], [2.0, 4.0]])
    torch.det(a).backward()
    assert a.grad is not None
    np.testing.assert_allclose(a.grad.numpy(), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-14)
    rank_one = np.outer([1.0, 2, 3], [1.0, -1, 2])
    np.testing.assert_allclose(cofactor.evaluate([rank_one], {}, ())[0], 0, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: L.inv(torch.zeros(2, 2)), r"linalg.inv: the matrix is singular: element 1 "),
        (lambda: L.inv(torch.stack([torch.eye(2), torch.ones(2, 2)])), r"\(Batch element 1\): .*element 2 "),
        (lambda: L.inv_ex(torch.zeros(2, 2), check_errors=True), "singular"),
        (lambda: L.solve(torch.ones(2, 2), torch.ones(2)), "singular"),
        (lambda: L.cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]])), "leading minor of order 2"),
        (lambda: L.cholesky_ex(-torch.eye(2)[None], check_errors=True), r"\(Batch element 0\): .*order 1"),
        (lambda: L.svd(torch.tensor([[float("inf"), 1.0]])), "not finite"),
    ],
)
def test_what_does_not_exist_is_an_error_at_the_call(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(L.LinAlgError, match=text):
        call()


def test_one_bad_matrix_leaves_the_others() -> None:
    a = torch.stack([torch.eye(2), torch.zeros(2, 2), 2 * torch.eye(2)])
    made, info = L.inv_ex(a)
    assert info.tolist() == [0, 1, 0] and torch.isnan(made[1]).all() and made[2, 0, 0].item() == 0.5
    low, info = L.cholesky_ex(torch.stack([torch.eye(2), -torch.eye(2)]))
    assert info.tolist() == [0, 1] and low[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: L.inv(torch.ones(2, 3)), "batches of square matrices, but they are 2 by 3"),
        (lambda: L.inv(torch.ones(3)), "at least 2 dimensions, got 1"),
        (lambda: L.det(torch.ones(2, 2, dtype=torch.int64)), "Got Long"),
        (lambda: L.solve(torch.eye(2), torch.ones(3)), "Incompatible shapes"),
        (lambda: L.solve(torch.eye(2), torch.ones(2, dtype=torch.float64)), "same dtype"),
        (lambda: L.qr(torch.eye(2), "x"), "got 'x'"),
        (lambda: L.eigh(torch.eye(2), "X"), "UPLO"),
        (lambda: L.multi_dot([torch.ones(2, 3), torch.ones(2, 3)]), "tensors 0 and 1"),
        (lambda: L.matrix_norm(torch.eye(2), 5), "Order 5 not supported"),
        (lambda: L.cross(torch.ones(2), torch.ones(2)), "must have length 3"),
        (lambda: L.lu(torch.eye(2), pivot=False), "expected pivot=True"),
    ],
)
def test_wrong_arguments(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


def test_library_operations_in_graphs() -> None:
    """They print and parse, are calls of LAPACK or else of Python, and give the same in native code."""
    b = Builder("f", [Type("f64", (6, 6))])
    given = np.linspace(-1, 1, 36).reshape(6, 6) + 3 * np.eye(6)
    packed, scales = b.emit(geqrf, *b.params)
    (made,) = b.emit(inverse, packed)
    graph = b.finish([made, scales])
    assert show(parse(show(graph))) == show(graph)
    assert sorted(calls_of(optimize(graph))) == ["geqrf"]
    for got, want in zip(compile_graph(graph).run([given]), evaluate(graph, [given]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert isinstance(inverse, Library)


def test_results_that_have_no_gradient() -> None:
    a = leaf(TALL)
    q, _ = L.qr(a, "complete")
    with pytest.raises(TypeError, match="'complete' and there are more rows"):
        q.sum().backward()
        assert a.grad is not None and a.grad.tolist()


def test_traces_of_matrices_replay() -> None:
    found = []
    for _ in range(3):
        a = leaf(DEFINITE)
        loss = (L.cholesky_ex(a)[0] @ a).sum() + L.slogdet(a)[1].sum()
        loss.backward()
        assert a.grad is not None
        found.append(a.grad.numpy().copy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    np.testing.assert_array_equal(found[1], found[2])
