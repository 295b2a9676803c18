"""Our own products of matrices: of what use they are, and where they are in memory.

    i64 @pullback_gemm_f64(i64 m, i64 n, i64 k, ptr a, i64 lda, i64 ta, ptr b, i64 ldb, i64 tb, ptr c, i64 ldc)
    i64 @pullback_gemm_batch_f64(i64 batch, i64 m, i64 n, i64 k, ptr a, i64 lda, i64 ta, i64 sa,
                                 ptr b, i64 ldb, i64 tb, i64 sb, ptr c, i64 ldc, i64 sc)

and the same for f32: c = op(a) @ op(b), m by n and k products each, in row-major order. A row begins `lda` elements
after the one before; where `ta` is not 0, `a` is stored transposed. The matrices of a batch begin `sa` elements apart;
`sa` and `sb` may be 0. c may not overlap a or b. The result is 0, or -1 without memory, or -2 after an interrupt.

**Bits.** An element of c is the sum of its products in the order of k, in blocks of 256: each block is summed from 0 by
`fmuladd`, and the blocks' sums are added up in order. So the bits depend on k, and on whether the processor fuses a
multiplication and an addition, not on m, n, transposition, strides, the width of vectors or the number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...later import later
from ...locks import reentrant_lock
from ...ops.contract import LARGEST
from ...settings import settings
from .. import process, processor, threads
from ..disk import cache
from ..linking.module import Linked, link

if TYPE_CHECKING:
    from . import modules
else:
    modules = later(__name__, ".modules")

_lock = reentrant_lock()
_linked: dict[tuple[str, int], tuple[Linked, Linked]] = {}


def prefers(m: int, n: int, k: int, blas: bool = True) -> bool:
    """Whether a product is done by these functions rather than by NumPy's OpenBLAS.

    Measured on a Zen 5, which OpenBLAS takes for a Haswell: with 512-bit vectors 1.8 to 5 times as fast as it (1.2
    times where a tile is half empty), with 256-bit ones, as OpenBLAS has them there, 1.0 to 1.3 times from 64 on and
    more below. Two cases stay with it: a product with a vector, which is a reduction (0.3 to 0.7 times), and processors
    with 128-bit vectors, where nothing was measured. The answer depends on the processor and not on the width that a
    setting asks for, because bits depend on it.
    """
    if not blas:
        return True
    return min(m, n) > 1 and k > 0 and processor.vector_bits() >= 256 and processor.has_fma()


def least_called() -> int:
    """The bytes of operands from which a product is called, instead of being a nest of its own.

    A nest reads its right operand where it lies, a line of the cache for each row. With 512-bit vectors a line is one
    vector, and nests keep up until the operands leave the caches. With 256-bit ones (measured on a Zen 4 without
    AVX-512) a nest reaches 48 to 80 Gflop/s of f32 from 128 rows and columns on, the packed blocks 74 to 86.
    Like `prefers`, it is the processor's and not the setting's, because bits depend on it.
    """
    return LARGEST if processor.vector_bits() != 256 else 1 << 17


def symbols(*dtypes: str) -> dict[str, int]:
    """The addresses of the functions for some of f32 and f64, both if none is named; compiled when first asked for."""
    bits = settings.vector_bits or processor.vector_bits()
    found = {}
    for dtype in dtypes or ("f32", "f64"):
        with _lock:
            linked = _linked.get((dtype, bits))
            if linked is None:
                linked = _linked[dtype, bits] = _load(dtype, bits, processor.has_fma())
        functions = linked[-1]
        found |= {name: functions.address(name) for name in functions.exports}
    return found


def _load(dtype: str, bits: int, fma: bool) -> tuple[Linked, Linked]:
    """The inner loops, and the functions around them: at level 0 those cost nothing and compile five times as fast."""
    kind = ("gemm", dtype, str(bits), str(fma))
    objects, names = cache.kept(lambda: modules.inner(dtype, bits, fma), 2, *kind, "inner")
    inner = link(objects, {}, names)
    objects, names = cache.kept(lambda: modules.around(dtype, bits, fma), 0, *kind, "around")
    needed = process.allocator_symbols() | threads.symbols() | {name: inner.address(name) for name in inner.exports}
    return inner, link(objects, needed, names)
