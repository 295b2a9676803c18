"""The text of the function that multiplies many pairs of matrices of the same sizes."""

from __future__ import annotations

from ..text.registers import memory_type
from .chunks import PRODUCTS, SMALL
from .text import single
from .tile import Shape

CHUNK_NS = 100_000  # of small products that are one chunk, at most
CHUNKS = 64  # aimed at

_EACH = ("batch", "m", "n", "k", "a", "lda", "ta", "sa", "b", "ldb", "tb", "sb", "c", "ldc", "sc")
_TYPED = ", ".join(f"{'ptr' if field in ('a', 'b', 'c') else 'i64'} %{field}" for field in _EACH)


def batched(dtype: str) -> str:
    """The function's name."""
    return f"pullback_gemm_batch_{dtype}"


def batch(s: Shape) -> str:
    """The text that follows the one for single products."""
    return "\n".join([_all(s), _each(s)])


def _each(s: Shape) -> str:
    """@some: products `first` to `last` of a batch, one after another."""
    real = memory_type(s.dtype)
    return f"""
define internal i64 @some({_TYPED}, i64 %first, i64 %last) nounwind {{
entry:
  br label %next
next:
  %i = phi i64 [%first, %entry], [%following, %polled]
  %ao = mul i64 %i, %sa
  %bo = mul i64 %i, %sb
  %co = mul i64 %i, %sc
  %ap = getelementptr {real}, ptr %a, i64 %ao
  %bp = getelementptr {real}, ptr %b, i64 %bo
  %cp = getelementptr {real}, ptr %c, i64 %co
  %status = call i64 @{single(s.dtype)}(i64 %m, i64 %n, i64 %k, ptr %ap, i64 %lda, i64 %ta,
    ptr %bp, i64 %ldb, i64 %tb, ptr %cp, i64 %ldc)
  %stopped = icmp ne i64 %status, 0
  br i1 %stopped, label %stop, label %go
go:
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %last
  br i1 %more, label %poll, label %done
poll:
  %sixteenth = and i64 %following, 15
  %skips = icmp ne i64 %sixteenth, 0
  br i1 %skips, label %polled, label %look
look:
  %signal = call i64 @pullback_poll()
  %interrupted = icmp ne i64 %signal, 0
  br i1 %interrupted, label %stop, label %polled
polled:
  br label %next
stop:
  %reason = phi i64 [%status, %next], [%signal, %look]
  ret i64 %reason
done:
  ret i64 0
}}
"""


def _all(s: Shape) -> str:
    """Large products one after another, each on all threads; small ones in chunks, each product on one thread."""
    fields, loads = [], []
    for number, field in enumerate(_EACH):
        kind = "ptr" if field in ("a", "b", "c") else "i64"
        at = f"  %{field}.at = getelementptr i64, ptr %frame, i64 {number}"
        fields += [at, f"  store {kind} %{field}, ptr %{field}.at"]
        loads += [at, f"  %{field} = load {kind}, ptr %{field}.at"]
    store, load, count = "\n".join(fields), "\n".join(loads), len(_EACH)
    return f"""
define internal i64 @share(ptr %frame, i64 %chunk, ptr %report) nounwind {{
{load}
  %count.at = getelementptr i64, ptr %frame, i64 {count}
  %count = load i64, ptr %count.at
  %first = mul i64 %chunk, %count
  %past = add i64 %first, %count
  %last = call i64 @llvm.smin.i64(i64 %past, i64 %batch)
  %status = call i64 @some({_TYPED}, i64 %first, i64 %last)
  ret i64 %status
}}

define i64 @{batched(s.dtype)}({_TYPED}) nounwind {{
entry:
  %none = icmp sle i64 %batch, 0
  br i1 %none, label %nothing, label %begin
nothing:
  ret i64 0
begin:
  %mn = mul i64 %m, %n
  %mnk = mul i64 %mn, %k
  %work = lshr i64 %mnk, {PRODUCTS[s.dtype]}
  %all = mul i64 %work, %batch
  %large = icmp uge i64 %work, {SMALL}
  %short = icmp ult i64 %all, {SMALL}
  %alone = or i1 %large, %short
  br i1 %alone, label %serial, label %together
serial:
  %one = call i64 @some({_TYPED}, i64 0, i64 %batch)
  ret i64 %one
together:
  %frame = alloca [{count + 1} x i64], align 64
  %report = alloca [4 x i64], align 64
  %work.some = add i64 %work, 1
  %fit = udiv i64 {CHUNK_NS}, %work.some
  %up = add i64 %batch, {CHUNKS - 1}
  %share = udiv i64 %up, {CHUNKS}
  %fewer = call i64 @llvm.smin.i64(i64 %fit, i64 %share)
  %count = call i64 @llvm.smax.i64(i64 %fewer, i64 1)
{store}
  %count.at = getelementptr i64, ptr %frame, i64 {count}
  store i64 %count, ptr %count.at
  %c.up = add i64 %batch, %count
  %c.top = sub i64 %c.up, 1
  %chunks = udiv i64 %c.top, %count
  %status = call i64 @pullback_parallel(ptr @share, ptr %frame, i64 %chunks, i64 %all, ptr %report)
  ret i64 %status
}}
"""
