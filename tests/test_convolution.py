"""Convolutions: the primitive, `conv`, NumPy's functions, pooling and layers, against plain loops and differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pullback as torch
from pullback import conv, grad, hessian, jit, nn, value_and_grad
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, Graph, evaluate
from pullback.compiler.ir.text import show
from pullback.compiler.ir.types import Size, Type, type_of
from pullback.compiler.ops.convolve import correlate
from pullback.compiler.passes import adjoint
from tests.compare import assert_all_close
from tests.exact import bounds
from tests.test_primitives import assert_derivative

F = nn.functional
QUICK = settings(
    max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def plain(x: np.ndarray, w: np.ndarray, stride: Any, padding: Any, dilation: Any, groups: int) -> np.ndarray:
    """The definition, one window at a time."""
    x = np.pad(x, [(0, 0), (0, 0), *padding])
    sizes = [
        (n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
    each, mine = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        first = o // mine * each
        for at in np.ndindex(*sizes):
            cut = [slice(p * s, p * s + (k - 1) * d + 1, d) for p, s, k, d in _moves(at, stride, w, dilation)]
            out[(slice(None), o, *at)] = np.sum(
                x[(slice(None), slice(first, first + each), *cut)] * w[o], axis=tuple(range(1, x.ndim))
            )
    return out


def _moves(at: Any, stride: Any, w: np.ndarray, dilation: Any) -> Any:
    return zip(at, stride, w.shape[2:], dilation, strict=True)


@st.composite
def layers(draw: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Shapes of x and w, and stride, padding, dilation and groups that fit."""
    rank = draw(st.integers(1, 2))
    few = st.integers(1, 3)
    stride, dilation, window = (tuple(draw(few) for _ in range(rank)) for _ in "sdk")
    padding = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(rank))
    reach = [(k - 1) * d + 1 for k, d in zip(window, dilation, strict=True)]
    spare = [draw(st.integers(0, 4)) for _ in range(rank)]
    sizes = tuple(max(r - lo - hi, 0) + n for r, (lo, hi), n in zip(reach, padding, spare, strict=True))
    groups, each, mine = draw(st.integers(1, 2)), draw(few), draw(st.integers(1, 2))
    x = (draw(st.integers(1, 2)), groups * each, *(max(n, 1) for n in sizes))
    return x, (groups * mine, each, *window), stride, padding, dilation, groups


# ---- the primitive


@QUICK
@given(layers())
def test_derivatives_of_any_layer_to_second_order(layer: tuple[Any, ...]) -> None:
    """Each adjoint is native code's too."""
    (batch, channels, *sizes), (outputs, each, *window), stride, padding, dilation, groups = layer
    wide = [n + low + high for n, (low, high) in zip(sizes, padding, strict=True)]
    rng = np.random.default_rng(5)
    args = [
        rng.normal(size=(batch, groups, channels // groups, *wide)),
        rng.normal(size=(groups, outputs // groups, each, *window)),
    ]
    b = Builder("layer", [type_of(a) for a in args])
    graph = b.finish([correlate(b, *b.params, stride=stride, dilation=dilation)])
    for _ in range(2):
        graph, args = assert_derivative(graph, args, rng)
        assert_native(graph, args)


def assert_native(graph: Graph, args: list[np.ndarray]) -> None:
    floors = [2 * f for f in bounds(graph, args)[1]]
    assert_all_close(compile_graph(graph).run(args), evaluate(graph, args), floors=floors)


def test_adjoints_are_correlations_again() -> None:
    """To any order: nothing but the primitive, and what moves elements."""
    x, w = Type("f64", (2, 1, 3, 9, 8)), Type("f64", (1, 4, 3, 3, 2))
    b = Builder("layer", [x, w], "xw")
    graph = b.finish([correlate(b, *b.params, stride=(2, 1), dilation=(1, 3))])
    for _ in range(3):
        graph = adjoint(graph, (0, 1))
    names = {op.prim.name for op in graph.body}
    assert names <= {"correlate", "pad", "slice", "transpose", "add", "const"} and "correlate" in names


def test_the_reduction_has_no_guards() -> None:
    """Rows of padded input are read as they lie, so that they can be vectors."""
    x, w = Type("f32", (4, 1, 3, 18, 18)), Type("f32", (1, 8, 3, 3, 3))
    b = Builder("layer", [x, w], "xw")
    graph = b.finish([correlate(b, *b.params, stride=(1, 1), dilation=(1, 1))])
    text = compile_graph(graph).text("loops")
    assert " if " not in text and "sum (x[" in text, text


def test_sizes_can_stay_symbolic() -> None:
    n, m = Size.named("n"), Size.named("m")
    b = Builder("layer", [Type("f64", (n, 1, 3, m)), Type("f64", (1, 2, 3, 5))], "xw")
    made = correlate(b, *b.params, stride=(1,), dilation=(2,))
    assert str(made.type) == "f64[n,1,2,m-8]"
    joint = adjoint(b.finish([made]), (0, 1))
    assert [str(r.type) for r in joint.results[1:]] == ["f64[n,1,3,m]", "f64[1,2,3,5]"], show(joint)
    with pytest.raises(TypeError, match="only 1 can stay symbolic"):
        correlate(b, *b.params, stride=(2,), dilation=(2,))


@pytest.mark.parametrize(
    ("x", "w", "attrs", "said"),
    [
        ("f64[1,1,3]", "f64[1,1,3]", ((1,), (1,)), "a stride and dilation for each n"),
        ("f64[1,1,3,4]", "f64[1,1,3]", ((1,), (1,)), r"got f64\[1,1,3,4\], f64\[1,1,3\]"),
        ("f64[1,1,3,4]", "f32[1,1,3,4]", ((1,), (1,)), "of one dtype"),
        ("bool[1,1,3,4]", "bool[1,1,3,4]", ((1,), (1,)), "takes numbers"),
        ("f64[1,2,3,4]", "f64[1,1,3,4]", ((1,), (1,)), "groups 2 and 1"),
        ("f64[1,1,3,4]", "f64[1,1,2,4]", ((1,), (1,)), "channels 3 and 2"),
        ("f64[1,1,3,4]", "f64[1,1,3,2]", ((0,), (1,)), "at least 1"),
        ("f64[1,1,3,4]", "f64[1,1,3,2]", ((1,), (-1,)), "at least 1"),
        ("f64[1,1,3,4]", "f64[1,1,3,3]", ((1,), (2,)), "reaches over 5 elements does not fit an axis of 4"),
        ("f64[1,1,3,4]", "f64[1,1,3,0]", ((1,), (1,)), "does not fit"),
    ],
)
def test_what_does_not_fit_is_refused(x: str, w: str, attrs: Any, said: str) -> None:
    types = [Type(t.partition("[")[0], tuple(map(int, t.partition("[")[2][:-1].split(",")))) for t in (x, w)]
    b = Builder("layer", types)
    with pytest.raises(TypeError, match=said):
        correlate(b, *b.params, stride=attrs[0], dilation=attrs[1])


# ---- conv


@QUICK
@given(layers())
def test_conv_is_its_definition(layer: tuple[Any, ...]) -> None:
    xs, ws, stride, padding, dilation, groups = layer
    rng = np.random.default_rng(7)
    x, w = rng.normal(size=xs), rng.normal(size=ws)
    named: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    want = plain(x, w, *named.values())
    np.testing.assert_allclose(conv(x, w, **named), want, rtol=1e-12, atol=1e-12)

    def f(x: Any, w: Any) -> Any:
        return conv(x, w, **named)

    np.testing.assert_allclose(jit(f)(x, w), want, rtol=1e-12, atol=1e-12)
    weight = rng.normal(size=want.shape)
    dx, dw = grad(lambda x, w: np.sum(f(x, w) * weight), argnums=(0, 1))(x, w)
    along = rng.normal(size=xs), rng.normal(size=ws)
    slope = np.sum(weight * (plain(along[0], w, *named.values()) + plain(x, along[1], *named.values())))
    assert np.sum(dx * along[0]) + np.sum(dw * along[1]) == pytest.approx(slope, rel=1e-11, abs=1e-11)


def test_ways_to_say_padding() -> None:
    x, w = np.arange(30.0).reshape(1, 1, 5, 6), np.arange(6.0).reshape(1, 1, 3, 2)
    for padding, pairs in (
        (1, ((1, 1), (1, 1))),
        ((2, 0), ((2, 2), (0, 0))),
        (((1, 2), (0, 1)), ((1, 2), (0, 1))),
        ("same", ((1, 1), (0, 1))),
        ("valid", ((0, 0), (0, 0))),
    ):
        want = plain(x, w, (1, 1), pairs, (1, 1), 1)
        np.testing.assert_array_equal(conv(x, w, padding=padding), want)
        np.testing.assert_array_equal(jit(lambda x, w, p=padding: conv(x, w, padding=p))(x, w), want)
    assert conv(x, w, padding="same").shape == x.shape
    np.testing.assert_array_equal(conv(x[0], w), conv(x, w)[0])


def test_dtypes_are_numpys() -> None:
    x, w = np.ones((1, 1, 4)), np.ones((1, 1, 2))
    for a, b in (("f4", "f4"), ("f4", "f8"), ("i4", "f4"), ("i4", "i8"), ("?", "i4")):
        want = np.result_type(a, b)
        assert conv(x.astype(a), w.astype(b)).dtype == want
        assert jit(lambda x, w: conv(x, w))(x.astype(a), w.astype(b)).dtype == want
    assert conv([[1.0, 2.0]], [[[1.0]]]).tolist() == [[1.0, 2.0]]


def test_a_network_of_convolutions() -> None:
    """By central differences, in f64, and to second order along a direction."""
    rng = np.random.default_rng(3)
    x, w1, b1, w2 = (rng.normal(size=s) for s in ((2, 1, 8, 8), (4, 1, 3, 3), (4,), (3, 4, 3, 3)))

    def loss(w1: Any, b1: Any, w2: Any) -> Any:
        h = np.tanh(conv(x, w1, padding=1) + b1[:, None, None])
        h = h.reshape(2, 4, 4, 2, 4, 2).mean((3, 5))
        return np.sum(np.tanh(conv(h, w2, stride=2, padding="valid")) ** 2)

    assert value_and_grad(loss)(w1, b1, w2)[0] == pytest.approx(loss(w1, b1, w2), rel=1e-12)
    torch.check(loss, w1, b1, w2, order=2, elements=12)


def test_hessian_of_a_convolution() -> None:
    x = np.array([[1.0, -2.0, 0.5, 3.0]])
    made = hessian(lambda w: np.sum(conv(x, w) ** 2) / 2)(np.zeros((1, 1, 2)))
    rows = np.array([[1.0, -2.0], [-2.0, 0.5], [0.5, 3.0]])
    np.testing.assert_allclose(made.reshape(2, 2), rows.T @ rows)


X, W = np.zeros((2, 3, 8, 8)), np.zeros((4, 3, 3, 3))


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: conv(x, np.zeros((3, 3))), r"at least one axis k, got shape \(3, 3\)"),
        (lambda x: conv(x[0, 0], W), r"x of shape \(8, 8\) does not fit w of shape \(4, 3, 3, 3\)"),
        (lambda x: conv(x, W[:, :2]), "x has 3 channels"),
        (lambda x: conv(x, W, groups=3), "for 3 groups"),
        (lambda x: conv(x, W[:3, :1], groups=2), "for 2 groups"),
        (lambda x: conv(x, W, groups=0), "groups is 0"),
        (lambda x: conv(x, W, stride=0), "stride is 0"),
        (lambda x: conv(x, W, stride=(1, 1, 1)), r"stride is \(1, 1, 1\)"),
        (lambda x: conv(x, W, stride=1.5), "stride is 1.5"),
        (lambda x: conv(x, W, dilation=-1), "dilation is -1"),
        (lambda x: conv(x, W, padding=-1), "padding is -1"),
        (lambda x: conv(x, W, padding="full"), "padding is 'full'"),
        (lambda x: conv(x, W, padding=((1, 1),)), "padding has 1 pairs, expected 2"),
        (lambda x: conv(x, W, padding="same", stride=2), "padding is 'same' where stride is 2"),
        (lambda x: conv(x, W, dilation=4), "a window over 9 elements does not fit 8"),
        (lambda x: conv(x > 0, W > 0), "takes numbers"),
    ],
)
def test_what_conv_refuses(f: Callable[..., Any], said: str) -> None:
    """Outside of a transform and inside, with the user's line."""
    for each in (f, jit(f)):
        with pytest.raises(ValueError, match=said) as caught:
            each(X)
        assert isinstance(caught.value, TypeError) and "test_convolution.py:" in str(caught.value)
        assert "fix: " in str(caught.value)


# ---- NumPy's


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_numpys_functions(function: Any, mode: str) -> None:
    rng = np.random.default_rng(2)
    for n, k in ((7, 3), (3, 7), (4, 4), (8, 2), (2, 8), (1, 1), (1, 5), (40, 33)):
        a, v = rng.normal(size=n), rng.normal(size=k)
        np.testing.assert_allclose(jit(lambda a, v: function(a, v, mode))(a, v), function(a, v, mode), rtol=1e-12)
        slopes = grad(lambda a, v: np.sum(function(a, v, mode) ** 2), argnums=(0, 1))(a, v)
        for slope, left, right in ((slopes[0], np.eye(n), [v] * n), (slopes[1], [a] * k, np.eye(k))):
            moved = [function(p, q, mode) for p, q in zip(left, right, strict=True)]
            want = [2 * np.sum(function(a, v, mode) * m) for m in moved]
            np.testing.assert_allclose(slope, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kinds", ["ii", "?i", "??", "fd", "id"])
def test_numpys_dtypes(kinds: str) -> None:
    a, v = (np.array(x).astype(k) for x, k in zip(([1, 0, 3, 1], [2, 0, 1]), kinds, strict=True))
    for function in (np.convolve, np.correlate):
        got, want = jit(lambda a, v, f=function: f(a, v, "full"))(a, v), function(a, v, "full")
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_what_numpys_functions_refuse() -> None:
    x = np.ones(4)
    most: Any = "most"
    for f, said in (
        (lambda x: np.convolve(x, x[:0]), "v cannot be empty"),
        (lambda x: np.convolve(x.reshape(2, 2), x), r"a has shape \(2, 2\)"),
        (lambda x: np.correlate(x, x, most), "mode is 'most'"),
    ):
        with pytest.raises(ValueError, match=said):
            jit(f)(x)


# ---- tensors


def test_layers_of_tensors() -> None:
    """The layer's result is the function's, its parameters are drawn within 1/sqrt(fan), its gradients are NumPy's."""
    torch.manual_seed(4)
    layer: Any = nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2)
    x = torch.randn(3, 4, 7, 8)
    y = layer(x)
    assert tuple(y.shape) == (3, 6, 4, 5) and type(y.grad_fn).__name__ == "ConvolutionBackward0"
    bound = 1 / math.sqrt(2 * 3 * 2)
    assert 0.8 * bound < layer.weight.abs().max().item() <= bound
    (y * y).sum().backward()
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()

    def loss(w: Any, b: Any) -> Any:
        return np.sum((conv(x.numpy(), w, stride=2, padding=1, groups=2) + b[:, None, None]) ** 2)

    dw, db = grad(loss, argnums=(0, 1))(w, b)
    np.testing.assert_allclose(layer.weight.grad.numpy(), dw, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(layer.bias.grad.numpy(), db, rtol=1e-4, atol=1e-4)


def test_one_picture_needs_no_batch() -> None:
    x, w = torch.randn(2, 5, 6), torch.randn(3, 2, 2, 2)
    assert F.conv2d(x, w).tolist() == F.conv2d(x[None], w)[0].tolist()
    assert F.max_pool2d(x, 2).tolist() == F.max_pool2d(x[None], 2)[0].tolist()
    assert F.avg_pool1d(x[0], 2).tolist() == F.avg_pool2d(x, (1, 2))[0].tolist()


def test_the_first_of_equals_gets_the_gradient_of_max_pool() -> None:
    x = torch.zeros(1, 1, 4, 4, requires_grad=True)
    F.max_pool2d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[[1, 0, 1, 0], [0] * 4, [1, 0, 1, 0], [0] * 4]]]
    y = torch.full((1, 1, 3, 3), -math.inf, requires_grad=True)
    values, where = F.max_pool2d(y, 3, 2, 1, return_indices=True)
    values.sum().backward()
    assert where.tolist() == [[[[0, 1], [3, 4]]]], "what is around a picture never counts"
    assert y.grad.tolist() == [[[[1, 1, 0], [1, 1, 0], [0, 0, 0]]]]


@QUICK
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 1), st.booleans(), st.booleans(), st.integers(5, 7))
def test_pooling_is_its_definition(k: int, s: int, p: int, ceil: bool, padded: bool, n: int) -> None:
    p = min(p, k // 2)
    x = np.random.default_rng(n).normal(size=(2, 2, n, 6)).astype("f4")
    wide = np.pad(x, [(0, 0), (0, 0), (p, p + 9), (p, p + 9)], constant_values=np.nan)
    real, zeros = ~np.isnan(wide), np.nan_to_num(wide)
    counted = np.zeros(wide.shape, bool)
    counted[:, :, : n + 2 * p, : 6 + 2 * p] = True
    sizes = []
    for m in (n, 6):
        places = (-(-(m + 2 * p - k) // s) if ceil else (m + 2 * p - k) // s) + 1
        sizes.append(places - (ceil and (places - 1) * s >= m + p))
    largest, mean = np.zeros((2, *sizes)), np.zeros((2, *sizes))
    for i, j in np.ndindex(*sizes):
        cut = (1, slice(None), slice(i * s, i * s + k), slice(j * s, j * s + k))
        largest[:, i, j] = np.where(real[cut], zeros[cut], -np.inf).max((1, 2))
        many = (counted if padded else real)[cut].sum((1, 2))
        mean[:, i, j] = zeros[cut].sum((1, 2)) / many
    t = torch.tensor(x)
    np.testing.assert_array_equal(F.max_pool2d(t, k, s, p, 1, ceil).numpy()[1], largest.astype("f4"))
    got = F.avg_pool2d(t, k, s, p, ceil, padded).numpy()[1]
    np.testing.assert_allclose(got, mean, rtol=1e-5, atol=1e-6)


def test_gradients_of_pooling() -> None:
    """Against weights found one unit at a time: a mean is linear, and so is a maximum near a point."""
    torch.manual_seed(1)
    for f in (
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.max_pool1d(x[0], 2, 1, dilation=2),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        lambda x: F.adaptive_avg_pool2d(x, 1),
    ):
        x = torch.randn(1, 2, 5, 5, dtype=torch.float64, requires_grad=True)
        y = f(x)
        ct = torch.randn(*y.shape, dtype=torch.float64)
        (y * ct).sum().backward()
        unit, h = np.eye(50).reshape(50, 1, 2, 5, 5), 1e-6
        ends = [[(f(x.detach() + torch.tensor(s * h * u)) * ct).sum().item() for u in unit] for s in (1, -1)]
        want = (np.array(ends[0]) - np.array(ends[1])) / (2 * h)
        np.testing.assert_allclose(x.grad.numpy().ravel(), want, atol=1e-8)


def test_adaptive_windows_may_overlap() -> None:
    x = torch.arange(5.0)[None]
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[0.5, 2.0, 3.5]]
    assert F.adaptive_avg_pool1d(x, 5).tolist() == x.tolist()
    assert F.adaptive_avg_pool1d(x, 7).tolist() == [[0.0, 0.5, 1.5, 2.0, 2.5, 3.5, 4.0]]


def test_layers_print_as_torchs() -> None:
    assert repr(nn.Conv2d(4, 4, (3, 2), stride=2, padding=1, dilation=2, groups=2, bias=False)) == (
        "Conv2d(4, 4, kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), dilation=(2, 2), groups=2, bias=False)"
    )
    assert repr(nn.MaxPool2d(2)) == "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"
    assert repr(nn.AvgPool1d(3)) == "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))"
    assert repr(nn.AdaptiveAvgPool2d((None, 2))) == "AdaptiveAvgPool2d(output_size=(None, 2))"
    assert repr(nn.Conv1d(3, 4, 3, padding="same")) == "Conv1d(3, 4, kernel_size=(3,), stride=(1,), padding=same)"


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups, got 3 and 2"),
        (lambda: nn.Conv2d(4, 3, 3, groups=2), ValueError, "out_channels must be divisible"),
        (lambda: nn.Conv2d(4, 4, 3, groups=0), ValueError, "groups must be a positive integer"),
        (lambda: nn.Conv2d(4, 4, 3, padding="x"), ValueError, "Invalid padding string 'x'"),
        (lambda: nn.Conv2d(4, 4, 3, stride=2, padding="same"), ValueError, "strided"),
        (lambda: nn.Conv2d(4, 4, 3, padding_mode="mirror"), ValueError, "'circular', but got padding_mode='mirror'"),
        (lambda: nn.Conv2d(4, 4, 3)(torch.ones(1, 2, 8, 8)), RuntimeError, "to have 4 channels, but got 2 channels"),
        (lambda: nn.Conv2d(4, 4, 3)(torch.ones(4, 2, 8)), RuntimeError, r"\(2 x 8\). Kernel size: \(3 x 3\)"),
        (lambda: nn.Conv1d(4, 4, 3)(np.ones((1, 4, 8))), TypeError, "input must be a Tensor, not ndarray"),
        (lambda: F.max_pool2d(torch.ones(1, 1, 4, 4), 3, padding=2), RuntimeError, "at most half"),
        (lambda: F.avg_pool2d(torch.ones(1, 1, 4, 4), 5), RuntimeError, "Output size is too small"),
        (lambda: F.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), (1, 2, 3)), RuntimeError, "output_size must be 2"),
    ],
)
def test_what_layers_refuse(make: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()
