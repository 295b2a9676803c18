"""Loading by processes, lazy samplers, and draws whose chances are given: what tests/programs/data.txt cannot show."""

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as torch

D = torch.utils.data


class Noted(D.Dataset):
    """Examples that say which process made them."""

    def __init__(self, count: int = 10, delay: float = 0.0) -> None:
        self.count, self.delay, self.note = count, delay, 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, k: int) -> Any:
        info = D.get_worker_info()
        time.sleep(self.delay)
        if k == 99:
            raise KeyError("example 99")
        return torch.tensor([float(k)]) * 2, os.getpid(), info.id if info else -1, self.note


class Count(D.IterableDataset):
    """Numbers, shared out among the workers."""

    def __iter__(self) -> Any:
        info = D.get_worker_info()
        return iter(range(info.id, 10, info.num_workers) if info else range(10))


class Odd(D.Dataset):
    """Example 3 is what the test says."""

    def __init__(self, what: Any) -> None:
        self.what = what

    def __len__(self) -> int:
        return 8

    def __getitem__(self, k: int) -> Any:
        return self.what() if k == 3 else k


def noted(number: int) -> None:
    info = D.get_worker_info()
    assert info is not None and info.id == number and info.seed % 2**63 > 0
    info.dataset.note = 10 * info.num_workers + number


def ended(pids: Any) -> bool:
    """Whether processes are gone, or going within two seconds."""
    for _ in range(200):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.01)
    return False


def test_workers_load_in_order_each_in_its_process() -> None:
    loader = D.DataLoader(Noted(11), 2, num_workers=2, worker_init_fn=noted)
    batches = list(loader)
    values = [b[0].flatten().tolist() for b in batches]
    assert values == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0], [12.0, 14.0], [16.0, 18.0], [20.0]]
    assert [b[2].tolist()[0] for b in batches] == [0, 1, 0, 1, 0, 1] and D.get_worker_info() is None
    assert [b[3].tolist()[0] for b in batches] == [20, 21, 20, 21, 20, 21] and loader.dataset.note == 0
    pids = {int(b[1][0]) for b in batches}
    assert len(pids) == 2 and os.getpid() not in pids and ended(pids)


def test_workers_may_be_started_anew() -> None:
    loader = D.DataLoader(Noted(3), None, num_workers=1, worker_init_fn=noted, multiprocessing_context="spawn")
    assert [(b[0].item(), b[2], b[3]) for b in loader] == [(0.0, 0, 10), (2.0, 0, 10), (4.0, 0, 10)]


def test_workers_are_kept() -> None:
    loader = D.DataLoader(Noted(6), 2, num_workers=2, persistent_workers=True, worker_init_fn=noted)
    first, second = ([b[1].tolist() for b in loader] for _ in range(2))
    for k, batch in enumerate(loader):  # one iteration is left, and the next begins anew
        assert batch[0].flatten().tolist() == [4.0 * k, 4.0 * k + 2]
        if k == 1:
            break
    assert first == second == [b[1].tolist() for b in loader]
    pids = {pid for batch in first for pid in batch}
    del loader
    assert ended(pids)
    stream = D.DataLoader(Count(), 2, num_workers=2, persistent_workers=True)
    assert [b.tolist() for b in stream] == [b.tolist() for b in stream]


def test_workers_of_an_iterable_dataset() -> None:
    assert [b.tolist() for b in D.DataLoader(Count(), 2, num_workers=2)] == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]
    assert [b.tolist() for b in D.DataLoader(Count(), 2, num_workers=2, drop_last=True)][-1] == [5, 7]
    assert sorted(D.DataLoader(Count(), None, num_workers=3)) == list(range(10))
    assert list(D.DataLoader(Count(), None)) == list(range(10))


def test_whoever_is_first_may_come_first() -> None:
    class Slow(D.Dataset):
        def __len__(self) -> int:
            return 5

        def __getitem__(self, k: int) -> int:
            time.sleep(0.4 if k == 0 else 0.0)
            return k

    found = [b.item() for b in D.DataLoader(Slow(), num_workers=2, in_order=False, prefetch_factor=1)]
    assert sorted(found) == [0, 1, 2, 3, 4] and found[-1] == 0


def test_errors_of_workers_reach_the_loop() -> None:
    loader = D.DataLoader(Noted(100), num_workers=2)
    with pytest.raises(KeyError, match=r"(?s)Caught KeyError in DataLoader worker process 1\..*example 99"):
        list(loader)

    def broken(number: int) -> None:
        raise ValueError(f"no worker {number}")

    with pytest.raises(ValueError, match=r"(?s)worker process 0.*no worker 0"):
        list(D.DataLoader(Noted(2), num_workers=2, worker_init_fn=broken))

    class Own(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(a, b)

    def own() -> None:
        raise Own(1, 2)

    for what, words in ((own, "Own.*1, 2"), (lambda: [lambda: 0], "pickle"), (lambda: torch.ones(1), "")):
        steps = iter(D.DataLoader(Odd(what), None, num_workers=2))
        found = []
        for _ in range(8):
            try:
                found.append(next(steps))
            except Exception as error:
                assert words and re.search(f"(?s){words}", str(error)), error
        assert [x for x in found if isinstance(x, int)] == [0, 1, 2, 4, 5, 6, 7]
        with pytest.raises(StopIteration):
            next(steps)


def test_a_history_stays_in_its_process() -> None:
    w = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"(?s)history.*detach"):
        list(D.DataLoader(Odd(lambda: w * 2), None, num_workers=1))
    assert list(D.DataLoader(Odd(lambda: w), None, num_workers=1))[3].requires_grad


def test_parts_travel_without_the_whole() -> None:
    whole = torch.arange(3_000_000.0)
    steps = iter(D.DataLoader(Odd(lambda: whole[1:3]), None, num_workers=1))
    found = [next(steps) for _ in range(4)][3]
    assert found.tolist() == [1, 2] and found._storage is None


def test_workers_that_end_or_hang() -> None:
    with pytest.raises(RuntimeError, match=r"exited unexpectedly \(exit code -9\)"):
        list(D.DataLoader(Odd(lambda: os.kill(os.getpid(), signal.SIGKILL)), num_workers=2))
    with pytest.raises(RuntimeError, match=r"exited unexpectedly \(exit code 3\)"):
        list(D.DataLoader(Odd(lambda: os._exit(3)), num_workers=2))
    with pytest.raises(RuntimeError, match=r"timed out after 0\.02 seconds"):
        list(D.DataLoader(Noted(2, 0.3), num_workers=1, timeout=0.02))


def test_a_loop_that_ends_early_stops_its_workers() -> None:
    """Also where neither side reads: batches and lists of numbers are longer than a pipe holds."""
    class Large(D.Dataset):
        def __len__(self) -> int:
            return 1 << 20

        def __getitems__(self, numbers: Any) -> Any:
            return [os.getpid(), np.zeros(1 << 18)]

        def __getitem__(self, k: int) -> Any:
            return k

    pids = set()
    start = time.monotonic()
    loader = D.DataLoader(Large(), 1 << 16, num_workers=2, prefetch_factor=4, collate_fn=lambda b: b)
    for k, batch in enumerate(loader):
        pids.add(batch[0])
        if k == 3:
            break
    assert len(pids) == 2 and ended(pids) and time.monotonic() - start < 30


LEAVES = """
import os, sys, time
import pullback as torch
D = torch.utils.data
class Slow(D.Dataset):
    def __len__(self): return 100
    def __getitem__(self, k): return os.getpid()
steps = iter(D.DataLoader(Slow(), num_workers=2, persistent_workers=sys.argv[1] == "kept"))
print(next(steps).item(), next(steps).item(), flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["kept", "killed"])
def test_no_worker_outlives_the_program(how: str) -> None:
    done = subprocess.run([sys.executable, "-c", LEAVES, how], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == "" and done.returncode == (-9 if how == "killed" else 0)
    assert ended(done.stdout.split())


def test_tensors_of_workers_are_tensors() -> None:
    w = torch.ones(1, requires_grad=True)
    for batch in D.DataLoader(Noted(4), 2, num_workers=2, pin_memory=True):
        (batch[0] * w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [12.0]
    x = torch.arange(12.0).reshape(4, 3)
    assert [b[0].tolist() for b in D.DataLoader(D.TensorDataset(x), 2, num_workers=2)] == [
        x[:2].tolist(), x[2:].tolist(),
    ]  # fmt: skip


def test_what_a_loader_refuses() -> None:
    cases: tuple[tuple[type[Exception], str, dict[str, Any]], ...] = (
        (ValueError, "start method", {"num_workers": 1, "multiprocessing_context": "thread"}),
        (TypeError, "context object", {"num_workers": 1, "multiprocessing_context": 3}),
        (ValueError, "num_workers > 0", {"multiprocessing_context": "fork"}),
        (ValueError, "num_workers > 0", {"persistent_workers": True}),
    )
    for error, words, options in cases:
        with pytest.raises(error, match=words):
            D.DataLoader([1], **options)
    with pytest.raises(AssertionError, match="prefetch_factor"):
        iter(D.DataLoader([1], num_workers=1, prefetch_factor=0))


def test_samplers_are_lazy() -> None:
    start = time.process_time()
    for sampler in (
        D.RandomSampler(range(10**12), replacement=True, num_samples=10**10), D.SequentialSampler(range(10**10)),
        D.DistributedSampler(range(10**10), 3, 1, shuffle=False),
    ):  # fmt: skip
        assert len(list(itertools.islice(D.BatchSampler(sampler, 4, True), 100))) == 100
        assert len(D.BatchSampler(sampler, 4, True)) == len(sampler) // 4
        assert len(list(itertools.islice(D.DataLoader(range(10**12), 4, sampler=sampler), 10))) == 10
    state = torch.get_rng_state()
    iter(D.WeightedRandomSampler([1.0, 2.0], 10**6))
    assert torch.get_rng_state().tolist() == state.tolist() and time.process_time() - start < 5.0


def test_shares_of_processes() -> None:
    for count, parts, drop, shuffle in itertools.product((10, 2, 9), (3, 4), (True, False), (True, False)):
        shares = [D.DistributedSampler(range(count), parts, k, shuffle, 7, drop) for k in range(parts)]
        found = [list(s) for s in shares]
        assert {len(f) for f in found} == {len(s) for s in shares} and len({len(f) for f in found}) == 1
        every = Counter(itertools.chain(*found))
        assert len(every) == (count if not drop else len(found[0]) * parts)
        if shuffle and count == 10:
            shares[0].set_epoch(1)
            assert list(shares[0]) != found[0]
    with pytest.raises(ValueError, match="Invalid rank 3"):
        D.DistributedSampler(range(3), 3, 3)


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
