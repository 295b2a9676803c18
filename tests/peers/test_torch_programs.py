"""Comparisons, nested data and schedules of profilers are torch's, texts of errors included."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import _pytree

import pullback
from pullback.utils import _pytree as ours

NAN = float("nan")


class Made:
    """A tensor that either makes."""

    def __init__(self, values: Any, dtype: str = "float32") -> None:
        self.values, self.dtype = values, dtype

    def by(self, t: Any) -> Any:
        return t.tensor(self.values, dtype=getattr(t, self.dtype if self.dtype != "bool" else "bool"))


def by(x: Any, t: Any) -> Any:
    if isinstance(x, list):
        return [by(y, t) for y in x]
    if isinstance(x, dict):
        return {k: by(v, t) for k, v in x.items()}
    return x.by(t) if isinstance(x, Made) else x


VALUES = [
    Made([1.0, 2.0, 3.0]), Made([1.0, 2.0, 3.5]), Made([1.0, 2.0, 3.000001]), Made([1.0, 2.0, 3.0], "float64"),
    Made([[1.0, 2.0], [3.0, 4.0]]), Made([[1.0, 2.0], [3.0, 5.0]]), Made(1.0), Made(2.0), Made([1, 2, 3], "int64"),
    Made([1, 2, 5], "int64"), Made([True, False], "bool"), Made([True, True], "bool"), Made([NAN, 1.0]),
    Made([NAN, 2.0]), Made([1 + 2j, 2.0], "complex64"), Made([1 + 2j, 3.0], "complex64"), 1, 2, 1.0, 1.0000001, True,
    False, None, NAN, 1 + 1j, "a", [Made([1.0]), 2], [Made([2.0]), 2], [Made([1.0])], {"a": Made([1.0])},
    {"a": Made([2.0])}, {"b": Made([1.0])}, {"a": [1, 2]}, {"a": [1, 3]}, Made([]), [1.0, 2.0], (1.0, 2.0), 0.0,
    Made([0.0, 0.0]), Made([0.0, float("inf")]), Made([1], "uint8"), Made([3], "uint8"),
]  # fmt: skip
SETTINGS: list[dict[str, Any]] = [
    {}, {"rtol": 0, "atol": 0}, {"equal_nan": True}, {"check_dtype": False}, {"rtol": 0.5, "atol": 0.1}, {"rtol": 1},
    {"msg": "hi"}, {"msg": lambda text: f"<{text}>"}, {"check_stride": True}, {"allow_subclasses": False},
]  # fmt: skip


def said(t: Any, one: Any, other: Any, settings: dict[str, Any]) -> Any:
    try:
        t.testing.assert_close(by(one, t), by(other, t), **settings)
    except Exception as error:
        text = str(error).replace("pullback.runtime.tensor.face.tensor.Tensor", "torch.Tensor")
        return type(error), text
    return None


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_assert_close(number: int) -> None:
    """But for a number beside a truth value, of which torch says that its own code failed."""
    for one, other in itertools.product(VALUES, VALUES):
        want = said(torch, one, other, SETTINGS[number])
        if want is None or want[0] is not RuntimeError:
            assert said(pullback, one, other, SETTINGS[number]) == want, (one, other)


def test_assert_close_of_large_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    for shape in ((5,), (3, 4), (2, 3, 2)):
        for dtype in (torch.float32, torch.float64, torch.int32):
            a = (torch.rand(shape, generator=generator) * 9).to(dtype)
            b = torch.where(torch.rand(shape, generator=generator) < 0.5, a, a + 1)
            texts = []
            for t in (torch, pullback):
                with pytest.raises(AssertionError) as error:
                    t.testing.assert_close(*[t.as_tensor(x.numpy()) for x in (a, b)])
                texts.append(str(error.value))
            assert texts[0] == texts[1]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_schedules() -> None:
    for wait, warmup, active, repeat, skip in itertools.product((0, 1, 2), (0, 1), (1, 2), (0, 2), (0, 3)):
        for skip_wait in (0, 1):
            made = [
                t.profiler.schedule(
                    wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip, skip_first_wait=skip_wait
                )
                for t in (torch, pullback)
            ]
            assert [made[0](k).name for k in range(20)] == [made[1](k).name for k in range(20)]


TREES = [1, [], [1, (2, {"b": 3, "a": 4})], {"x": [1, {}]}, (None, [2])]


@pytest.mark.parametrize("tree", TREES)
def test_trees(tree: Any) -> None:
    want, got = _pytree.tree_flatten(tree), ours.tree_flatten(tree)
    assert want[0] == got[0] and want[1].num_leaves == got[1].num_leaves
    assert ours.tree_unflatten(got[0], got[1]) == tree
    assert _pytree.tree_map(str, tree) == ours.tree_map(str, tree)
    for other in TREES:
        results = []
        for module in (_pytree, ours):
            try:
                results.append(module.tree_map(lambda *x: x, tree, other))
            except ValueError:
                results.append("refused")
        assert results[0] == results[1], other


def state_of(theirs: Any, mine: Any) -> None:
    mine.load_state_dict({k: pullback.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()})


def near(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), 2e-5, 1e-6)


def test_adaptive_softmax() -> None:
    given: Any = (16, 20, [5, 10, 15], 2.0, True)
    theirs, mine = torch.nn.AdaptiveLogSoftmaxWithLoss(*given), pullback.nn.AdaptiveLogSoftmaxWithLoss(*given)
    state_of(theirs, mine)
    x, target = torch.randn(30, 16), torch.randint(0, 20, (30,))
    X, T = pullback.tensor(x.numpy()), pullback.tensor(target.numpy())
    want, got = theirs(x, target), mine(X, T)
    near(got.output, want.output)
    want.loss.backward()
    got.loss.backward()
    for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
        near(p.grad, q.grad)
    near(mine.log_prob(X), theirs.log_prob(x))
    assert mine.predict(X).tolist() == theirs.predict(x).tolist() and repr(mine) == repr(theirs)
    for wrong in ([5, 3], [], [20]):
        texts = []
        for t in (torch, pullback):
            with pytest.raises(ValueError) as error:
                t.nn.AdaptiveLogSoftmaxWithLoss(16, 20, wrong)
            texts.append(str(error.value))
        assert texts[0] == texts[1]


@pytest.mark.parametrize("rank", [1, 2])
def test_norms_that_are_folded_and_shared(rank: int) -> None:
    models = []
    for t in (torch, pullback):
        layers: Any = getattr(t.nn, f"Conv{rank}d")(3, 4, 2), getattr(t.nn, f"BatchNorm{rank}d")(4)
        models.append(t.nn.Sequential(*layers))
    theirs, mine = models
    state_of(theirs, mine)
    x = torch.randn((4, 3, 5, 6)[: rank + 2])
    X = pullback.tensor(x.numpy())
    near(mine(X), theirs(x))
    theirs.eval(), mine.eval()
    fused = pullback.nn.utils.fuse_conv_bn_eval(mine[0], mine[1])
    near(fused(X), torch.nn.utils.fuse_conv_bn_eval(theirs[0], theirs[1])(x))
    shared = pullback.nn.SyncBatchNorm.convert_sync_batchnorm(mine)
    near(shared(X), theirs(x))
    assert repr(shared) == repr(torch.nn.SyncBatchNorm.convert_sync_batchnorm(theirs))


def test_angles_and_excesses() -> None:
    """The logarithms of Bessel functions are torch's to the digits of its polynomials."""
    near_enough = []
    for t in (torch, pullback):
        d, a = t.distributions, [0.0, 1.0, -2.0, 0.0]
        v: Any = d.VonMises(t.tensor(a), t.tensor([0.01, 2.0, 300.0, 5.0]))
        given = t.tensor(a), t.tensor([1.0, 2.0, 0.5, 1.0]), t.tensor([0.0, 0.3, 0.7, -0.4])
        g: Any = d.GeneralizedPareto(*given, validate_args=True)
        x = t.tensor([0.5, 1.1, -1.9, 0.7])
        made = [v.mean, v.mode, v.variance, v.log_prob(x), v.expand((2, 4)).log_prob(x)]
        made += [g.mean, g.mode, g.variance, g.entropy(), g.log_prob(x), g.cdf(x), g.log_cdf(x)]
        made += [g.log_survival_function(x), g.icdf(t.tensor([0.1, 0.5, 0.9, 0.99])), g.expand((2, 4)).log_prob(x)]
        near_enough.append([np.asarray(each) for each in made])
        with pytest.raises(ValueError):
            g.log_prob(t.tensor([0.5, 1.1, -1.9, 7.0]))
    for want, got in zip(*near_enough, strict=True):
        np.testing.assert_allclose(got, want, 2e-4, 1e-5)


def test_draws_of_angles_and_excesses() -> None:
    pullback.manual_seed(0)
    v = pullback.distributions.VonMises(pullback.tensor([1.0, -2.0]), pullback.tensor([2.0, 30.0]))
    turned = np.exp(1j * v.sample((20000,)).numpy()).mean(0)
    np.testing.assert_allclose(np.angle(turned), [1.0, -2.0], atol=0.03)
    np.testing.assert_allclose(1 - np.abs(turned), v.variance.numpy(), atol=0.01)
    g = pullback.distributions.GeneralizedPareto(0.0, 1.0, pullback.tensor([0.0, -0.4]))
    np.testing.assert_allclose(g.rsample((40000,)).numpy().mean(0), g.mean.numpy(), atol=0.03)
