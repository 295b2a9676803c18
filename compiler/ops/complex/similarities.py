"""Complex matrices' Schur and Hessenberg forms: what `ops.linalg.similarity` has for real ones, over pairs.

The phases of Schur's vectors are LAPACK's choice, and no rule of the algorithm tells them: a result that depends on
them has no derivative, which is an error of the call. Those of Hessenberg's make the elements below the diagonal real.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.types import Type
from ..library import Library
from ..linalg import complements, symmetric
from ..linalg import matrices as M
from ..linalg import similarity as S
from ..linalg.complements import largest, vanishes
from ..reduce import sum_
from .complex_matrices import hermitian, numbers, parts
from .matrix_formulas import over_pairs
from .pair import Pair
from .pair_formulas import FORMULAS
from .pairs import joined, split


def _commutator(m: Any, t: Any, c: Any, form: str, turned: int) -> Pair:
    given = [joined(m.pair(x)) for x in (t, c)]
    return split(m, m.b.emit(commutator, *given, form=form, turned=turned)[0])


def _commutator_of(t: np.ndarray, c: np.ndarray, form: str, turned: int) -> np.ndarray:
    return parts(S.commutator_of(numbers(t), numbers(c), form, turned), t.dtype)


def _commutators(rng: np.random.Generator) -> Any:
    a = numbers(rng.normal(size=(2, 5, 5, 2)))
    c, kind = rng.normal(size=(2, 5, 5, 2)), np.dtype(float)
    made = [(S.schur_of(a, "none")[0], "schur"), (S.hessenberg_of(a)[0], "hessenberg")]
    return [([parts(t, kind), c], {"form": form, "turned": k}) for t, form in made for k in (0, 1)]


commutator = Library(
    "complex_commutator", S.commutator_type, _commutator_of, over_pairs(S.commutator_pull),
    {"form": "word", "turned": "axis"}, samples=_commutators,
)  # fmt: skip

FORMULAS["commutator"] = _commutator

def _complements(rng: np.random.Generator) -> Any:
    made = []
    for (_, a), text in complements.samples(rng):
        z = a + 1j * rng.normal(size=a.shape)
        whole = np.linalg.qr(z, "complete")[0]
        made.append(([parts(each, a.dtype) for each in (whole[..., a.shape[-1] :], z)], text))
    return made


complement = Library(
    "complex_complement", complements.complement_type, lambda z, a, text: z,
    over_pairs(complements.complement_pull), {"text": "word"}, samples=_complements,
)  # fmt: skip

def _ldl_of(a: np.ndarray, lower: int, hermitian: int) -> tuple[np.ndarray, ...]:
    return tuple(parts(x, a.dtype) for x in symmetric.ldl_of(numbers(a), lower, hermitian))


ldl = Library(
    "complex_ldl", lambda a, lower, hermitian: (a, a, a), _ldl_of, over_pairs(symmetric.ldl_pull),
    {"lower": "axis", "hermitian": "axis"},
    samples=lambda rng: [([hermitian(rng, 4, 4)], {"lower": k, "hermitian": 1}) for k in (0, 1)],
)  # fmt: skip

# ---- the forms


def _phases_are_free(m: Any, t: Any, slopes: Any, gt: Any, gz: Any) -> None:
    text = (
        "schur: the result depends on the phases of Schur's vectors, which are LAPACK's choice and have no derivative; "
        "use what does not depend on them: the eigenvalues on T's diagonal, np.abs of T or Z, or z @ f(t) @ z^H"
    )
    vanishes(m.real, M.diagonal(m, slopes).im, largest(m, gt) * largest(m, t) + largest(m, gz), text)


def _real_below(m: Any, t: Any, slopes: Any, *_: Any) -> Any:
    """Phases turn with the angles of the elements below the diagonal, each with all that come before it."""
    shape, r = M.shape_of(t), m.real
    n = shape[-1]
    if n < 3:  # SciPy leaves these as they are
        return None
    rest = M.where(r, M.rows(r, M.diagonal(r, slopes.im), n), lambda m, i, j: m.gt(j, i))
    sums = M.rows(r, r(sum_(m.b, rest.value, axes=(len(shape) - 1,))), n)
    below = M.mask(r, shape, lambda m, i, j: m.eq(j + 1, i))
    turns = r.select(below, sums / r.select(below, t.re, 1.0), 0.0)
    return Pair(m, M.zeros(r, turns), turns)


def _schur_of(a: np.ndarray, sort: str) -> tuple[np.ndarray, ...]:
    t, z, count = S.schur_of(numbers(a), sort)
    return parts(t, a.dtype), parts(z, a.dtype), np.asarray(count)


def _schur_pull(m: Any, inputs: Any, results: Any, cts: Any, sort: str) -> Any:
    return over_pairs(_schur_over_pairs)(m, inputs, results[:2], cts[:2])


def _schur_over_pairs(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    return [S.pulled(m, results, cts, "schur", _phases_are_free)]


def _hessenberg_of(a: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(parts(x, a.dtype) for x in S.hessenberg_of(numbers(a)))


def _hessenberg_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    return [S.pulled(m, results, cts, "hessenberg", _real_below)]


def _schur_types(a: Type, sort: str) -> tuple[Type, Type, Type]:
    return a, a, a.with_shape(a.shape[:-3])


schur = Library(
    "complex_schur", _schur_types, _schur_of, _schur_pull, {"sort": "word"},
    samples=lambda rng: [([rng.normal(size=(3, 3, 2))], {"sort": "none"}),
                         ([rng.normal(size=(2, 5, 5, 2))], {"sort": "lhp"})],
)  # fmt: skip
hessenberg = Library(
    "complex_hessenberg", lambda a: (a, a), _hessenberg_of, over_pairs(_hessenberg_pull),
    samples=lambda rng: [([rng.normal(size=shape)], {}) for shape in ((3, 3, 2), (2, 5, 5, 2))],
)  # fmt: skip

__all__ = ["commutator", "complement", "hessenberg", "ldl", "schur"]
