"""The table of docs/torch.md: each public name of PyTorch's: it works, has no effect, or is refused for a reason.

    python -m tests.torch_table        writes docs/torch.md anew

The names are those of tests/torch_names.txt, which tests/peers compares with the torch that is installed. What has no
effect says so in its docstring.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import pullback
from pullback.runtime.devices.accelerators import inaccessible, lacking
from pullback.runtime.programs.refused import Refused, RefusedType, why
from pullback.runtime.tensor.value.dtypes import ALL, DType

PAGE = Path(__file__).resolve().parents[1] / "docs" / "torch.md"
NAMES = Path(__file__).with_name("torch_names.txt")
OTHERS = "it belongs to PyTorch's own machinery"
DEVICE = "as PyTorch says it where there is no such device"


def names() -> dict[str, list[str]]:
    """The names of each module, as they are stored: a line for each, the module first."""
    rows = (line.partition(": ") for line in NAMES.read_text(encoding="utf-8").splitlines())
    return {module: text.split() for module, _, text in rows}


def module_of(name: str) -> Any:
    """Ours."""
    if name == "torch.Tensor":
        return pullback.Tensor
    try:
        return importlib.import_module(f"pullback{name.removeprefix('torch')}")
    except ModuleNotFoundError:
        return None


def verdict(module: str, where: Any, name: str) -> str:
    """What is to be said of a name."""
    missing = object()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = missing if where is None else getattr(where, name, missing)
    if found is missing:
        return why(module, name) or OTHERS
    if found in (lacking, inaccessible) if callable(found) else False:
        return DEVICE
    if isinstance(found, Refused | RefusedType) or (isinstance(found, DType) and found.code not in ALL):
        return why(module, name) or OTHERS
    return "no effect" if "no effect" in (getattr(found, "__doc__", None) or "") and callable(found) else "works"


def verdicts() -> dict[str, dict[str, str]]:
    """By module and name."""
    return {m: {n: verdict(m, where, n) for n in own} for m, own in names().items() for where in [module_of(m)]}


def page() -> str:
    """The text of docs/torch.md."""
    found = verdicts()
    lines = [
        "# PyTorch's names", "",
        "Made by `python -m tests.torch_table` from the names that PyTorch 2.13 has and what is under them here; a",
        "test fails where it is not up to date. What has no effect says so in its docstring, what is refused says why",
        "when it is asked for or called.", "",
        "| module | names | work | no effect | refused |", "|---|---:|---:|---:|---:|",
    ]  # fmt: skip
    for module, own in found.items():
        some = [list(own.values()).count(v) for v in ("works", "no effect")]
        lines.append(f"| {module} | {len(own)} | {some[0]} | {some[1]} | {len(own) - sum(some)} |")
    for module, own in found.items():
        lines += ["", f"## {module}", ""]
        for said in dict.fromkeys(["works", "no effect", *sorted(set(own.values()))]):
            chosen = [n for n, v in own.items() if v == said]
            label = {"works": "Work", "no effect": "No effect"}.get(said, f"Refused – {said}")
            if chosen:
                lines += [f"**{label}** ({len(chosen)}): " + ", ".join(f"`{n}`" for n in chosen) + ".", ""]
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
