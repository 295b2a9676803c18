"""Modules agree with torch's, over torch's own database of them: names of parameters, results, gradients, text.

A module is made by both with the same arguments, ours takes the other's state, and both run on the same input.
"""

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

import pullback
from pullback.compiler.settings import settings
from pullback.runtime.nn.functional import __all__ as FUNCTIONS

DTYPES = {
    torch.float32: pullback.float32, torch.float64: pullback.float64, torch.int64: pullback.int64,
    torch.int32: pullback.int32, torch.bool: pullback.bool,
}  # fmt: skip
LACKING = {"SyncBatchNorm", "CrossMapLRN2d", "DataParallel", "Container", "Uninit"}
HEAVY = {"Conv3d", "ConvTranspose3d"}
"""Modules whose meaning in NumPy takes too much memory."""

SAMPLES, NATIVE = 6, 1
"""How many samples of a module are run, and how many of them compiled; the others run by NumPy, which is quicker."""

TOLERANCE = {torch.float32: (2e-4, 2e-5), torch.float64: (1e-9, 1e-10)}


def ours(x: Any, known: dict[int, Any] | None = None) -> Any:
    """The same for pullback; what is one tensor stays one."""
    known = {} if known is None else known
    if isinstance(x, torch.nn.Module):
        made = getattr(pullback.nn, type(x).__name__)
        return made() if not list(x.parameters()) else _layer(x)
    if isinstance(x, torch.Tensor):
        if id(x) not in known:
            known[id(x)] = pullback.tensor(x.detach().numpy().copy()).requires_grad_(x.requires_grad)
        return known[id(x)]
    if isinstance(x, torch.dtype):
        return DTYPES[x]
    if isinstance(x, torch.Size):
        return tuple(x)
    if isinstance(x, list | tuple):
        return type(x)([ours(y, known) for y in x])
    if isinstance(x, dict):
        return {k: ours(v, known) for k, v in x.items()}
    if isinstance(x, torch.nn.LinearCrossEntropyOptions):
        return pullback.nn.LinearCrossEntropyOptions(**ours({n: getattr(x, n) for n in x.__slots__}, known))
    name = getattr(x, "__name__", "")
    if inspect.isroutine(x) or inspect.isfunction(x):
        return getattr(pullback.nn.functional, name, x)
    return x


def _layer(x: torch.nn.Module) -> Any:
    """A torch module that is an argument of another: only layers of transformers and norms are."""
    if isinstance(x, torch.nn.LayerNorm):
        made: Any = pullback.nn.LayerNorm(x.normalized_shape, x.eps)
    else:
        assert isinstance(x, torch.nn.TransformerEncoderLayer | torch.nn.TransformerDecoderLayer)
        attention, kind = x.self_attn, getattr(pullback.nn, type(x).__name__)
        made = kind(
            attention.embed_dim, attention.num_heads, x.linear1.out_features, x.dropout.p,
            activation=x.activation.__name__, batch_first=attention.batch_first, norm_first=x.norm_first,
            bias=x.linear1.bias is not None,
        )  # fmt: skip
    made.to(DTYPES[next(x.parameters()).dtype])
    take_state(made, x)
    return made


def take_state(mine: Any, theirs: torch.nn.Module) -> None:
    """Load torch's state, by its names."""
    state = {k: pullback.tensor(v.detach().numpy().copy()) for k, v in theirs.state_dict().items()}
    mine.load_state_dict(state)


def tensors(x: Any) -> list[Any]:
    if isinstance(x, torch.Tensor | pullback.Tensor):
        return [x]
    if isinstance(x, list | tuple):
        return [t for y in x for t in tensors(y)]
    return [t for y in x.values() for t in tensors(y)] if isinstance(x, dict) else []


def close(got: Any, want: torch.Tensor, what: str, dtype: Any, factor: float = 1) -> None:
    a, b = got.detach().numpy(), want.detach().numpy(force=True)
    assert a.shape == b.shape and a.dtype == b.dtype, f"{what}: {a.shape} {a.dtype}, not {b.shape} {b.dtype}"
    if what.startswith("gradient"):  # PyTorch's NaN where powers of negative numbers are pooled are 0 or NaN here
        a = np.where(np.isnan(b), b, a)
    relative, absolute = TOLERANCE[dtype]
    np.testing.assert_allclose(a, b, relative * factor, absolute * factor, err_msg=what)


def compare(mine: Any, theirs: Any, given: Any, dtype: Any) -> None:
    """Results, and the gradients of a weighted sum of them for parameters and inputs."""
    arguments = ours((given.args, given.kwargs))
    torch.manual_seed(0)
    want = theirs(*given.args, **given.kwargs)
    got = mine(*arguments[0], **arguments[1])
    pairs = list(zip(tensors(got), tensors(want), strict=True))
    for g, w in pairs:
        close(g, w, "result", dtype)
    for (name, g), (other, w) in zip(mine.named_buffers(), theirs.named_buffers(), strict=True):
        assert name == other
        close(g, w, name, dtype)
    into = [(n, g, w) for (n, g), (_, w) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True)]
    inputs = zip(tensors(arguments), tensors([given.args, given.kwargs]), strict=True)
    into += [("input", g, w) for g, w in inputs if w.requires_grad]
    flowing = [(g, w) for g, w in pairs if w.requires_grad]
    assert [g.requires_grad for g, _ in pairs] == [w.requires_grad for _, w in pairs]
    if not flowing or not into:
        return
    weights = [np.random.default_rng(k).normal(size=tuple(w.shape)) for k, (_, w) in enumerate(flowing)]
    their_sum = sum((w * torch.tensor(c, dtype=w.dtype)).sum() for (_, w), c in zip(flowing, weights, strict=True))
    my_sum: Any = sum((g * pullback.tensor(c, dtype=g.dtype)).sum() for (g, _), c in zip(flowing, weights, strict=True))
    wanted = torch.autograd.grad(their_sum, [w for _, _, w in into], allow_unused=True)
    found = pullback.autograd.grad(my_sum, [g for _, g, _ in into], allow_unused=True)
    for (name, _, _), g, w in zip(into, found, wanted, strict=True):
        if w is None or g is None:
            assert (w is None or not w.any()) and (g is None or not g.detach().numpy().any()), name
        else:
            close(g, w, f"gradient of {name}", dtype, 10)


def cases() -> Iterator[Any]:
    for info in module_db:
        name = info.name.removeprefix("nn.")
        if any(name.startswith(word) for word in LACKING):
            continue
        for training, dtype in ((True, torch.float32), (False, torch.float32), (True, torch.float64)):
            yield pytest.param(info, training, dtype, id=f"{name}-{'train' if training else 'eval'}-{dtype}"[:60])


def quiet(theirs: Any, mine: Any, training: bool) -> None:
    """Both in the same mode, with nothing left to chance."""
    for module in (mine, theirs):
        module.train(training)
        for part in module.modules():
            if hasattr(part, "p") and "Dropout" in type(part).__name__:
                part.p = 0.0
            if isinstance(getattr(part, "dropout", None), float):
                part.dropout = 0.0


@pytest.mark.parametrize(("info", "training", "dtype"), list(cases()))
def test_module(info: Any, training: bool, dtype: Any) -> None:
    torch.manual_seed(1)
    name = info.name.removeprefix("nn.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(info.module_inputs_func(info, "cpu", dtype, requires_grad=True, training=training))
        for k, sample in enumerate(samples[:: len(samples) // SAMPLES + 1]):
            made = sample.constructor_input
            theirs = info.module_cls(*made.args, **made.kwargs).to(dtype)
            mine = getattr(pullback.nn, name)(*ours(made.args), **ours(made.kwargs)).to(DTYPES[dtype])
            assert repr(mine) == repr(theirs)
            assert list(mine.state_dict()) == list(theirs.state_dict())
            if name.startswith("Lazy"):
                theirs(*sample.forward_input.args)
            take_state(mine, theirs)
            quiet(theirs, mine, training)
            with settings.override(reference=k >= NATIVE and name not in HEAVY):
                compare(mine, theirs, sample.forward_input, dtype)


def faults() -> Iterator[Any]:
    """What torch's database has of wrong arguments."""
    for info in module_db:
        name = info.name.removeprefix("nn.")
        if info.module_error_inputs_func is None or any(name.startswith(word) for word in LACKING):
            continue
        given = info.module_error_inputs_func(info, "cpu", torch.float32, requires_grad=False, training=True)
        for k, fault in enumerate(given):
            if not any(t.dtype is torch.float16 for t in tensors(fault.module_error_input.constructor_input.kwargs)):
                yield pytest.param(name, fault, id=f"{name}-{k}")


@pytest.mark.parametrize(("name", "fault"), list(faults()))
def test_error_inputs(name: str, fault: Any) -> None:
    given, called = fault.module_error_input.constructor_input, fault.module_error_input.forward_input
    with warnings.catch_warnings(), pytest.raises(fault.error_type):
        warnings.simplefilter("ignore")
        made = getattr(pullback.nn, name)(*ours(given.args), **ours(given.kwargs))
        if fault.error_on is not ModuleErrorEnum.CONSTRUCTION_ERROR:
            made(*ours(called.args), **ours(called.kwargs))
    if fault.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR:
        with pytest.raises(fault.error_type):
            getattr(pullback.nn, name)(*ours(given.args), **ours(given.kwargs))


class Given:
    """Arguments of a call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)), requires_grad=True)


WINDOWS = {"kernel_size": 2, "padding": 1, "stride": 2}
FURTHER: list[tuple[str, Given, Given]] = [
    ("AlphaDropout", Given(), Given(numbers(2, 3))),
    ("ChannelShuffle", Given(2), Given(numbers(2, 4, 3, 3))),
    ("CosineSimilarity", Given(dim=2), Given(numbers(2, 3, 4), numbers(3, 4))),
    ("Dropout", Given(0.3, True), Given(numbers(2, 3))),
    ("Dropout1d", Given(), Given(numbers(2, 3, 4))),
    ("Dropout2d", Given(), Given(numbers(2, 3, 4, 4))),
    ("Dropout3d", Given(), Given(numbers(2, 3, 4, 4, 2))),
    ("EmbeddingBag", Given(6, 3), Given(torch.tensor([1, 5, 2, 2]), torch.tensor([0, 0, 3]))),
    ("EmbeddingBag", Given(6, 3, mode="max", padding_idx=2), Given(torch.tensor([[1, 5], [2, 2]]))),
    ("FeatureAlphaDropout", Given(), Given(numbers(2, 3, 4))),
    ("Flatten", Given(), Given(numbers(2, 3, 4))),
    ("Fold", Given((4, 5), **WINDOWS), Given(numbers(2, 12, 9))),
    ("Hardsigmoid", Given(), Given(numbers(4, 5))),
    ("Identity", Given(), Given(numbers(4))),
    ("PairwiseDistance", Given(3.0), Given(numbers(4, 5), numbers(4, 5) * 2)),
    ("PixelShuffle", Given(2), Given(numbers(2, 8, 3, 2))),
    ("PixelUnshuffle", Given(2), Given(numbers(2, 2, 4, 2))),
    ("RReLU", Given(0.2, 0.4), Given(numbers(4, 5))),
    ("TransformerDecoder", Given(torch.nn.TransformerDecoderLayer(4, 2, 8), 1),
     Given(numbers(3, 2, 4), numbers(5, 2, 4))),
    ("TripletMarginLoss", Given(swap=True), Given(numbers(4, 5), numbers(4, 5) + 1, numbers(4, 5) * 2)),
    ("TripletMarginWithDistanceLoss", Given(margin=2.0), Given(numbers(4, 5), numbers(4, 5) + 1, numbers(4, 5) * 2)),
    ("Unflatten", Given(1, (2, 3)), Given(numbers(2, 6))),
    ("Unfold", Given(**WINDOWS), Given(numbers(2, 3, 4, 5))),
    ("Upsample", Given(scale_factor=2.0, mode="bicubic"), Given(numbers(1, 2, 3, 4))),
    ("UpsamplingBilinear2d", Given(scale_factor=3), Given(numbers(1, 2, 3, 4))),
    ("UpsamplingNearest2d", Given((5, 2)), Given(numbers(1, 2, 3, 4))),
    ("LSTM", Given(5, 7, 3, bidirectional=True, proj_size=2), Given(numbers(11, 4, 5))),
    ("GRU", Given(5, 6, 2, batch_first=True), Given(numbers(4, 9, 5))),
    ("MultiheadAttention", Given(8, 4, add_bias_kv=True, add_zero_attn=True), Given(*[numbers(5, 3, 8)] * 3)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "inputs"), FURTHER, ids=lambda x: x if isinstance(x, str) else "")
def test_further_module(name: str, arguments: Given, inputs: Given) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(torch.nn, name)(*arguments.args, **arguments.kwargs)
        mine = getattr(pullback.nn, name)(*ours(arguments.args), **ours(arguments.kwargs))
        assert repr(mine) == repr(theirs)
        assert list(mine.state_dict()) == list(theirs.state_dict())
        take_state(mine, theirs)
        quiet(theirs, mine, training=False)
        compare(mine, theirs, inputs, torch.float32)


# ---- names


def public(module: Any) -> list[str]:
    return [n for n in dir(module) if n[0].isupper() and hasattr(pullback.nn, n)]


def parameters(function: Any) -> list[tuple[str, Any]]:
    """Names and defaults; a function that is a default counts by its name."""
    found = []
    for p in inspect.signature(function).parameters.values():
        default = getattr(p.default, "__name__", p.default)
        found.append((p.name, None if p.default is inspect.Parameter.empty else default))
    return found


@pytest.mark.parametrize("name", public(torch.nn))
def test_arguments_have_the_same_names(name: str) -> None:
    mine, theirs = getattr(pullback.nn, name), getattr(torch.nn, name)
    if name not in OTHERWISE:
        assert parameters(mine.__init__) == parameters(theirs.__init__)
    if name not in OTHERWISE and theirs.forward is not torch.nn.Module.forward:
        assert parameters(mine.forward) == parameters(theirs.forward)


OTHERWISE = {
    "Module", "Parameter", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "RNN", "Buffer",
    "UninitializedParameter", "UninitializedBuffer", "LinearCrossEntropyOptions",
}  # fmt: skip
"""Classes whose first arguments have other names here, or none."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_same_arguments(name: str) -> None:
    mine, theirs = getattr(pullback.nn.functional, name), getattr(torch.nn.functional, name)
    try:
        wanted = parameters(theirs)
    except ValueError:  # a builtin, which does not say
        return
    if wanted[:1] != [("args", None)]:
        assert parameters(mine) == wanted


def test_what_torch_has_and_we_have_not() -> None:
    lacking = {n for n in torch.nn.modules.__all__ if not hasattr(pullback.nn, n)}
    assert lacking == {
        "Container", "CrossMapLRN2d",
    }  # fmt: skip


@pytest.mark.parametrize("sizes", [(), (3,), (2, 3)])
def test_a_linear_layer_within_the_cross_entropy(sizes: tuple[int, ...]) -> None:
    found = []
    for t in (torch, pullback):
        t.manual_seed(0)
        options = {"out_features": sizes, "bias": True, "label_smoothing": 0.1, "weight": t.arange(1.0, 6.0)}
        loss = t.nn.LinearCrossEntropyLoss(4, 5, **options)
        x, target = t.randn(3, 4, requires_grad=True), t.randint(5, (3, *sizes))
        made = [loss(x, target), loss(x, t.softmax(t.randn(3, 5, *sizes), 1))]
        (made[0] + made[1]).backward()
        found.append([*(m.item() for m in made), *x.grad.flatten().tolist(), *loss.linear.bias.grad.tolist()])
        assert list(loss.state_dict()) == ["weight", "linear.weight", "linear.bias"]
    assert found[1] == pytest.approx(found[0], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (2, 4)])
def test_orthogonal_weights(shape: tuple[int, int], kind: str | None, trivial: bool) -> None:
    def made(t: Any) -> list[Any]:
        t.manual_seed(2)
        m = t.nn.Linear(shape[1], shape[0], dtype=t.float64)
        t.nn.utils.parametrizations.orthogonal(m, "weight", kind, use_trivialization=trivial)
        optimizer, x = t.optim.SGD(m.parameters(), lr=0.02), t.randn(4, shape[1], dtype=t.float64)
        for _ in range(3):
            optimizer.zero_grad()
            (m(x) ** 3).sum().backward()
            optimizer.step()
        held = m.parametrizations.weight.original
        (g,) = t.autograd.grad((m.weight**3).sum(), held, create_graph=True)
        (h,) = t.autograd.grad((g * g).sum(), held)
        w = m.weight.detach()
        if trivial or kind == "householder" or (kind is None and shape[0] != shape[1]):
            n = max(shape)
            m.weight = t.linalg.qr(t.randn(n, n, dtype=t.float64))[0][: shape[0], : shape[1]]
        return [w, held.grad, g.detach(), h, m.weight.detach(), *m.state_dict().values()]

    for mine, yours in zip(made(pullback), made(torch), strict=True):
        np.testing.assert_allclose(mine.numpy(), yours.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("args", [("w",), ("bias",), ("weight", "x")])
def test_what_orthogonal_refuses(args: tuple[str, ...]) -> None:
    said = []
    for t in (pullback, torch):
        with pytest.raises(ValueError) as caught:
            t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), *args)
        said.append(str(caught.value))
    assert said[0] == said[1]
