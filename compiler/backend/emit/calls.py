"""Calls of the BLAS for large matrix products."""

from __future__ import annotations

from ...loops import Buffer
from ...lowering.program import Matrix, Multiply
from ..text.levels import LevelWriter
from ..text.registers import llvm_type


def call_blas(w: LevelWriter, call: Multiply, pointers: dict[Buffer, str]) -> None:
    """A call of cblas_?gemm for each matrix of the batch."""
    dtype = call.out.buffer.type.dtype
    real = llvm_type(dtype)
    name = "cblas_dgemm" if dtype == "f64" else "cblas_sgemm"
    kinds = ["i32"] * 3 + ["i64"] * 3 + [real, "ptr", "i64", "ptr", "i64", real, "ptr", "i64"]
    declaration = f"declare void @{name}({', '.join(kinds)})"

    def one(at: list[str]) -> None:
        sides = [call.left, call.right]
        transposed = ["112" if m.transposed else "111" for m in sides]
        one, zero = w.number(1.0, dtype).text, w.number(0.0, dtype).text
        values = ["101", *transposed, str(call.m), str(call.n), str(call.k), one, at[0]]
        values += [str(call.left.leading), at[1], str(call.right.leading), zero, at[2]]
        values.append(str(call.out.leading))
        w.call(name, "void", list(zip(kinds, values, strict=True)), declaration)

    matrices: list[Matrix] = [call.left, call.right, call.out]
    if call.batch == 1:
        one([pointers[m.buffer] for m in matrices])
        return

    def body(index, carries):
        at = []
        for m in matrices:
            step = w.mul(index, w.number(m.stride, "i64"))
            at.append(w.gep(pointers[m.buffer], dtype, step))
        one(at)
        return []

    w.loop(call.batch, 1, [], body)


__all__ = ["call_blas"]
