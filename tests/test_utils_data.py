"""Loading by threads, and draws whose chances are given: what tests/programs/data.txt cannot show."""

import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

import pullback as torch

D = torch.utils.data


class Noted(D.Dataset):
    """Examples that say which thread made them."""

    def __init__(self, count: int = 10, delay: float = 0.0) -> None:
        self.count, self.delay, self.seen = count, delay, []

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, k: int) -> Any:
        info = D.get_worker_info()
        time.sleep(self.delay)
        self.seen.append((k, threading.get_ident(), info and info.id))
        if k == 99:
            raise KeyError("example 99")
        return torch.tensor([float(k)]) * 2


class Count(D.IterableDataset):
    """Numbers, shared out among the workers."""

    def __iter__(self) -> Any:
        info = D.get_worker_info()
        return iter(range(info.id, 10, info.num_workers) if info else range(10))


def test_workers_load_in_order_each_in_its_thread() -> None:
    data, begun = Noted(11, 0.001), []
    loader = D.DataLoader(data, 2, num_workers=3, worker_init_fn=begun.append)
    batches = [b.flatten().tolist() for b in loader]
    assert batches == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0], [12.0, 14.0], [16.0, 18.0], [20.0]]
    assert sorted(begun) == [0, 1, 2]
    assert {k: number for k, _, number in data.seen} == {k: k // 2 % 3 for k in range(11)}
    assert len({ident for _, ident, _ in data.seen}) == 3 and threading.get_ident() not in {i for _, i, _ in data.seen}
    assert D.get_worker_info() is None


def test_workers_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=20)

    class Meets(D.Dataset):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, k: int) -> int:
            meeting.wait()
            return k

    assert [b.item() for b in D.DataLoader(Meets(), num_workers=2)] == [0, 1]


def test_workers_know_who_they_are() -> None:
    found = []

    def note(number: int) -> None:
        info = D.get_worker_info()
        assert info is not None
        found.append((number, info.id, info.num_workers, info.dataset, info.seed))

    data = Noted(2)
    list(D.DataLoader(data, num_workers=2, worker_init_fn=note))
    assert sorted(row[:3] for row in found) == [(0, 0, 2), (1, 1, 2)]
    assert all(row[3] is data for row in found) and found[0][4] != found[1][4]


def test_workers_of_an_iterable_dataset() -> None:
    assert [b.tolist() for b in D.DataLoader(Count(), 2, num_workers=2)] == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]
    assert sorted(D.DataLoader(Count(), None, num_workers=3)) == list(range(10))
    assert list(D.DataLoader(Count(), None)) == list(range(10))


def test_errors_of_workers_reach_the_loop() -> None:
    loader = D.DataLoader(Noted(120), num_workers=2)
    with pytest.raises(KeyError, match="example 99"):
        list(loader)

    def broken(number: int) -> None:
        raise ValueError(f"no worker {number}")

    with pytest.raises(ValueError, match="no worker 0"):
        list(D.DataLoader(Noted(2), num_workers=2, worker_init_fn=broken))


def test_a_slow_worker_is_given_up() -> None:
    with pytest.raises(RuntimeError, match=r"timed out after 0\.02 seconds"):
        list(D.DataLoader(Noted(2, 0.3), num_workers=1, timeout=0.02))


def test_a_loop_that_ends_early_stops_its_workers() -> None:
    data = Noted(1000, 0.001)
    for k, _ in enumerate(D.DataLoader(data, num_workers=2, prefetch_factor=3)):
        if k == 3:
            break
    time.sleep(0.1)
    seen = len(data.seen)
    time.sleep(0.05)
    assert len(data.seen) == seen < 30


def test_tensors_of_workers_are_tensors() -> None:
    w = torch.ones(1, requires_grad=True)
    for batch in D.DataLoader(Noted(4), 2, num_workers=2):
        (batch * w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [12.0]


def test_rows_of_tensors_are_taken_at_once() -> None:
    """A dataset of rows gives what its examples stacked give, gradients included."""
    x = torch.randn(7, 3, requires_grad=True)
    y = torch.arange(7)
    rows = D.Subset(D.TensorDataset(x, y), [6, 0, 5, 5, 1])

    class Plain(D.Dataset):
        def __len__(self) -> int:
            return len(rows)

        def __getitem__(self, k: int) -> Any:
            return rows[k]

    quick, slow = (list(D.DataLoader(data, 2)) for data in (rows, Plain()))
    assert [[t.tolist() for t in batch] for batch in quick] == [[t.tolist() for t in batch] for batch in slow]
    assert [type(b) for b in quick] == [type(b) for b in slow] == [list] * 3
    torch.stack([batch[0].sum() for batch in quick]).sum().backward()
    assert x.grad is not None and x.grad[:, 0].tolist() == [1, 1, 0, 0, 0, 2, 1]
    with pytest.raises(IndexError):
        list(D.DataLoader(D.TensorDataset(y), sampler=[7]))


def test_the_seed_decides_everything() -> None:
    def drawn() -> list[Any]:
        torch.manual_seed(3)
        weights = [0.1, 0.4, 0.0, 0.5]
        return [
            list(D.RandomSampler(range(9))),
            list(D.RandomSampler(range(9), replacement=True)),
            list(D.SubsetRandomSampler("abcd")),
            list(D.WeightedRandomSampler(weights, 20)),
            list(D.WeightedRandomSampler(weights, 3, replacement=False)),
            [s.indices for s in D.random_split(range(9), [4, 5])],
            torch.rand(1).item(),
        ]

    first, second = drawn(), drawn()
    assert first == second
    torch.manual_seed(4)
    assert list(D.RandomSampler(range(9))) != first[0]


def test_weights_are_chances() -> None:
    torch.manual_seed(0)
    weights = np.array([1.0, 0.0, 2.0, 7.0])
    count = Counter(D.WeightedRandomSampler(weights.tolist(), 20_000))
    assert count[1] == 0
    assert np.allclose([count[k] / 20_000 for k in range(4)], weights / weights.sum(), atol=0.012)
    first = Counter(next(iter(D.WeightedRandomSampler(weights.tolist(), 2, replacement=False))) for _ in range(1000))
    assert first[1] == 0 and abs(first[3] / 1000 - 0.7) < 0.06
    for faulty in ([-1.0, 2.0], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]):
        with pytest.raises(RuntimeError, match="finite"):
            list(D.WeightedRandomSampler(faulty, 1))


def test_orders_are_all_as_likely() -> None:
    torch.manual_seed(0)
    count = Counter(tuple(D.RandomSampler(range(3))) for _ in range(1200))
    assert len(count) == 6 and max(count.values()) < 260 and min(count.values()) > 140
