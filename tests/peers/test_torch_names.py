"""The stored list of PyTorch's names is that of the torch which is installed.

    python -m tests.peers.test_torch_names        writes tests/torch_names.txt anew
"""

import importlib
import inspect
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from tests.torch_table import NAMES

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = [
    "", "nn", "nn.functional", "nn.grad", "nn.init", "nn.utils", "nn.parallel", "nn.attention",
    "optim", "optim.lr_scheduler", "autograd", "autograd.functional", "autograd.profiler", "func", "utils.data",
    "utils.checkpoint", "utils._pytree", "linalg", "fft", "special", "distributions", "amp", "random", "backends",
    "cuda", "mps", "accelerator", "jit", "distributed", "onnx", "profiler", "testing", "overrides", "hub",
    "version", "sparse", "compiler", "fx", "serialization", "multiprocessing", "types", "quasirandom",
    "library", "masked",
]  # fmt: skip
MODULES = [f"torch.{part}".removesuffix(".") for part in PARTS]


def public(name: str) -> list[str]:
    """What `__all__` has; else what is no module of others and no name of typing's."""
    module: Any = importlib.import_module(name)
    chosen = getattr(module, "__all__", None) or [n for n in dir(module) if _own(getattr(module, n, None), name)]
    return sorted({n for n in chosen if not n.startswith("_") and hasattr(module, n)})


def _own(value: Any, name: str) -> bool:
    if inspect.ismodule(value):
        return value.__name__.startswith(f"{name}.")
    return str(getattr(value, "__module__", None) or "torch").startswith("torch")


def text() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = {name: public(name) for name in MODULES}
        rows["torch.Tensor"] = sorted(n for n in dir(torch.Tensor) if not n.startswith("_"))
    return "".join(f"{module}: {' '.join(own)}\n" for module, own in rows.items())


def test_names() -> None:
    """In a process of its own: other tests load more of PyTorch's modules, which have names then."""
    program = "from tests.peers.test_torch_names import text; print(text(), end='')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert NAMES.read_text(encoding="utf-8") == done.stdout


if __name__ == "__main__":
    NAMES.write_text(text(), encoding="utf-8")
