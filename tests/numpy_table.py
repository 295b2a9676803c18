"""The table of docs/numpy.md: each function of NumPy and SciPy's ufuncs, and whether it differentiates.

    python -m tests.numpy_table        writes docs/numpy.md anew

What has a case with derivatives (`tests/numpy_cases`) differentiates; what has cases without gives values; everything
else is listed here with a reason, or `unclassified` says that it is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from tests.numpy_cases import subjects

PAGE = Path(__file__).resolve().parents[1] / "docs" / "numpy.md"

SPACES: dict[str, Any] = {
    "np": np,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "scipy.special": special,
}

COMPLEX = "complex results, of which SciPy computes several at once"
REASONS: dict[str, str] = {
    "files, memory and text": """
        np.array2string np.array_repr np.array_str np.base_repr np.binary_repr np.format_float_positional
        np.format_float_scientific np.frombuffer np.fromfile np.fromregex np.fromstring np.genfromtxt np.load np.loadtxt
        np.save np.savetxt np.savez np.savez_compressed np.from_dlpack np.fromiter np.iterable
        np.may_share_memory np.shares_memory np.nested_iters np.typename np.isfortran np.fromiter""",
    "settings and information": """
        np.get_include np.get_printoptions np.getbufsize np.geterr np.geterrcall np.info np.printoptions
        np.set_printoptions np.setbufsize np.seterr np.seterrcall np.show_config np.show_runtime np.test np.linalg.test
        np.fft.test scipy.special.test scipy.special.geterr scipy.special.seterr np.busday_count np.busday_offset
        np.is_busday np.datetime_as_string np.datetime_data np.isnat""",
    "dtypes, of which nothing is traced": """
        np.isdtype np.issubdtype np.min_scalar_type np.mintypecode np.promote_types
        np.packbits np.unpackbits np.bitwise_count""",
    "shapes and Python's objects, no arithmetic": """
        np.einsum_path np.isscalar np.broadcast_shapes np.frompyfunc np.asmatrix np.bmat""",
    "deprecated by NumPy": """
        np.row_stack""",
    "a result whose size depends on values": """
        np.polydiv""",
    "no derivative and values that SciPy's own do not agree on": """
        scipy.special.obl_rad2 scipy.special.obl_rad2_cv scipy.special.ncfdtridfn""",
    COMPLEX: """
        scipy.special.kelvin scipy.special.modfresnelm scipy.special.modfresnelp""",
}


WITHOUT_SLOPES = """
    np.argsort np.can_cast np.common_type np.diag_indices_from np.tril_indices_from np.triu_indices_from np.hamming
    np.indices np.ix_ np.tri"""
"""What has no derivative itself, though its cases, which use it on something else, have."""

LABELS = {"differentiates": "Differentiate", "values": "Values only"}


def functions() -> Iterator[tuple[str, Any]]:
    """Names as users write them, of what can be called; of SciPy's only ufuncs."""
    for space, module in SPACES.items():
        for name in sorted(vars(module)):
            what = getattr(module, name)
            if name.startswith("_") or not callable(what) or isinstance(what, type):
                continue
            if space == "scipy.special" and not isinstance(what, np.ufunc):
                continue
            yield f"{space}.{name}", what


def reasons() -> dict[str, str]:
    return {name: why for why, names in REASONS.items() for name in names.split()}


def verdicts() -> dict[str, str]:
    """What is to be said of each function."""
    orders: dict[Any, int] = {}
    named = dict(functions())
    for cases in subjects().values():
        for case in cases:
            what = named.get(case.name)
            if what is not None:
                orders[what] = max(orders.get(what, 0), case.order)
    why, made = reasons(), {}
    for name, what in named.items():
        if what in orders:
            made[name] = "differentiates" if orders[what] and name not in WITHOUT_SLOPES.split() else "values"
        else:
            made[name] = why.get(name, "unclassified")
    return made


def page() -> str:
    """The text of docs/numpy.md."""
    found = verdicts()
    lines = [
        "# NumPy's functions under a trace",
        "",
        "Made by `python -m tests.numpy_table` from the cases that the tests compare with NumPy and with numbers; a",
        "test fails where it is not up to date. What is not refused differentiates, to second order, or has values",
        "only: whole numbers, truth values, places, and what is made of sizes alone.",
        "",
        "| module | functions | differentiate | values only | refused |",
        "|---|---:|---:|---:|---:|",
    ]
    for space in SPACES:
        own = [v for n, v in found.items() if n.rpartition(".")[0] == space]
        some = [own.count("differentiates"), own.count("values")]
        lines.append(f"| {space} | {len(own)} | {some[0]} | {some[1]} | {len(own) - sum(some)} |")
    for space in SPACES:
        lines += ["", f"## {space}", ""]
        own = {n.rpartition(".")[2]: v for n, v in found.items() if n.rpartition(".")[0] == space}
        for verdict in dict.fromkeys(["differentiates", "values", *sorted(set(own.values()))]):
            names = [n for n, v in own.items() if v == verdict]
            if names:
                label = LABELS.get(verdict, f"Refused – {verdict}")
                lines += [f"**{label}** ({len(names)}): " + ", ".join(f"`{n}`" for n in names) + ".", ""]
    lines += ["", "## Elsewhere", ""]
    others: dict[str, dict[str, None]] = {}
    for cases in subjects().values():
        for case in cases:
            space, _, name = case.name.rpartition(".")
            if case.name not in found and space:
                others.setdefault(space, {})[name] = None
    for space in sorted(others):
        lines += [f"**{space}**: " + ", ".join(f"`{name}`" for name in sorted(others[space])) + ".", ""]
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
