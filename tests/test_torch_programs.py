"""What PyTorch's programs ask for beside numbers: scripting, one process, profilers, nested data, and torch's name."""

import subprocess
import sys
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import pytest

import pullback as torch
from pullback import nn

dist: Any = torch.distributed
PAIR = namedtuple("PAIR", "x y")


def python(text: str, cwd: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *(words or ("-c", text))], cwd=cwd, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_jit_is_the_compilers_and_has_torchscripts_names() -> None:
    jit: Any = torch.jit
    assert torch.jit(lambda x: x * x)(3.0) == 9.0
    model = nn.Linear(2, 1)
    assert jit.script(model) is model and jit.trace(model, torch.ones(1, 2)) is model
    assert not jit.is_scripting() and not jit.is_tracing()

    @jit.ignore(drop=True)
    def plain(x: int) -> int:
        return x

    class Doubled(jit.ScriptModule):
        @jit.script_method
        def forward(self, x: int) -> int:
            return 2 * x

    class Offset(Doubled, nn.Linear):
        def __init__(self) -> None:
            super().__init__(1, 1)

    assert Doubled()(3) == 6 and isinstance(Doubled(), nn.Module) and isinstance(Doubled(), jit.ScriptModule)
    assert Offset()(2) == 4 and len([*Offset().parameters()]) == 2 and issubclass(Offset, jit.ScriptModule)
    assert not isinstance(model, jit.ScriptModule) and isinstance(jit.ScriptModule(), nn.Module)
    assert plain(2) == 2 and jit.annotate(int, 3) == 3
    assert jit.isinstance([1, 2], list[int]) and not jit.isinstance([1, "a"], list[int])
    assert jit.wait(jit.fork(max, 1, 2)) == 2
    with pytest.raises(RuntimeError, match="eval mode"):
        jit.freeze(model)
    with pytest.raises(NotImplementedError, match=r"use pullback\.save"):
        jit.save(model, "model.pt")


def test_who_compiles_functions_of_numpy_loads_no_modules(tmp_path: Path) -> None:
    loaded = "[n for n in sys.modules if 'runtime.nn' in n]"
    text = f"import sys, pullback; pullback.jit(lambda x: x * x)(3.0); print({loaded})"
    assert python(text, tmp_path) == "[]\n"


def test_jit_can_be_imported(tmp_path: Path) -> None:
    text = "import pullback.jit as j, pullback; from pullback.jit import Final, script; print(j is pullback.jit)"
    assert python(text, tmp_path) == "True\n"


def test_one_process_is_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    model = nn.Linear(2, 1)
    assert dist.is_available() and not dist.is_initialized()
    for call in (dist.get_rank, dist.barrier, lambda: nn.parallel.DistributedDataParallel(model)):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    with pytest.raises(NotImplementedError, match="there is one process"):
        dist.init_process_group("gloo", world_size=2, rank=0)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(NotImplementedError, match="4 processes"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group("gloo")
    try:
        x, held = torch.ones(2), [torch.zeros(2)]
        dist.all_reduce(x)
        dist.all_gather(held, x)
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
        assert torch.equal(held[0], x) and dist.broadcast(x, 0, async_op=True).wait()
        wrapped = nn.parallel.DistributedDataParallel(model)
        assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
        with wrapped.no_sync():
            wrapped(torch.ones(1, 2)).sum().backward()
        assert model.weight.grad is not None
        with pytest.raises(NotImplementedError, match="there is one process"):
            dist.send(x, 1)
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_profilers_keep_to_their_schedule() -> None:
    P: Any = torch.profiler
    ready = []
    with P.profile(schedule=P.schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready.append) as p:
        for _ in range(10):
            with P.record_function("step"):
                torch.ones(2).sum()
            p.step()
    assert len(ready) == 2 and "nothing is measured" in p.key_averages().table(sort_by="cpu_time_total")
    with torch.autograd.profiler.profile(use_cuda=False) as older:
        pass
    assert list(older.key_averages()) == []


def test_trees() -> None:
    T: Any = __import__("pullback.utils._pytree", fromlist=["tree_map"])
    tree = {"a": 1, "b": [2, PAIR(3, OrderedDict(k=4))], "c": (None,)}
    leaves, spec = T.tree_flatten(tree)
    assert leaves == [1, 2, 3, 4, None] and T.tree_unflatten(leaves, spec) == tree
    assert T.tree_map(lambda x, y: (x, y), [1, (2,)], [3, (4,)]) == [(1, 3), ((2, 4),)]
    assert T.tree_map_only(int, lambda x: -x, [1, "a"]) == [-1, "a"]
    with pytest.raises(ValueError, match="leaves"):
        T.tree_unflatten([1], spec)


def test_classes_that_answer_for_functions() -> None:
    over: Any = torch.overrides

    class Answers:
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return function.__name__, args

    @over.wrap_torch_function(lambda x: (x,))
    def double(x: Any) -> Any:
        return 2 * x

    given = Answers()
    assert double(3) == 6 and double(given) == ("double", (given,))
    assert over.is_tensor_like(given) and over.is_tensor_like(torch.ones(1)) and not over.is_tensor_like(3)


@pytest.mark.parametrize(
    ("name", "said"),
    [("hub.load", "nothing is fetched"), ("onnx.export", "pullback.build"), ("distributed.send", "one process")],
)
def test_what_is_refused_can_be_imported_and_says_why(name: str, said: str) -> None:
    module, _, short = name.partition(".")
    with pytest.raises(NotImplementedError, match=said):
        getattr(getattr(torch, module), short)()


def test_pullback_stands_in_for_torch(tmp_path: Path) -> None:
    """Packages that import torch find ours, and after the block there is none."""
    (tmp_path / "package.py").write_text(
        "import torch, torch.nn.functional as F\nfrom torch.optim.adam import Adam\nimport torch.jit\n"
        "from torch.nn.modules.loss import _Loss\nfrom importlib.metadata import version\n"
        "assert torch.__version__ >= (2, 1) and torch.__version__ > '2.9' and version('torch') == '2.13.0'\n"
    )
    text = (
        "import pullback, sys\nwith pullback.as_torch():\n    import package, torch\n"
        "    print(package.F is pullback.nn.functional, torch.ones(2).sum().item(), torch.nn is pullback.nn)\n"
        "print('torch' in sys.modules, package.torch.zeros(1).shape)\n"
        "pullback.as_torch()\nimport torch.utils.data\n"
        "try: import torch.nowhere\nexcept ImportError as error: print(error)"
    )
    said = python(text, tmp_path).splitlines()
    assert said[:2] == ["True 2.0 True", "False torch.Size([1])"]
    assert said[2] == "No module named 'torch.nowhere': pullback stands in for torch, and has no 'pullback.nowhere'"


def test_it_does_not_take_the_name_from_torch_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", type(sys)("torch"))
    with pytest.raises(RuntimeError, match="torch itself is imported already"):
        torch.as_torch()


def test_the_command_line_runs_a_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys, torch\nprint(sys.argv, __name__, torch.ones(1).item())\n")
    said = python("", tmp_path, "-m", "pullback", "torch", "train.py", "--lr", "0.1")
    assert said == "['train.py', '--lr', '0.1'] __main__ 1.0\n"
    said = python("", tmp_path, "-m", "pullback", "torch", "-m", "train", "-h")
    assert said.endswith("'-h'] __main__ 1.0\n")


def test_comparisons_say_what_differs() -> None:
    close: Any = torch.testing.assert_close
    close({"a": [torch.ones(2), 1.0]}, {"a": [torch.ones(2) + 1e-7, 1.0 + 1e-9]})
    with pytest.raises(AssertionError, match=r"Mismatched elements: 1 / 2 \(50.0%\)"):
        close(torch.ones(2), torch.tensor([1.0, 2.0]))
    with pytest.raises(AssertionError, match=r"item \['a'\]\[0\]"):
        close({"a": [1.0]}, {"a": [2.0]})
    made: Any = torch.testing.make_tensor(3, 4, dtype=torch.float64, device="cpu", low=0, high=1, noncontiguous=True)
    assert made.shape == (3, 4) and not made.is_contiguous() and bool(((made >= 0) & (made < 1)).all())


def test_files_of_pytorch_s_are_there_with_their_packages():
    program = (
        "import torch\n"
        "assert torch.distributions.normal.Normal is torch.distributions.Normal\n"
        "assert torch.distributions.cauchy.Cauchy is torch.distributions.Cauchy\n"
        "assert torch.nn.utils.clip_grad.clip_grad_norm_ is torch.nn.utils.clip_grad_norm_\n"
        "assert torch.amp.grad_scaler.GradScaler is torch.amp.GradScaler\n"
        "assert torch.optim.sparse_adam.SparseAdam is torch.optim.SparseAdam\n"
        "assert not hasattr(torch.distributions, 'nothing') and not hasattr(torch.utils, 'nothing')\n"
    )
    for first in ("", "import pullback; pullback.as_torch()\n"):
        source = first + (program if first else program.replace("import torch", "import pullback as torch"))
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
        assert not done.returncode, done.stderr
