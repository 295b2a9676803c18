"""torch's database of operators, on other elements than float32 and float64: values, gradients, methods, `out`.

What `test_torch_operators` does with floats is done with the other kinds of elements. What is refused for complex
numbers is listed apart: such an operator may raise NotImplementedError and nothing else, so nothing is silently wrong.

    python -m tests.peers.test_torch_operator_kinds i64 add sub         shows what differs for these
    python -m tests.peers.test_torch_operator_kinds c128                one line for every operator that differs
    ... --all                                                           many samples, and all of them compiled
"""

import itertools
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from pullback.compiler.settings import settings
from tests.peers import test_torch_operators as floats
from tests.peers.test_torch_operators import HERE, RANDOM, SHAPES_ONLY, Unsupported, compared, label

ALL = "--all" in sys.argv
KINDS = {
    "i64": torch.int64, "bool": torch.bool, "c128": torch.complex128, "f16": torch.float16, "bf16": torch.bfloat16,
}  # fmt: skip
MOST = 60 if ALL else 2
"""How many samples of an operator are run at most; of floats of 16 bits one."""

TIES = "which of several equal elements comes first is nobody's promise"
MEMORY = "samples are views, whose memory the harness does not hand over"
ONE = "torch lets addbmm_ give a tensor of one element the shape of the result; we refuse"
OTHER = "the operator is another function of its arguments"
OVERFLOW = "torch leaves the range of 16 bits on the way, and we do not"
COARSE = "torch computes places in 16 bits as well, where a hundredth of a pixel is lost"
REPLACED = "torch gives the gradient to the elements that were replaced, not to those that stayed"

CHUNKED = dict.fromkeys(
    ("nn.functional.linear_cross_entropy.chunked", "nn.functional.linear_cross_entropy.chunked_none"),
    "there are no options of chunks: the logits share kernels with the loss",
)

KNOWN: dict[str, dict[str, str]] = {
    "i64": {
        "addbmm": ONE,
        "kthvalue": TIES,
        "topk": TIES,
        "as_strided.partial_views": MEMORY,
    },
    "bool": {"as_strided.partial_views": MEMORY},
    "f16": {
        **CHUNKED,
        "as_strided_scatter": REPLACED,
        "grid_sampler_2d": COARSE,
        "logcumsumexp": OVERFLOW,
        "matrix_exp": OVERFLOW,
        "view_as_complex": "torch has complex numbers of 16 bits",
    },
    "bf16": {"matrix_exp": OVERFLOW, "grid_sampler_2d": COARSE, **CHUNKED},
    "c128": {
        "addbmm": ONE,
        "as_strided.partial_views": MEMORY,
        "as_strided_scatter": REPLACED,
        "svd_lowrank": OTHER,
        "pca_lowrank": OTHER,
        "linalg.eigh": "phases of eigenvectors are LAPACK's choice, and torch has another one",
        "linalg.lstsq.grad_oriented": OTHER,
        "linalg.pinv.singular": OTHER,
        "linalg.norm.subgradients_at_zero": "torch's second derivative at zero is NaN, ours 0",
    },
}
"""By kind, the operators that are known to differ, and why."""

REFUSED = {"logcumsumexp"}
"""Operators that are not written for complex numbers, and say so."""


UNWRITTEN = {"fft.ihfft2", "fft.ihfftn"}
"""Operators with which torch leaves some elements of `out` as they are."""


def wanted(kind: str) -> list[Any]:
    made = {"complex"} if kind == "f16" else set()  # of 16 bits in torch, which has no arrays of them
    return [op for op in HERE if KINDS[kind] in op.dtypes and op.name not in made]


def samples(op: Any, kind: str) -> Iterator[tuple[Any, int, bool]]:
    """Some samples from all over the list, the highest derivative, and whether all is compiled.

    Of bfloat16 the values alone, without methods and `out`: all but the storage is what float16 has.
    """
    dtype = KINDS[kind]
    order = 0 if not op.supports_autograd else 2 if dtype.is_complex and op.supports_gradgrad else 1
    order = order if dtype.is_complex or (dtype.is_floating_point and (ALL or dtype is not torch.bfloat16)) else 0
    torch.manual_seed(0)
    made = itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=bool(order)), 200)
    fitting = [s for s in made if sum(t.numel() for t in floats._tensors_of(s)) <= (20_000 if ALL else 2_000)]
    most = 1 if dtype.itemsize == 2 and not ALL else MOST
    step = max(1.0, len(fitting) / most)
    for k in range(min(most, len(fitting))):
        yield fitting[int(k * step)], order, ALL


def check(op: Any, kind: str) -> tuple[int, list[str], list[BaseException | None]]:
    """How many samples were run, what was wrong, and the errors that ours raised where torch's did not."""
    shapes_only, count, wrong, errors = op.name in SHAPES_ONLY or op.name in RANDOM, 0, [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample, order, native in samples(op, kind):
            try:
                with settings.override(reference=not native):
                    mine, theirs = floats.sample_outcomes(op, sample, order)
                    found = [compared(mine, theirs, shapes_only)]
                    errors += [mine.error] if found[0] else []
                    others = floats.check_variants(op, sample) if kind != "bf16" or ALL else ()
                    found += [o for o in others if op.name not in UNWRITTEN or not o.startswith("out")]
            except (Unsupported, floats._Default):
                continue
            count += 1
            wrong += [f"{floats._described(sample)}: {f}" for f in found if f]
    return count, wrong, errors


CASES = [(kind, op) for kind, dtype in KINDS.items() for op in wanted(kind)[:: 3 if dtype.itemsize == 2 else 1]]
"""Of floats of 16 bits a third: `main` above runs all of them."""


@pytest.mark.parametrize(("kind", "op"), CASES, ids=lambda x: x if isinstance(x, str) else label(x))
def test_operator(kind: str, op: Any) -> None:
    count, wrong, errors = check(op, kind)
    if kind == "c128" and label(op) in REFUSED:
        assert wrong, f"{label(op)} agrees: strike it from REFUSED"
        assert all(isinstance(e, NotImplementedError) for e in errors), wrong[:5]
    elif label(op) in KNOWN[kind]:
        assert wrong, f"{label(op)} agrees: strike it from KNOWN"
    else:
        assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:5])


def main(names: list[str]) -> None:
    """Print what differs."""
    kinds = [n for n in names if n in KINDS] or list(KINDS)
    chosen = [n for n in names if n not in KINDS and n != "--all"]
    for kind in kinds:
        agreeing = 0
        for op in wanted(kind):
            if chosen and op.name not in chosen and label(op) not in chosen:
                continue
            count, wrong, errors = check(op, kind)
            agreeing += not wrong
            refused = all(isinstance(e, NotImplementedError) for e in errors)
            verdict = "refused" if refused else "known" if label(op) in KNOWN[kind] else "FAIL"
            if wrong:
                print(f"{verdict:8} {kind} {label(op)}: {len(wrong)} of {count}", flush=True)
                for line in wrong[: 12 if chosen else 2]:
                    print(f"         {line[:400]}")
        print(f"{kind}: {agreeing} agree")


if __name__ == "__main__":
    main(sys.argv[1:])
