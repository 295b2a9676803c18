"""Small programs that say what autograd means, and what they gave with torch.

The programs stand in programs/*.txt and run with torch or with pullback under the name `torch`. What a program leaves
in `r`, or its error's type, becomes plain data; golden/semantics/*.json holds that of torch, one program a line.

    python -c 'import torch, tests.semantics as s; s.write(torch)'     writes the golden files anew
"""

import contextlib
import importlib
import io
import json
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).with_name("programs")
GOLDEN = Path(__file__).with_name("golden") / "semantics"


class Program:
    """A piece of code with its title and the line where it starts."""

    def __init__(self, file: Path, line: int, title: str, text: str) -> None:
        self.file, self.line, self.title, self.text = file, line, title, text
        self.named = not title.endswith("(names differ)")

    @property
    def label(self) -> str:
        return re.sub(r"\W+", "_", f"{self.file.stem} {self.title}").strip("_")

    def run(self, module: Any) -> Any:
        """What it leaves in `r`, or its error."""
        names = {"torch": module, "nn": module.nn, "F": module.nn.functional, "math": math, "np": np}
        names |= {"fails": fails, "names": names_of, "said": said}
        names |= {"fill": lambda net: fill(module, net), "ramp": lambda *shape: ramp(module, *shape)}
        names |= {"slopes": lambda *given: slopes(module, *given)}
        names["prune"] = importlib.import_module(f"{module.__name__}.nn.utils.prune")
        if "distributions" in self.text:  # torch.compile leaves arguments unchecked from then on
            module.distributions.Distribution.set_default_validate_args(True)
        code = compile("\n" * self.line + self.text, str(self.file), "exec")
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                exec(code, names)
            except Exception as error:
                return error
            finally:
                module.set_grad_enabled(True)
        return names["r"]


def fails(call: Callable[[], Any]) -> str:
    """The class of the error that a call raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "no error"


def said(call: Callable[[], Any], *words: str) -> list[Any]:
    """The class of the error that a call raises, and which of the words are in its text."""
    try:
        call()
    except Exception as error:
        return [type(error).__name__, *(word in str(error) for word in words)]
    return ["no error"]


def ramp(module: Any, *shape: int) -> Any:
    """A leaf of numbers that are all different and neither large nor in order."""
    size = math.prod(shape)
    return module.tensor([math.sin(1.7 * k + 0.3) for k in range(size)]).reshape(shape).requires_grad_()


def fill(module: Any, net: Any) -> Any:
    """The network with numbers in place of those that were drawn."""
    for k, p in enumerate(net.parameters()):
        p.data = module.tensor([0.7 * math.sin(0.9 * j + k) for j in range(p.numel())]).reshape(p.shape)
    return net


def slopes(module: Any, result: Any, *inputs: Any) -> list[Any]:
    """The gradients of a sum of the result in which no two elements count the same."""
    weights = module.tensor([math.cos(0.6 * k) for k in range(result.numel())]).reshape(result.shape)
    return list(module.autograd.grad((result * weights).sum(), inputs, allow_unused=True))


def names_of(node: Any) -> list[str | None]:
    """The names of the nodes that follow."""
    return [n and n.name().rpartition("::")[2] for n, _ in node.next_functions]


def programs() -> list[Program]:
    found = []
    for file in sorted(FOLDER.glob("*.txt")):
        line = 0
        for part in file.read_text(encoding="utf-8").split("# ---- "):
            title, _, text = part.partition("\n")
            if title:
                found.append(Program(file, line + 1, title, text))
            line += part.count("\n")
    return found


def golden() -> dict[str, Any]:
    """What torch gave, by the programs' labels."""
    lines = (line for file in sorted(GOLDEN.glob("*.json")) for line in file.read_text(encoding="utf-8").splitlines())
    return dict(json.loads(line) for line in lines)


# ---- results as plain data


def plain(value: Any, named: bool) -> Any:
    if isinstance(value, Exception):
        return {"error": type(value).__name__}
    if hasattr(value, "grad_fn"):
        node = value.grad_fn and type(value.grad_fn).__name__
        made = {"dtype": str(value.dtype), "shape": list(value.shape), "values": value.tolist()}
        made |= {"requires_grad": value.requires_grad, "is_leaf": value.is_leaf}
        return made | ({"grad_fn": node} if named else {})
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": value.tolist()}
    if isinstance(value, dict):
        return {"keys": [str(k) for k in value], "items": [plain(v, named) for v in value.values()]}
    if type(value) in (list, tuple):
        return [plain(v, named) for v in value]
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def difference(got: Any, want: Any, where: str = "r", relative: float = 2e-5, floor: float = 2e-6) -> str | None:
    """What is wrong with plain data, or None; numbers may differ by a little."""
    if type(got) is not type(want):
        return f"{where}: {got!r} instead of {want!r}"
    if isinstance(want, dict):
        if list(got) != list(want):
            return f"{where}: {got!r} instead of {want!r}"
        if want.get("dtype") in ("torch.float64", "float64"):
            relative, floor = 1e-12, 1e-13
        pairs: Any = [(got[k], want[k], f"{where}.{k}") for k in want]
    elif isinstance(want, list):
        if len(got) != len(want):
            return f"{where}: {len(got)} values instead of {len(want)}"
        pairs = [(a, b, f"{where}[{k}]") for k, (a, b) in enumerate(zip(got, want, strict=True))]
    elif isinstance(want, float):
        same = got == want or (math.isnan(got) and math.isnan(want)) or abs(got - want) <= relative * abs(want) + floor
        return None if same else f"{where}: {got!r} instead of {want!r}"
    else:
        return None if got == want else f"{where}: {got!r} instead of {want!r}"
    return next((wrong for a, b, place in pairs if (wrong := difference(a, b, place, relative, floor))), None)


def write(module: Any) -> None:
    """Write the golden files."""
    texts: dict[str, list[str]] = {}
    for program in programs():
        line = json.dumps([program.label, plain(program.run(module), program.named)])
        texts.setdefault(program.file.stem, []).append(line)
    GOLDEN.mkdir(exist_ok=True)
    for name, lines in texts.items():
        (GOLDEN / f"{name}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
