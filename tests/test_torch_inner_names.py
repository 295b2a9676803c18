"""What packages reach into PyTorch for: NumPy's names of arguments, subclasses of tensors, inner modules."""

# pyright: reportCallIssue=false, reportUnusedExpression=false, reportAttributeAccessIssue=false

import multiprocessing
import pickle
import subprocess
import sys
import warnings
from copy import copy, deepcopy

import numpy as np
import pytest

import pullback as torch
from pullback.distributed import nn as collectives
from pullback.nn import _reduction
from pullback.nn.modules import utils
from pullback.utils import _foreach_utils

X = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(("ours", "numpys"), [
    (lambda: torch.stack([X, X], dim=1), lambda: torch.stack([X, X], axis=1)),
    (lambda: torch.amax(X, dim=0, keepdim=True), lambda: torch.amax(X, axis=0, keepdims=True)),
    (lambda: X.cumsum(dim=1), lambda: X.cumsum(axis=1)),
    (lambda: X.sort(dim=0)[0], lambda: X.sort(axis=0)[0]),
    (lambda: torch.add(X, X), lambda: torch.add(x1=X, x2=X)),
    (lambda: torch.sin(X), lambda: torch.sin(a=X)),
    (lambda: torch.fft.fft(X, dim=0).real, lambda: torch.fft.fft(X, axis=0).real),
    (lambda: torch.linalg.norm(X, dim=0), lambda: torch.linalg.norm(X, axis=0)),
    (lambda: torch.quantile(X, 0.5, dim=0), lambda: torch.quantile(X, 0.5, axis=0)),
    (lambda: torch.cat([X, X], dim=1, out=torch.empty(2, 6)), lambda: torch.cat([X, X], axis=1, out=torch.empty(2, 6))),
])  # fmt: skip
def test_names_of_numpy(ours, numpys) -> None:
    for _ in range(3):
        assert torch.equal(ours(), numpys())


@pytest.mark.parametrize("call", [
    lambda: torch.flip(X, axis=(0,)), lambda: torch.amax(X, dim=0, axis=0), lambda: torch.sin(x=X, a=X),
    lambda: torch.nn.Linear(2, 2)(axis=1),
])  # fmt: skip
def test_names_that_are_nobodys(call) -> None:
    with pytest.raises(TypeError):
        call()


class Named(torch.Tensor):
    """A tensor with a label, made as packages make them."""

    label: str

    def __new__(cls, data, *, label="none", requires_grad=False):
        made = torch.Tensor._make_subclass(cls, data, requires_grad)
        made.label = label
        return made


class NamedParameter(Named, torch.nn.Parameter):
    """A parameter with a label."""

    def __new__(cls, data=None, *, label="none", requires_grad=True):
        return Named.__new__(cls, data, label=label, requires_grad=requires_grad)


def test_subclasses() -> None:
    data = torch.ones(3)
    held = NamedParameter(data, label="w")
    assert isinstance(held, torch.nn.Parameter) and held.requires_grad and held.label == "w"
    (held * torch.arange(3.0)).sum().backward()
    assert held.grad.tolist() == [0, 1, 2]
    model = torch.nn.Module()
    model.weight = held
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert held.tolist() == [1, 0, -1] and data.tolist() == [1, 0, -1]  # of one memory
    for again in (copy(held), pickle.loads(pickle.dumps(held))):
        assert type(again) is NamedParameter and again.label == "w" and again.tolist() == held.tolist()
    assert deepcopy(torch.nn.Parameter(data)).tolist() == data.tolist()
    with pytest.raises(TypeError, match="keyword"):
        torch.Tensor([1.0], label="w")


def test_sizes_for_each_axis() -> None:
    assert utils._pair(3) == (3, 3) and utils._triple([1, 2, 3]) == (1, 2, 3) and utils._ntuple(4)(0) == (0,) * 4
    assert utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    state = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 1))).state_dict()
    utils.consume_prefix_in_state_dict_if_present(state, "0.")
    torch.nn.Sequential(torch.nn.Linear(2, 1)).load_state_dict(state)


def test_reductions() -> None:
    assert [_reduction.get_enum(r) for r in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="other"):
        _reduction.get_enum("other")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _reduction.legacy_get_string(None, None, emit_warning=False) == "mean"
        assert _reduction.legacy_get_string(False, True, emit_warning=False) == "sum"
        assert _reduction.legacy_get_enum(True, False, emit_warning=False) == 0


def test_groups_of_lists() -> None:
    a, b, c = torch.ones(2), torch.ones(3, dtype=torch.float64), torch.zeros(1)
    found = _foreach_utils._group_tensors_by_device_and_dtype([[a, b, c], [1, None, 3]], with_indices=True)
    (lists, places), (others, further) = found.values()
    assert lists[0][0] is a and lists[0][1] is c and lists[1] == [1, 3] and places == [0, 2]
    assert others[0][0] is b and others[1] == [None] and further == [1]


def test_collectives_with_gradients() -> None:
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=None)
    try:
        x = torch.ones(2, requires_grad=True)
        y = collectives.all_reduce(x) + collectives.all_gather(x)[0] * collectives.broadcast(x, 0)
        y.sum().backward()
        assert x.grad.tolist() == [3, 3]
        with pytest.raises(ValueError, match="1 tensor"):
            collectives.scatter([x, x])
    finally:
        torch.distributed.destroy_process_group()
    with pytest.raises(ValueError, match="not been initialized"):
        collectives.all_reduce(torch.ones(1))


def test_what_a_tensor_may_contain() -> None:
    assert 2 in X and np.float64(5) in X and 7.0 not in X
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "a" in X  # noqa: B015


def test_what_tells_a_compiler_changes_nothing() -> None:
    @torch.compiler.disable
    def double(x):
        return x * 2

    @torch.compiler.disable(recursive=False)
    @torch.fx.wrap
    @torch._dynamo.allow_in_graph
    @torch.compiler.set_stance("force_eager")
    def half(x):
        return x / 2

    with torch.compiler.set_stance("force_eager"), torch._dynamo.config.patch(cache_size_limit=1):
        torch._dynamo.mark_dynamic(X, 0)
        assert torch.equal(half(double(X)), X)
    assert not torch.compiler.is_compiling() and not torch._dynamo.is_compiling()
    assert isinstance(torch.compile(torch.nn.Linear(2, 2)), torch._dynamo.OptimizedModule)
    assert not isinstance(2, torch.SymInt)


def test_lists_of_classes_that_files_may_name() -> None:
    files = torch.serialization
    with files.safe_globals([Named]):
        assert files.get_safe_globals() == [Named]
        files.add_safe_globals([Named, dict])
        assert files.get_safe_globals() == [Named, dict]
    assert files.get_safe_globals() == []
    assert files.load is torch.load and files.save is torch.save


def test_ways_of_sharing_memory() -> None:
    processes = torch.multiprocessing
    before = processes.get_sharing_strategy()
    processes.set_sharing_strategy("file_system")
    assert processes.get_sharing_strategy() == "file_system"
    processes.set_sharing_strategy(before)
    with pytest.raises(ValueError, match="file_descriptor or file_system, got 'pipe'"):
        processes.set_sharing_strategy("pipe")
    assert processes.Queue is multiprocessing.Queue and processes.cpu_count() == multiprocessing.cpu_count()


@pytest.mark.parametrize("call", [
    lambda: torch.fx.symbolic_trace(torch.nn.Linear(2, 2)), lambda: torch.multiprocessing.spawn(print),
    lambda: torch.SymInt(3), lambda: type("Mine", (torch.fx.Tracer,), {})(),
])  # fmt: skip
def test_what_is_refused_says_why(call) -> None:
    with pytest.raises(NotImplementedError, match="is not supported: "):
        call()


def test_generators_of_other_devices() -> None:
    devices, states = torch.utils.checkpoint.get_device_states(X, 3)
    torch.utils.checkpoint.set_device_states(devices, states)
    assert devices == states == []


def test_what_this_was_built_with() -> None:
    assert "PyTorch 2.13.0" in torch.__config__.show() and "threads" in torch.__config__.parallel_info()


def test_modules_that_are_files_of_pytorchs(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text("\n".join([
        "import torch", "from torch.distributions.half_cauchy import HalfCauchy", "from torch.functional import einsum",
        "from torch.distributions.constraints import __all__", "from torch.nn.common_types import _size_2_t",
        "from torch.optim.sparse_adam import SparseAdam", "from torch.types import Device, Number",
        "assert HalfCauchy is torch.distributions.HalfCauchy and einsum is torch.einsum and 'positive' in __all__",
        "assert torch.torch is torch and SparseAdam is torch.optim.SparseAdam and isinstance(2, Number)",
        "try: import torch.distributions.nothing", "except ModuleNotFoundError: print('fine')",
    ]), encoding="utf-8")  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "pullback", "torch", str(program)], capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


def test_files_of_pytorchs_that_functions_are_named_after(tmp_path) -> None:
    """Importing the file leaves the function where it was, as it does with PyTorch."""
    program = tmp_path / "program.py"
    program.write_text("\n".join([
        "import torch", "from torch.nn.utils.spectral_norm import SpectralNorm", "import torch.nn.utils.weight_norm",
        "import torch.nn.utils.prune as prune", "from torch.autograd.gradcheck import gradcheck",
        "import torch.autograd.gradcheck", "from torch.cuda.amp.grad_scaler import GradScaler",
        "from torch.torch_version import TorchVersion", "from torch.nn.utils.init import skip_init",
        "norms = torch.nn.utils.spectral_norm, torch.nn.utils.weight_norm", "layer = norms[0](torch.nn.Linear(2, 2))",
        "assert isinstance(next(iter(layer._forward_pre_hooks.values())), SpectralNorm) and callable(norms[1])",
        "assert torch.autograd.gradcheck is gradcheck and TorchVersion(torch.__version__) > '2.1'",
        "assert prune.identity(layer, 'bias') is layer and skip_init is torch.nn.utils.skip_init",
        "try: from torch.cuda.amp.grad_scaler import nothing", "except ImportError: print('fine')",
    ]), encoding="utf-8")  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "pullback", "torch", str(program)], capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


def test_modules_that_are_refused_are_imported(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text("\n".join([
        "import torch, torch.nn.quantized as nnq, torch.ao.nn.intrinsic.qat",
        "from torch.ao.quantization import QuantStub",
        "from torch.distributed.fsdp.wrap import wrap", "from torch.utils.model_zoo import load_url",
        "assert not isinstance(torch.nn.Linear(1, 1), nnq.Linear) and torch.export.Dim",
        "for call in (QuantStub, wrap, load_url, torch.nested.nested_tensor):",
        "    try: call('x')",
        "    except NotImplementedError as error: print(error)",
        "try: torch.ao.quantization.qconfig.__nothing__", "except AttributeError: print('none')",
    ]), encoding="utf-8")  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "pullback", "torch", str(program)], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[-1] == "none" and len(lines) == 5, done.stderr
    for line, name in zip(lines, ["ao.quantization.QuantStub", "distributed.fsdp.wrap.wrap"], strict=False):
        assert line.startswith(f"torch.{name} is not supported: ")


def test_a_program_prints_what_it_prints_with_pytorch(tmp_path) -> None:
    """A log on INFO has its own lines only, `argv` is as given, a traceback begins with the program's frame."""
    program = tmp_path / "program.py"
    program.write_text(
        "import argparse, logging, sys\nimport torch\nlogging.basicConfig(level=logging.INFO, stream=sys.stdout)\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--size', type=int, default=3)\n"
        "x = torch.ones(parser.parse_args().size, requires_grad=True)\n(x * 2).sum().backward()\n"
        "logging.info('%s', x.grad.tolist())\nprint(sys.argv)\nraise ValueError('end')\n"
    )
    given = [sys.executable, "-m", "pullback", "torch", program.name, "--size", "2"]
    done = subprocess.run(given, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["INFO:root:[2.0, 2.0]", "['program.py', '--size', '2']"]
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and lines[0].startswith("Traceback") and lines[-1] == "ValueError: end"
    assert [line.split(",")[0].strip() for line in lines if " File " in f" {line.strip()} "] == ['File "program.py"']
