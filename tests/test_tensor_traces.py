"""How Tensors are computed: recorded, run op by op, compiled when seen again, replayed; with the same bits."""

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.compiler.ir.graph import Graph
from pullback.compiler.ir.verify import verify
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.trace import engine, plans, tape
from pullback.runtime.tensor.trace.fragments.fragments import Fragment

F = torch.nn.functional


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No trace is known yet, and nothing is recorded."""
    tape.flush()
    forget_calls()
    tape.tapes.tape.begin()
    yield
    tape.flush()


def counted(run: Callable[[], Any]) -> dict[str, int]:
    """What `run` adds to the counts of `explain`."""
    before = plans.explain()
    run()
    return {k: v - before[k] for k, v in plans.explain().items() if v != before[k]}


def network(x: Any, y: Any, w: Any, v: Any) -> list[Any]:
    hidden = (x @ w + v).tanh()
    loss = F.cross_entropy(hidden @ w, y) + (hidden.softmax(1).std(0) ** 2).sum() + w.norm()
    return [loss, hidden, *torch.autograd.grad(loss, [w, v])]


def elementary(x: Any, y: Any, w: Any, v: Any) -> list[Any]:
    z = x.exp() + (x * x).log1p() - x.sin() * F.gelu(x) + x.sigmoid() ** 2.5
    loss = (z.var(1) * F.softplus(z).mean(1)).sum()
    z = (z + 0.25).clamp(-1, 2)
    return [z, *torch.autograd.grad(loss, x), z.max(1).values, z.argmax(0)]


@pytest.mark.parametrize("program", [network, elementary])
@pytest.mark.parametrize("shape", [(7, 5), (64, 33), (1, 1), (300, 40)])
def test_compiled_traces_have_the_bits_of_single_operations(program: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x = torch.tensor(rng.normal(size=shape), dtype=torch.float32, requires_grad=True)
    w = torch.tensor(rng.normal(size=(shape[1], shape[1])), dtype=torch.float32, requires_grad=True)
    v = torch.tensor(rng.normal(size=shape[1]), dtype=torch.float32, requires_grad=True)
    y = torch.tensor(rng.integers(0, shape[1], shape[0]))
    runs = [[t.detach().numpy().tobytes() for t in program(x, y, w, v)] for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]
    assert plans.explain()["replayed"] > 0


def test_a_training_step_becomes_one_kernel() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(8, 6), torch.randint(3, (8,))

    def step() -> None:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()

    for _ in range(4):
        step()
    assert counted(lambda: [step() for _ in range(5)]) == {"recorded": 5 * 18, "replayed": 5}


UNREAD = """
import pullback as torch
w = torch.ones(4, requires_grad=True)
for k in range(11):
    loss = ((w * w - 1) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w.sub_(w.grad, alpha=0.01)
    w.grad = None
    if k == 7:
        before = torch.explain()["replayed"]
assert torch.explain()["replayed"] - before == 3, torch.explain()
"""


def test_a_loop_that_reads_nothing_has_a_period_too() -> None:
    # In a process of its own: functions whose calls were often not understood are called plainly from then on.
    run = subprocess.run([sys.executable, "-c", UNREAD], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


NUMBERS = """
import operator
import pullback as torch
x = torch.ones(3)
for refused in ([1], (1.0,), [1, 2.5], None, "a", {1: 2}):
    for apply in (operator.add, operator.mul, operator.truediv, operator.eq, operator.iadd, operator.imul):
        for _ in range(20):
            try:
                apply(x, refused)
            except TypeError:
                pass

def run(number):
    return ((x * number + number) / 3).sum().item()

def told():
    return [torch.explain()[key] for key in ("recorded", "cold", "replayed")]

assert [run(n) for n in (1.0, 2.0)] == [2.0, 4.0]
before = told()
assert run(7.5) == 15.0
assert [now - then for now, then in zip(told(), before)] == [4, 0, 1], torch.explain()
assert run(-0.0) == 0.0 and run(float("inf")) == float("inf")
"""


def test_numbers_are_inputs_also_after_operands_that_were_refused() -> None:
    # In a process of its own, as above.
    run = subprocess.run([sys.executable, "-c", NUMBERS], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_equal_numbers_of_different_kinds_are_different() -> None:
    i = torch.arange(3)
    assert (i + 1).dtype is torch.int64
    assert (i + 1.0).dtype is torch.float32
    assert (i > 0).add(True).dtype is torch.bool
    for _ in range(3):
        assert (1 / (torch.ones(1) * 0.0)).item() == float("inf")
        assert (1 / (torch.ones(1) * -0.0)).item() == -float("inf")


def test_what_nobody_refers_to_is_not_computed() -> None:
    def run() -> None:
        x = torch.ones(3) * 2
        del x
        tape.flush()

    assert counted(run) == {}


def test_which_results_are_referred_to_is_part_of_a_trace() -> None:
    def run(keep: bool) -> float:
        a = torch.ones(3) * 2
        b = a + 1
        c = a if keep else None
        total = b.sum().item()
        return total + (0.0 if c is None else c.sum().item())

    for _ in range(3):
        assert run(False) == 9.0 and run(True) == 15.0


def test_long_traces_are_run() -> None:
    x = y = torch.ones(2)

    def run() -> None:
        nonlocal y
        for _ in range(tape.BOUND + 10):
            y = y * 1.0

    assert counted(run)["recorded"] == tape.BOUND
    assert y.tolist() == [1.0, 1.0] and x.tolist() == [1.0, 1.0]


def test_chains_longer_than_the_stack() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x
    limit = sys.getrecursionlimit()
    for k in range(20 * limit):
        y = y + 0.5 if k % 2 else y * 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert y.tolist() == [1 + 5.0 * limit, 1 + 5.0 * limit]
    del y


def test_backward_frees_what_was_saved() -> None:
    x = torch.ones(1000, requires_grad=True)
    z = x.exp()
    loss = (z * z).sum()
    saved = weakref.ref(z._cell)
    del z
    loss.item()
    assert saved() is not None
    loss.backward()
    tape.flush()
    assert saved() is None


def test_dropped_graphs_need_no_garbage_collector() -> None:
    x = torch.ones(10, requires_grad=True)
    gc.disable()
    try:
        z = x.tanh()
        node, cell = weakref.ref(z.grad_fn), weakref.ref(z._cell)
        loss = z.sum()
        del z, loss
        tape.flush()
        assert node() is None and cell() is None
    finally:
        gc.enable()


def test_plans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "KEPT", 2)
    for n in range(1, 8):
        for _ in range(2):
            (torch.ones(n) + 1).mul(2).sum().item()
    assert len(plans._plans) == 2


def test_states_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape, "STATES", 50)
    for n in range(1, 60):
        assert (torch.ones(n) + n).mul(2).sum().item() == 2 * n * (n + 1)
        assert tape.forest.states < 70


def test_operations_know_the_users_line(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: list[Graph] = []
    original = plans.kernel_of

    def keeping(plan: plans.Plan) -> Any:
        graphs.append(verify(plan.graph()))
        return original(plan)

    monkeypatch.setattr(plans, "kernel_of", keeping)
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        x.grad = None
        y = x.exp() + x.relu() + x.relu()
        loss = y.sum()
        loss.backward()
        loss.item()
    (graph,) = graphs
    first = sys._getframe().f_lineno - 5
    wheres = [op.where for op in graph.body]
    assert all(w is not None and w.file == __file__ for w in wheres)
    assert {w.line for w in wheres if w is not None} == {first, first + 1, first + 2}
    assert [op.prim.name for op in graph.body].count("exp") == 1, "the pullback reads the result"


def test_a_failure_is_told_to_everybody_who_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: tape.Tape, step: bool) -> Any:
        raise MemoryError("no memory")

    def failed(times: int) -> list[Any]:
        a = torch.ones(3 * times) + 1  # of another shape, so that no kernel is known
        b = a * 2
        with monkeypatch.context() as patch:
            patch.setattr(tape.Tape, "_run", failing)
            for _ in range(times):
                with pytest.raises(MemoryError):
                    b.tolist()
        return [a, b]

    a, b = failed(1)  # what it was computed from is there still
    assert b.tolist() == [4.0, 4.0, 4.0] and a.tolist() == [2.0, 2.0, 2.0]
    for lost in failed(2):
        with pytest.raises(RuntimeError, match="failed") as caught:
            lost.tolist()
        assert isinstance(caught.value.__cause__, MemoryError)
    assert (torch.ones(3) + 1).tolist() == [2.0, 2.0, 2.0]


def test_a_trace_that_cannot_be_compiled_runs_op_by_op(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(plan: plans.Plan) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr(plans, "kernel_of", failing)
    x = torch.ones(3)

    def run() -> float:
        return (x * 2 + 1).sum().item()

    assert run() == 9.0
    with pytest.warns(RuntimeWarning, match=r"3 Tensor operations .*test_tensor_traces.*KeyError: 'a bug'"):
        assert run() == 9.0
    assert run() == 9.0


def test_an_interrupt_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Fragment, arrays: Any) -> Any:
        raise KeyboardInterrupt

    a = torch.ones(1, 7, 3, 1) + 1  # which no other test has run so often that it is called natively
    with monkeypatch.context() as patch:
        patch.setattr(Fragment, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            a.tolist()
    assert (a * 2).ravel().tolist() == [4.0] * 21 and a.ravel().tolist() == [2.0] * 21


def in_threads(count: int, run: Callable[[int], None]) -> None:
    failures: list[BaseException] = []

    def guarded(k: int) -> None:
        try:
            run(k)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failures, failures


def test_every_thread_has_a_tape_and_a_mode() -> None:
    x = torch.ones(3, requires_grad=True) * 2

    def run(k: int) -> None:
        assert torch.is_grad_enabled()
        with torch.no_grad():
            y = x
            for n in range(200):
                y = y + (k if n % 2 else -k)
            assert y.tolist() == [2.0, 2.0, 2.0] and not y.requires_grad

    with torch.no_grad():
        in_threads(4, run)


def test_a_value_recorded_in_another_thread_can_be_read() -> None:
    made: list[Any] = []
    in_threads(1, lambda k: made.append(torch.ones(3, requires_grad=True) * 3))
    assert (made[0] + 1).tolist() == [4.0, 4.0, 4.0]
    pending = torch.ones(3) * 5
    read: list[Any] = []
    in_threads(4, lambda k: read.append((pending * 2).tolist()))
    assert read == [[10.0, 10.0, 10.0]] * 4


def test_a_batch_cut_from_data_does_not_change_the_trace() -> None:
    data = torch.arange(40.0).reshape(10, 4)
    w = torch.ones(4, requires_grad=True)

    def run(start: int) -> float:
        total = (data[start : start + 2] @ w).sum()
        return total.item()

    want = [sum(range(4 * s, 4 * s + 8)) for s in range(6)]
    assert [run(s) for s in range(2)] == want[:2]
    got: list[float] = []
    assert counted(lambda: got.extend(run(s) for s in range(2, 6)))["replayed"] == 4
    assert got == want[2:]


CHANGING: dict[str, Callable[[Any, float], Any]] = {
    "delta": lambda x, p: F.huber_loss(x, x.detach() * 0.5, delta=p),
    "epsilon": lambda x, p: F.layer_norm(x, (6,), eps=p).square().mean(),
    "dropout": lambda x, p: F.dropout(x, p / 2).mean(),
    "smoothing": lambda x, p: F.cross_entropy(x[None], torch.tensor([2]), label_smoothing=p),
    "NumPy's": lambda x, p: (x * np.sqrt(p) / np.float32(p)).mean(),
}


@pytest.mark.parametrize("name", CHANGING)
def test_numbers_that_change_compile_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    for module in (plans, engine):
        compiled = module.kernel_of
        monkeypatch.setattr(module, "kernel_of", lambda of, compiled=compiled: made.append(of) or compiled(of))
    x = torch.tensor([0.5, -1.0, 2.0, 0.25, -3.0, 1.5], requires_grad=True)
    descent = torch.optim.SGD([x], lr=0.125)

    def steps(first: int, count: int) -> int:
        for k in range(first, first + count):
            descent.zero_grad()
            CHANGING[name](x, 0.25 + 0.5 / k).backward()
            descent.param_groups[0]["lr"] = 0.125 + np.cos(k) / 16
            descent.step()
        return len(made)

    assert steps(1, 24) == steps(25, 40)


def test_a_loss_that_is_read_before_backward_leaves_the_step_whole() -> None:
    net, x = torch.nn.Linear(5, 1), torch.ones(3, 5)
    descent = torch.optim.SGD(net.parameters(), lr=0.125)
    whole = []
    for _ in range(6):
        descent.zero_grad()
        loss = net(x).square().mean()
        serial = tape.tapes.tape.serial
        value = loss.item()
        loss.backward()
        whole.append(tape.tapes.tape.serial == serial)
        descent.step()
        assert value == pytest.approx(loss.item())
    assert not whole[0] and whole[-1], whole
