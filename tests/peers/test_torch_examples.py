"""The examples that are programs for PyTorch print the same with either module, which they name only to import it."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
NAMES = ["digits_network", "character_lstm", "small_transformer"]
NUMBER = re.compile(r"\d+\.\d+")


def printed(name: str, *options: str) -> str:
    command = [sys.executable, str(FOLDER / f"{name}.py"), *options]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_both_print_the_same(name: str) -> None:
    ours, theirs = printed(name), printed(name, "--torch")
    assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
    pairs = list(zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True))
    assert len(pairs) >= 5
    for mine, other in pairs:
        assert float(mine) == pytest.approx(float(other), rel=0.05), ours + theirs
    assert float(pairs[0][0]) == pytest.approx(float(pairs[0][1]), rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_import_differs(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    choice = next(node for node in tree.body if isinstance(node, ast.If))
    ours, theirs = "    import pullback as torch", "    import torch"
    assert ast.unparse(choice) == f"if TYPE_CHECKING or '--torch' not in sys.argv:\n{ours}\nelse:\n{theirs}"
    tree.body = [node for node in tree.body[1:] if node is not choice]
    rest = ast.unparse(tree)
    assert "pullback" not in rest and "sys." not in rest
