"""What packages import of torch's own machinery does here what it does there."""

# pyright: reportPrivateUsage=false

import importlib
import operator
import warnings
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch

import pullback

BOTH = pytest.mark.parametrize("t", [torch, pullback], ids=["torch", "pullback"])
Named = namedtuple("Named", "x y")


def of(t: Any, path: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{path}")


@pytest.mark.parametrize("name", ["torch", "value", "index", "type", "not_implemented"])
def test_conditions(name: str) -> None:
    name = "_check" if name == "torch" else f"_check_{name}"
    for cond in (True, False, 1):
        raised = []
        for t in (torch, pullback):
            try:
                getattr(t, name)(cond, lambda: "said")
                raised.append(None)
            except Exception as error:
                raised.append((type(error), str(error)))
        assert raised[0] == raised[1]


@BOTH
def test_conditions_of_tensors(t: Any) -> None:
    t._check_tensor_all(t.tensor([True, True]))
    t._assert_async(t.tensor(1))
    for call in (
        lambda: t._check_tensor_all(t.tensor([True, False])), lambda: t._assert_async(t.tensor(0)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            call()


@BOTH
def test_sizes(t: Any) -> None:
    assert (t.sym_int(2.7), t.sym_not(True), t.sym_sum([1, 2]), t.sym_ite(True, 1, 2)) == (2, False, 3, 1)
    made = t.sym_max(1, 2.0), t.sym_max(3, 2.0), t.sym_min(1, 2), t.sym_float(2), t.sym_sqrt(4)
    assert made == (2.0, 3.0, 1, 2.0, 2.0) and list(map(type, made)) == [float, float, int, float, float]
    assert t._shape_as_tensor(t.zeros(2, 3)).tolist() == [2, 3]


@BOTH
def test_rows(t: Any) -> None:
    assert t._convert_indices_from_coo_to_csr(t.tensor([0, 0, 2]), 4).tolist() == [0, 2, 2, 3, 3]
    rows = t._convert_indices_from_csr_to_coo(t.tensor([0, 2, 2, 3]), t.tensor([5, 6, 7]), out_int32=True)
    assert rows.tolist() == [[0, 0, 2], [5, 6, 7]] and rows.dtype == t.int32


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("initial", [None, 1.5])
def test_segments(reduce: str, initial: float | None) -> None:
    data = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    found = []
    for t in (torch, pullback):
        x = t.tensor(data, requires_grad=True)
        made = t.segment_reduce(x, reduce, lengths=t.tensor([2, 0, 4]), initial=initial)
        also = t._segment_reduce(x, reduce, offsets=t.tensor([0, 2, 2, 6]), initial=initial)
        assert np.array_equal(made.detach().numpy(), also.detach().numpy(), equal_nan=True)
        (made[[0, 2]] ** 2).sum().backward()
        found.append((made.detach().numpy(), x.grad.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)


def test_softmax_slope() -> None:
    y, g = (np.random.default_rng(k).random((2, 3)).astype(np.float32) for k in range(2))
    found = [t._softmax_backward_data(t.tensor(g), t.tensor(y), 1, t.float32).numpy() for t in (torch, pullback)]
    np.testing.assert_allclose(found[0], found[1], 1e-6)


TREES: list[Any] = [{"b": [1, (2, 3)], "a": None}, Named(1, OrderedDict(q=2)), [], 5, ({"k": 1},)]


@pytest.mark.parametrize("tree", TREES)
def test_ways_to_leaves(tree: Any) -> None:
    found = []
    for t in (torch, pullback):
        trees = of(t, "utils._pytree")
        pairs, spec = trees.tree_flatten_with_path(tree)
        made = trees.tree_map_with_path(lambda way, leaf, trees=trees: (trees.keystr(way), leaf), tree)
        assert all(trees.key_get(tree, way) is leaf for way, leaf in pairs)
        found.append(([(trees.keystr(way), leaf) for way, leaf in pairs], made))
        if not isinstance(tree, Named):
            text = trees.treespec_dumps(spec)
            found[-1] = (*found[-1], text)
            assert trees.treespec_loads(text) == spec
    assert found[0] == found[1]


@BOTH
def test_projections(t: Any) -> None:
    F, rng = t.nn.functional, np.random.default_rng(0)
    q, k, w, b = (t.tensor(rng.normal(size=s)) for s in ((2, 4), (3, 4), (12, 4), (12,)))
    made = F._in_projection_packed(q, k, k, w, b)
    each = F._in_projection(q, k, k, *w.chunk(3), *b.chunk(3))
    same = F._in_projection_packed(q, q, q, w)
    for one, other in zip(made, each, strict=True):
        assert t.allclose(one, other)
    assert len(same) == 3 and t.allclose(same[1], q @ w[4:8].T)
    with pytest.raises(AssertionError):
        F._in_projection(q, k, k, w, w, w)
    mask = F._canonical_mask(t.tensor([True, False]), "mask", None, "", t.float32)
    assert mask.tolist() == [-float("inf"), 0.0]


@BOTH
def test_what_module_to_is_told(t: Any) -> None:
    parse = t._C._nn._parse_to
    assert parse(t.float16)[1] == t.float16 and parse("cpu", non_blocking=True)[2] is True
    assert str(parse("cpu")[0]) == "cpu" and parse(t.zeros(1, dtype=t.float64))[1] == t.float64
    assert parse(t.float32)[0] is None and t.get_autocast_dtype("cpu") == t.bfloat16


@pytest.mark.filterwarnings("ignore")
@BOTH
def test_results_that_come_later(t: Any) -> None:
    future = t.futures.Future()
    doubled = future.then(lambda f: f.value() * 2)
    failed = future.then(lambda f: 1 // 0)
    assert not future.done()
    future.set_result(3)
    assert doubled.wait() == 6 and future.wait() == 3
    with pytest.raises(ZeroDivisionError if t is pullback else RuntimeError):
        failed.wait()
    with pytest.raises(RuntimeError):
        future.set_result(4)
    other = t.futures.Future()
    both = t.futures.collect_all([doubled, other])
    assert not both.done()
    other.set_result(1)
    assert [f.wait() for f in both.wait()] == [6, 1] and t.futures.wait_all([doubled, other]) == [6, 1]
    assert t.jit.wait(t.jit.fork(lambda: 5)) == 5


@BOTH
def test_dicts_by_identity(t: Any) -> None:
    held = of(t, "utils.weak").WeakIdKeyDictionary()
    a, b = t.ones(2), t.ones(2)
    held[a], held[b] = 1, 2
    assert held[a] == 1 and held[b] == 2 and len(held) == 2 and a in held
    del b
    assert len(held) == 1
    del held[a]
    assert a not in held


HOOKED = "Linear", "ReLU", "Conv1d"


def test_older_hooks_of_backward() -> None:
    found = []
    for t in (torch, pullback):
        t.manual_seed(0)
        seen: list[Any] = []

        def hook(module: Any, given: Any, made: Any, seen: Any = seen) -> None:
            shapes = [None if g is None else (tuple(g.shape), round(float(g.sum()), 4)) for g in given]
            seen.append((type(module).__name__, shapes, [tuple(g.shape) for g in made]))

        nn = t.nn
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 2), nn.Flatten())
        for module in model:
            if type(module).__name__ in HOOKED:
                module.register_backward_hook(hook)
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            model(x).sum().backward()
        handle = model[1].register_backward_hook(lambda module, given, made: (given[0] * 2,))
        before, x.grad = x.grad.clone(), None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model(x).sum().backward()
        assert t.allclose(x.grad, before * 2)
        handle.remove()
        with pytest.raises(RuntimeError, match="both"):
            model[0].register_full_backward_hook(hook)
        found.append((seen, [w.category for w in warned if w.category is FutureWarning]))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore")
@BOTH
def test_what_a_dense_tensor_does_not_have(t: Any) -> None:
    for name in ("coalesce", "is_coalesced", "indices", "values", "crow_indices"):
        with pytest.raises(RuntimeError, match=f"{name} expected sparse .*but got Strided"):
            getattr(t.ones(2), name)()
    x = t.ones(2)
    assert x.share_memory_() is x
    assert t.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,)).coalesce().values().tolist() == [3]


def test_names_that_are_imported() -> None:
    """What the packages that are used most import at their top."""
    names = [
        "OutOfMemoryError", "AcceleratorError", "Stream", "Event", "ScriptModule", "ScriptFunction",
        "UntypedStorage", "classes", "qint8", "uint4", "_C._are_functorch_transforms_active", "_C._functorch",
        "_C._disabled_torch_function_impl", "cuda.Stream", "cuda.CUDAGraph", "overrides.TorchFunctionMode",
        "futures.collect_all", "jit.TracerWarning", "jit._overload_method", "storage.TypedStorage",
        "utils._pytree.SequenceKey", "utils._pytree.SUPPORTED_NODES", "utils._contextlib._DecoratorContextManager",
        "utils.data.dataloader._MultiProcessingDataLoaderIter", "utils.data.dataloader._BaseDataLoaderIter",
        "nn.modules.module._EXTRA_STATE_KEY_SUFFIX", "nn.modules.module._global_parameter_registration_hooks",
        "nn.parameter.UninitializedTensorMixin", "backends.opt_einsum.enabled",
        "distributions.utils._standard_normal", "_utils._get_device_index", "nn.functional.has_torch_function",
    ]
    for name in names:
        for t in (torch, pullback):
            module, last = name.rpartition(".")[::2]
            assert hasattr(of(t, module) if module else t, last), (t, name)


def test_airys_function() -> None:
    """To the digits of torch's, and with the derivatives that it lacks."""
    x = np.array([-30.0, -5.5, -2, -0.3, 0, 1, 2.5, 8, 30])
    given = pullback.tensor(x, requires_grad=True)
    made = pullback.special.airy_ai(given)
    np.testing.assert_allclose(made.detach().numpy(), torch.special.airy_ai(torch.tensor(x)).numpy(), 1e-9, 1e-13)
    (slope,) = pullback.autograd.grad(made.sum(), given, create_graph=True)
    (bend,) = pullback.autograd.grad(slope.sum(), given)
    np.testing.assert_allclose(bend.numpy(), x * made.detach().numpy(), 1e-12)
    assert abs(slope[4].item() + 0.2588194037928068) < 1e-15


@BOTH
def test_what_classes_of_layers_have(t: Any) -> None:
    nn = t.nn

    class Standardised(nn.Conv2d):
        def forward(self, x):
            w = (self.weight - self.weight.mean((1, 2, 3), keepdim=True)) / (self.weight.std() + 1e-5)
            return self._conv_forward(x, w, self.bias)

    class Doubled(nn.Conv1d):
        def _conv_forward(self, input, weight, bias):
            return 2 * super()._conv_forward(input, weight, bias)

    conv = Standardised(2, 3, 3, padding=(1, 2), padding_mode="reflect")
    assert conv(t.ones(1, 2, 5, 6)).shape == (1, 3, 5, 8)
    assert list(conv._reversed_padding_repeated_twice) == [2, 2, 1, 1]
    one = Doubled(1, 1, 2)
    x = t.arange(4.0).reshape(1, 1, 4)
    assert t.allclose(one(x), 2 * nn.functional.conv1d(x, one.weight, one.bias))
    assert not conv.transposed and conv.output_padding == (0, 0) and nn.ConvTranspose1d(1, 1, 2).transposed
    same = nn.Conv2d(1, 1, (3, 4), padding="same", dilation=2)
    assert list(same._reversed_padding_repeated_twice) == [3, 3, 2, 2]
    lstm = nn.LSTM(2, 3, bidirectional=True)
    assert lstm._flat_weights_names[4] == "weight_ih_l0_reverse" and lstm._flat_weights[0] is lstm.weight_ih_l0
    lstm._flat_weights = list(lstm._flat_weights)
    members = lstm._named_members(lambda module: module._parameters.items(), prefix="rnn")
    assert [name for name, _ in members] == [f"rnn.{name}" for name in lstm._flat_weights_names]
    packed = nn.utils.rnn.pack_sequence([t.ones(2), t.ones(1)])
    assert packed.long().data.dtype is t.int64 and packed.half().data.dtype is t.float16 and not packed.is_pinned()


@BOTH
def test_what_classes_besides_have(t: Any) -> None:
    assert isinstance(made := operator.add((1,), t.ones(2).shape), t.Size) and made == (1, 2)
    with pytest.raises(RuntimeError, match="accelerator"):
        t.ones(2).pin_memory()
    optimizer = t.optim.LBFGS([t.ones(2), t.ones(3, dtype=t.complex64)])
    assert optimizer._numel() == 8 and len(optimizer._params) == 2
    with pytest.warns(FutureWarning, match="sample_n"):
        assert t.distributions.Normal(0.0, 1.0).sample_n(3).shape == (3,)
    groups = t.optim.Optimizer._group_tensors_by_device_and_dtype([[t.ones(1), t.ones(1, dtype=t.float64)]])
    assert len(groups) == 2
