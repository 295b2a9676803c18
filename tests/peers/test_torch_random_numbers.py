"""The same random numbers: every draw is torch's bit by bit, and so is the state after it."""

import contextlib
import copy
import io
import itertools
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pullback

SIZES = (*range(41), 1000)
SEEDS = (0, 7, 2**40 + 3, -5)
FLOATS = ("float32", "float64")
P = [0.1, 0.9, 0.5, 0.0, 1.0, 0.3, 0.25, 0.6]

DRAWS: dict[str, Callable[[Any, int, Any], Any]] = {
    "rand": lambda t, n, d: t.rand(n, dtype=d),
    "randn": lambda t, n, d: t.randn(n, dtype=d),
    "rand_like": lambda t, n, d: t.rand_like(t.empty(n, dtype=d)),
    "randn_like": lambda t, n, d: t.randn_like(t.empty(n, 1, dtype=d)),
    "uniform_": lambda t, n, d: t.empty(n, dtype=d).uniform_(0.3, 0.7),
    "uniform_ about 0": lambda t, n, d: t.empty(n, dtype=d).uniform_(-0.37, 0.37),
    "normal_": lambda t, n, d: t.empty(n, dtype=d).normal_(),
    "normal_ moved": lambda t, n, d: t.empty(n, dtype=d).normal_(0.3, 0.7),
    "normal": lambda t, n, d: t.normal(1.0, 0.1, (n,), dtype=d),
    "normal of means": lambda t, n, d: t.normal(t.full((n,), 0.7, dtype=d), 0.3),
    "normal of spreads": lambda t, n, d: t.normal(0.7, t.full((n,), 0.3, dtype=d)),
    "normal of both": lambda t, n, d: t.normal(t.full((n,), 0.7, dtype=d), t.full((n,), 0.3, dtype=d)),
    "bernoulli_": lambda t, n, d: t.empty(n, dtype=d).bernoulli_(0.3),
    "bernoulli_ of chances": lambda t, n, d: t.empty(n, 8).bernoulli_(t.tensor(P, dtype=d)),
    "bernoulli": lambda t, n, d: t.bernoulli(t.tensor(P * n, dtype=d)),
    "bernoulli of one": lambda t, n, d: t.bernoulli(t.empty(n, dtype=d), 0.75),
    "exponential_": lambda t, n, d: t.empty(n, dtype=d).exponential_(0.7),
    "cauchy_": lambda t, n, d: t.empty(n, dtype=d).cauchy_(0.3, 0.7),
    "log_normal_": lambda t, n, d: t.empty(n, dtype=d).log_normal_(0.3, 0.7),
    "geometric_": lambda t, n, d: t.empty(n, dtype=d).geometric_(0.2),
    "geometric_, rare": lambda t, n, d: t.empty(n, dtype=d).geometric_(0.001),
    "random_": lambda t, n, d: t.empty(n, dtype=d).random_(),
    "random_ between": lambda t, n, d: t.empty(n, dtype=d).random_(-4, 17),
    "complex rand": lambda t, n, d: t.view_as_real(t.rand(n, dtype=d.to_complex())),
    "complex randn": lambda t, n, d: t.view_as_real(t.randn(n, dtype=d.to_complex())),
    "dropout": lambda t, n, d: t.nn.functional.dropout(t.full((n,), 0.7, dtype=d), 0.3),
    "alpha dropout": lambda t, n, d: t.nn.functional.alpha_dropout(t.full((n,), 0.7, dtype=d), 0.3, True),
    "dropout of channels": lambda t, n, d: t.nn.functional.dropout2d(t.full((2, n, 2, 1), 0.7, dtype=d), 0.3),
    "multinomial": lambda t, n, d: t.multinomial(t.arange(1, n + 2, dtype=d), n + 1),
    "multinomial, one": lambda t, n, d: t.multinomial(t.arange(1, n + 2, dtype=d).repeat(3, 1), 1, True),
    "multinomial again": lambda t, n, d: t.multinomial(t.arange(1, n + 2, dtype=d).repeat(2, 1), 5, True),
    "columns first": lambda t, n, d: t.empty(3, n, dtype=d).t().uniform_(),
    "columns first, normal": lambda t, n, d: t.empty(3, n, dtype=d).t().normal_(),
    "like columns": lambda t, n, d: t.rand_like(t.empty(3, n, dtype=d).t()) + t.randn_like(t.empty(3, n, dtype=d).t()),
    "gamma": lambda t, n, d: t._standard_gamma(t.arange(n, dtype=d) / 7 + 0.03),
    "gamma, large": lambda t, n, d: t.distributions.Gamma(t.full((n,), 400.0, dtype=d), 3.0).sample(),
    "poisson": lambda t, n, d: t.poisson(t.arange(n, dtype=d) / 3),
    "binomial": lambda t, n, d: t.binomial(t.arange(n, dtype=d), t.linspace(0, 1, n, dtype=d)),
    "binomial, large": lambda t, n, d: t.binomial(t.full((n,), 500.0, dtype=d), t.linspace(0, 1, n, dtype=d)),
    "dropout of columns": lambda t, n, d: t.nn.functional.dropout(t.ones(3, n, dtype=d).t()),
}  # fmt: skip
INTEGERS: dict[str, Callable[[Any, int], Any]] = {
    "randint": lambda t, n: t.randint(10, (n,)),
    "randint below 0": lambda t, n: t.randint(-3, 8, (n, 2)),
    "randint short": lambda t, n: t.randint(0, 2**28 - 1, (n,)),
    "randint long": lambda t, n: t.randint(0, 2**28, (n,)),
    "randint longest": lambda t, n: t.randint(-(2**63), 2**63 - 1, (n,)),
    "randint small": lambda t, n: t.randint(0, 200, (n,), dtype=t.uint8),
    "randint_like": lambda t, n: t.randint_like(t.zeros(n), 5),
    "randperm": lambda t, n: t.randperm(n),
    "randperm small": lambda t, n: t.randperm(n, dtype=t.int32),
    **{f"random_ {d}": lambda t, n, d=d: t.empty(n, dtype=getattr(t, d)).random_()
       for d in ("uint8", "int8", "int16", "int32", "int64", "bool")},
    "bernoulli_ int": lambda t, n: t.empty(n, dtype=t.int64).bernoulli_(0.4),
    "geometric_ int": lambda t, n: t.empty(n, dtype=t.int32).geometric_(0.4),
}  # fmt: skip


def same(a: Any, b: Any) -> bool:
    mine, yours = a.detach().numpy(), b.detach().numpy()
    return mine.dtype == yours.dtype and mine.shape == yours.shape and np.array_equal(mine, yours)


def same_state() -> bool:
    return same(pullback.get_rng_state(), torch.get_rng_state())


@pytest.fixture(autouse=True)
def seeded() -> None:
    pullback.manual_seed(0)
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_floats(name: str, dtype: str) -> None:
    draw = DRAWS[name]
    for seed in SEEDS:
        pullback.manual_seed(seed)
        torch.manual_seed(seed)
        for n in SIZES:
            assert same(draw(pullback, n, getattr(pullback, dtype)), draw(torch, n, getattr(torch, dtype))), (seed, n)
        assert same_state()


@pytest.mark.parametrize("name", INTEGERS)
def test_draws_of_integers(name: str) -> None:
    draw = INTEGERS[name]
    for seed in SEEDS:
        pullback.manual_seed(seed)
        torch.manual_seed(seed)
        for n in SIZES:
            assert same(draw(pullback, n), draw(torch, n)), (seed, n)
        assert same_state()


@pytest.mark.parametrize("seed", range(30))
def test_draws_one_after_the_other(seed: int) -> None:
    """Any order of draws, with states that are kept, gone back to and exchanged."""
    rng = np.random.default_rng(seed)
    pullback.manual_seed(seed)
    torch.manual_seed(seed)
    names, kept = [*DRAWS], []
    for _ in range(40):
        what, n = int(rng.integers(12)), int(rng.choice([1, 3, 7, 16, 33, 200, 650, 5000]))
        if what == 0:
            kept.append((pullback.get_rng_state(), torch.get_rng_state(), pullback.default_generator.state))
        elif what == 1 and kept:
            mine, yours, state = kept[int(rng.integers(len(kept)))]
            if rng.integers(2):
                pullback.set_rng_state(pullback.from_numpy(yours.numpy()))
            else:
                pullback.default_generator.state = state
            torch.set_rng_state(torch.from_numpy(mine.numpy()))
        elif what == 2:
            assert same(pullback.randperm(n), torch.randperm(n))
        else:
            name, dtype = str(rng.choice(names)), str(rng.choice(FLOATS))
            mine = DRAWS[name](pullback, n, getattr(pullback, dtype))
            assert same(mine, DRAWS[name](torch, n, getattr(torch, dtype))), (name, n, dtype)
    assert same_state()


def test_many_numbers() -> None:
    for n in (100_000, 624 * 64, 624 * 64 + 1, 1_234_567):
        for dtype in FLOATS:
            for name in ("rand", "randn", "uniform_", "normal_ moved", "dropout", "bernoulli_"):
                mine, yours = (DRAWS[name](t, n, getattr(t, dtype)) for t in (pullback, torch))
                assert same(mine, yours), (n, dtype, name)
        assert same(pullback.randperm(n), torch.randperm(n)) and same_state()


def test_generators() -> None:
    mine, yours = pullback.Generator(), torch.Generator()
    assert mine.initial_seed() == yours.initial_seed() == torch.Generator().initial_seed()
    assert same(pullback.rand(5, generator=mine), torch.rand(5, generator=yours))
    assert same(mine.get_state(), yours.get_state())
    assert mine.manual_seed(-3).initial_seed() == yours.manual_seed(-3).initial_seed()
    assert same(mine.get_state(), yours.get_state())
    assert same(pullback.randn(3, generator=mine), torch.randn(3, generator=yours))
    for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine)), mine.clone_state()):
        assert same(other.get_state(), yours.get_state()) and other.initial_seed() == yours.initial_seed()
        assert same(pullback.randn(4, generator=other), torch.randn(4, generator=yours.clone_state()))
    with pullback.random.fork_rng():
        pullback.rand(7)
    with torch.random.fork_rng():
        torch.rand(7)
    assert same_state()


# ---- layers


LAYERS: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda nn: nn.Linear(7, 13),
    "Linear of one": lambda nn: nn.Linear(1, 1),
    "Linear wide": lambda nn: nn.Linear(300, 120, bias=False),
    "Bilinear": lambda nn: nn.Bilinear(3, 4, 5),
    "Conv1d": lambda nn: nn.Conv1d(4, 6, 3, groups=2),
    "Conv2d": lambda nn: nn.Conv2d(3, 8, (3, 5)),
    "Conv3d": lambda nn: nn.Conv3d(2, 3, 2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(4, 6, 3, groups=2),
    "Embedding": lambda nn: nn.Embedding(11, 5, padding_idx=2),
    "EmbeddingBag": lambda nn: nn.EmbeddingBag(10, 3),
    "RNN": lambda nn: nn.RNN(3, 4, 2),
    "LSTM": lambda nn: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2),
    "GRUCell": lambda nn: nn.GRUCell(3, 4),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(8, 2),
    "heads of different widths": lambda nn: nn.MultiheadAttention(8, 2, kdim=3, vdim=5, add_bias_kv=True),
    "Transformer": lambda nn: nn.Transformer(8, 2, 1, 1, 16),
    "AdaptiveLogSoftmax": lambda nn: nn.AdaptiveLogSoftmaxWithLoss(32, 20, [5, 10]),
    "norms": lambda nn: nn.Sequential(nn.BatchNorm1d(3), nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.PReLU(3)),
    "spectral norm": lambda nn: nn.utils.spectral_norm(nn.Linear(4, 5)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_first_parameters_of_layers(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, yours = LAYERS[name](pullback.nn).state_dict(), LAYERS[name](torch.nn).state_dict()
    assert list(mine) == list(yours)
    close = name == "spectral norm"
    for key, value in mine.items():
        assert np.allclose(value.numpy(), yours[key].numpy()) if close else same(value, yours[key]), key
    assert same_state()


INITS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda i, x: i.uniform_(x, -1, 3),
    "normal_": lambda i, x: i.normal_(x, 1, 3),
    "xavier_uniform_": lambda i, x: i.xavier_uniform_(x, 1.3),
    "xavier_normal_": lambda i, x: i.xavier_normal_(x, 1.3),
    "kaiming_uniform_": lambda i, x: i.kaiming_uniform_(x, nonlinearity="relu"),
    "kaiming_normal_": lambda i, x: i.kaiming_normal_(x, 0.1, "fan_out"),
    "trunc_normal_": lambda i, x: i.trunc_normal_(x),
    "trunc_normal_ off centre": lambda i, x: i.trunc_normal_(x, 1.0, 0.5, 1.5, 2.5),
    "trunc_normal_ far away": lambda i, x: i.trunc_normal_(x, 0.0, 1.0, 1.0, 1.5),
    "sparse_": lambda i, x: i.sparse_(x, 0.3),
}


@pytest.mark.parametrize("name", [*INITS, "orthogonal_"])
@pytest.mark.parametrize("shape", [(3, 4), (20, 30), (7, 3)])
def test_inits(name: str, shape: tuple[int, int]) -> None:
    call = INITS.get(name, lambda i, x: i.orthogonal_(x, 2.0))
    mine, yours = call(pullback.nn.init, pullback.empty(shape)), call(torch.nn.init, torch.empty(shape))
    if name == "orthogonal_":
        assert np.allclose(mine.numpy(), yours.numpy(), atol=1e-6)
    else:
        assert same(mine, yours)
    assert same_state()


# ---- data


def batches(t: Any, **options: Any) -> list[Any]:
    data = t.utils.data
    x = t.arange(50.0)
    loader = data.DataLoader(data.TensorDataset(x, x * 2), **options)
    return [[part.tolist() for part in batch] for _ in range(3) for batch in loader]


def test_orders_of_examples() -> None:
    for options in ({"batch_size": 7, "shuffle": True}, {"batch_size": 4}, {"shuffle": True, "drop_last": True}):
        assert batches(pullback, **options) == batches(torch, **options)
        assert same_state()
    mine, yours = pullback.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    assert batches(pullback, shuffle=True, generator=mine) == batches(torch, shuffle=True, generator=yours)
    assert same(mine.get_state(), yours.get_state()) and same_state()


def drawn_by_workers(t: Any, iterable: bool, generator: Any, **options: Any) -> list[Any]:
    """What examples, `worker_init_fn` and the program draw, from three sources."""
    data = t.utils.data

    def one(k: int) -> Any:
        return t.tensor([float(k)]), t.rand(2), random.random(), np.random.rand(), t.initial_seed() % 1000

    class Numbered(data.Dataset):
        def __len__(self) -> int:
            return 11

        def __getitem__(self, k: int) -> Any:
            return one(k)

    class Streamed(data.IterableDataset):
        def __iter__(self) -> Any:
            info = data.get_worker_info()
            return map(one, range(info.id, 11, info.num_workers))

    t.manual_seed(4)
    loader = data.DataLoader(
        Streamed() if iterable else Numbered(), 2, None if iterable else True, num_workers=2, generator=generator,
        worker_init_fn=lambda k: t.rand(k + 1), **options,
    )  # fmt: skip
    found = [[part.tolist() for part in batch] for _ in range(2) for batch in loader]
    return [*found, t.rand(3).tolist()]


@pytest.mark.filterwarnings(r"ignore:os.fork\(\) was called:RuntimeWarning")  # of jax, if a test before has loaded it
@pytest.mark.parametrize("iterable", [False, True])
def test_workers_draw_the_same(iterable: bool) -> None:
    for kept in (False, True):
        assert drawn_by_workers(pullback, iterable, None, persistent_workers=kept) == drawn_by_workers(
            torch, iterable, None, persistent_workers=kept
        )
    mine, yours = pullback.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    assert drawn_by_workers(pullback, iterable, mine) == drawn_by_workers(torch, iterable, yours)
    assert same(mine.get_state(), yours.get_state()) and same_state()


def test_shares_of_processes() -> None:
    for count, parts, drop, shuffle in itertools.product((10, 2, 9), (3, 4), (True, False), (True, False)):
        for rank in range(parts):
            mine, yours = (
                t.utils.data.distributed.DistributedSampler(range(count), parts, rank, shuffle, 7, drop)
                for t in (pullback, torch)
            )
            for epoch in range(2):
                mine.set_epoch(epoch)
                yours.set_epoch(epoch)
                assert list(mine) == list(yours) and len(mine) == len(yours)
                assert (mine.total_size, mine.num_samples) == (yours.total_size, yours.num_samples)


def test_samplers_and_splits() -> None:
    def orders(t: Any) -> list[list[int]]:
        data, g = t.utils.data, t.Generator().manual_seed(1)
        samplers = [
            data.RandomSampler(range(9)), data.RandomSampler(range(9), True, 70),
            data.RandomSampler(range(9), False, 20), data.RandomSampler(range(9), False, 18, g),
            data.RandomSampler(range(9), True, 64, g), data.SubsetRandomSampler([3, 1, 8, 5]),
            data.WeightedRandomSampler([0.1, 0.0, 2.0, 0.7], 9),
            data.WeightedRandomSampler([0.1, 0.3, 2.0, 0.7], 3, False, g), data.SubsetRandomSampler([2, 4, 6], g),
        ]  # fmt: skip
        return [list(s) for s in samplers for _ in range(2)]

    assert orders(pullback) == orders(torch)
    for lengths in ([3, 4, 3], [0.5, 0.25, 0.25]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mine, yours = (t.utils.data.random_split(range(10), lengths) for t in (pullback, torch))
        assert [list(s.indices) for s in mine] == [list(s.indices) for s in yours]
    assert same_state()


def test_other_functions_that_draw() -> None:
    def made(t: Any) -> list[Any]:
        f, x = t.nn.functional, t.linspace(-1, 1, 24).reshape(2, 3, 4)
        return [
            f.gumbel_softmax(x[0], hard=True), f.dropout1d(x), f.dropout3d(x.reshape(2, 3, 4, 1, 1), 0.2),
            f.feature_alpha_dropout(x, 0.4, True), f.scaled_dot_product_attention(x, x, x, dropout_p=0.4),
            f.fractional_max_pool2d(t.rand(1, 2, 6, 6), 2, 3), t.feature_dropout(x, 0.4, True),
            f.rrelu(x, training=True), f.rrelu(x.double().clone(), 0.1, 0.7, True, True), t.rand(1),
            t.svd_lowrank(x[0], 2)[1], t.svd_lowrank(x[0].T, 2)[1], t.pca_lowrank(x.reshape(4, 6), 2)[1],
        ]  # fmt: skip

    for mine, yours in zip(made(pullback), made(torch), strict=True):
        np.testing.assert_allclose(mine.numpy(), yours.numpy(), rtol=1e-5, atol=1e-6)
    assert same_state()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_dropout_between_recurrent_layers(kind: str) -> None:
    def made(t: Any) -> list[Any]:
        x, pack = t.linspace(-1, 1, 60).reshape(4, 5, 3), t.nn.utils.rnn.pack_padded_sequence
        t.manual_seed(3)
        m = getattr(t.nn, kind)(3, 4, 3, dropout=0.4, bidirectional=True, batch_first=True)
        packed = pack(x, t.tensor([2, 5, 1, 4]), batch_first=True, enforce_sorted=False)
        return [m(x)[0].detach(), m(packed)[0].data.detach(), m.eval()(packed)[0].data.detach()]

    for mine, yours in zip(made(pullback), made(torch), strict=True):
        np.testing.assert_allclose(mine.numpy(), yours.numpy(), rtol=1e-5, atol=1e-6)
    assert same_state()


# ---- a program


def program(t: Any) -> None:
    nn, data = t.nn, t.utils.data
    t.manual_seed(3)
    x = t.randn(64, 5)
    y = (x.sum(1) > 0).long()
    train, rest = data.random_split(data.TensorDataset(x, y), [48, 16])
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
    optimizer = t.optim.Adam(model.parameters(), 0.01)
    for _ in range(4):
        total = 0.0
        for rows, wanted in data.DataLoader(train, batch_size=16, shuffle=True):
            loss = nn.functional.cross_entropy(model(rows), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"{total:.4f}")
    print(len(rest), f"{t.rand(1).item():.6f}")


def test_a_program_prints_the_same() -> None:
    printed = []
    for t in (pullback, torch):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            program(t)
        printed.append(text.getvalue())
    assert printed[0] == printed[1]


def test_lanes_draw_together() -> None:
    for t in (pullback, torch):
        t.manual_seed(5)
    x, y = pullback.ones(6, 3), torch.ones(6, 3)
    for randomness in ("same", "different"):
        mine = pullback.func.vmap(lambda v: v + pullback.rand(3) + pullback.randn(4, 3)[2], randomness=randomness)(x)
        yours = torch.func.vmap(lambda v: v + torch.rand(3) + torch.randn(4, 3)[2], randomness=randomness)(y)
        assert same(mine, yours)
        assert same_state()
