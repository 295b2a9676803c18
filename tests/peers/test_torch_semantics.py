"""The programs of tests/programs under torch and under pullback: the same results, printed forms and errors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import pullback
from tests.semantics import Program, difference, golden, plain, programs

WANTED = golden()


@pytest.fixture(autouse=True)
def switches_as_in_a_program() -> Iterator[None]:
    """torch's databases of tests, once imported, forbid ``torch.backends.cudnn.deterministic = True`` and its like."""
    with torch.backends.__allow_nonbracketed_mutation():
        yield


@pytest.mark.parametrize("program", programs(), ids=lambda p: p.label)
def test_program(program: Program) -> None:
    if program.file.stem == "devices" and torch.version.cuda:
        pytest.skip("a PyTorch built for CUDA has other errors where there is no driver than the one built without")
    ours, theirs = program.run(pullback), program.run(torch)
    wrong = difference(plain(theirs, program.named), WANTED[program.label])
    assert wrong is None, f"the golden data are not torch's: {wrong}"
    if isinstance(ours, Exception) and not isinstance(theirs, Exception):
        raise AssertionError(f"{program.file.name}: only ours fails") from ours
    if isinstance(theirs, Exception) and type(theirs).__name__ != type(ours).__name__:
        raise AssertionError(f"{program.file.name}: we have {ours!r}") from theirs
    wrong = difference(plain(ours, program.named), plain(theirs, program.named))
    assert wrong is None, wrong
    assert_printed_alike(ours, theirs, "r", program.named)


def assert_printed_alike(mine: Any, theirs: Any, where: str, named: bool) -> None:
    """Tensors with the same bits and nodes print alike."""
    if isinstance(theirs, list | tuple):
        for n, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            assert_printed_alike(a, b, f"{where}[{n}]", named)
    elif isinstance(theirs, torch.Tensor):
        a, b = (np.asarray(t.detach().numpy()) for t in (mine, theirs))
        if named and a.tobytes() == b.tobytes():
            assert repr(mine) == repr(theirs), where
