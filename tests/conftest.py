"""What the tests share: a seeded generator, and goldens that `--bless` rewrites."""

import gc
import os
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("PULLBACK_CACHE", "0")  # tests that want code on disk say where
os.environ.setdefault("PULLBACK_BACKGROUND", "0")  # which step finds a kernel ready would be a matter of luck

# Compilations leave some hundred thousand objects alive for a while: where every thousandth young one was a reason to
# look at them, that took a twentieth of the tests' time. Each file begins with a collection (below).
gc.set_threshold(200_000, 10, 10)

GOLDEN = Path(__file__).parent / "golden"

# The same examples in every run, on machines of any speed, and nothing kept between runs.
settings.register_profile("pullback", derandomize=True, deadline=None, database=None)
settings.load_profile("pullback")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless",
        action="store_true",
        help="rewrite goldens that differ, to be read before they are committed",
    )


@pytest.fixture(scope="module", autouse=True)
def what_others_left() -> Iterator[None]:
    """What earlier files have left is not walked again at each collection: late tests took a second for one."""
    gc.collect()
    gc.freeze()
    yield


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether goldens that differ are to be rewritten."""
    return bool(request.config.getoption("--bless"))


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(20261121)


@pytest.fixture
def golden(bless: bool) -> Callable[[str, str], None]:
    """`golden("adjoint/tanh.txt", text)` compares a text with that file of tests/golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        text = text.rstrip("\n") + "\n"
        if bless:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"no golden {name}: read the text, then run pytest --bless\n{text}"
        want = path.read_text(encoding="utf-8")
        lines = unified_diff(want.splitlines(), text.splitlines(), name, "now", lineterm="")
        assert text == want, "\n".join(lines)

    return compare
