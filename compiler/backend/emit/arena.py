"""The memory for temporaries of a call: how a kernel takes it when it begins, gives it back when it ends, and how its
stack lies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lowering.program import Nest, Rows, Statement
from ..text.levels import LevelWriter

FEW = 20
"""Functions with fewer calls of vectors (mostly fused products) have no polynomials, whose constants take registers."""


def take_arena(w: LevelWriter, name: str, size: int, kept: int) -> None:
    """%arena: stack memory, or the memory kept from the last call if it is large enough, or new memory.

    The first word of what is kept is its size.
    """
    if not kept:
        w.lines.append(f"  %arena = alloca i8, i64 {size}, align 64")
        return
    found, new, have = w.label("found"), w.label("new"), w.label("have")
    old, small, fresh = w.label("kept"), w.label("small"), w.label("fresh")
    w.lines += [
        f"  %idle = atomicrmw xchg ptr @{name}.arena, ptr null seq_cst",
        "  %none = icmp eq ptr %idle, null",
        f"  br i1 %none, label %{new}, label %{old}",
        f"{old}:",
        "  %room = load i64, ptr %idle, align 8",
        f"  %enough = icmp uge i64 %room, {size}",
        f"  br i1 %enough, label %{found}, label %{small}",
        f"{small}:",
        "  call void @free(ptr %idle)",
        f"  br label %{new}",
        f"{new}:",
        f"  %raw = call ptr @malloc(i64 {size + 128})",
        "  %failed = icmp eq ptr %raw, null",
        f"  br i1 %failed, label %memory, label %{fresh}",
        "memory:",
        "  ret i64 -1",
        f"{fresh}:",
        f"  store i64 {size}, ptr %raw, align 8",
        f"  br label %{found}",
        f"{found}:",
        f"  %block = phi ptr [%idle, %{old}], [%raw, %{fresh}]",
        "  %address = ptrtoint ptr %block to i64",
        "  %past = add i64 %address, 71",
        "  %aligned = and i64 %past, -64",
        "  %arena = inttoptr i64 %aligned to ptr",
    ]
    w.br(have)
    w.start(have)


def leave(w: LevelWriter, name: str, kept: int, status: str) -> None:
    """Give the arena back, and return."""
    if kept:
        other, leave = w.label("other"), w.label("leave")
        old = w.fresh("i64").text
        gone = w.fresh("bool").text
        w.lines += [
            f"  {old} = atomicrmw xchg ptr @{name}.arena, ptr %block seq_cst",
            f"  {gone} = icmp eq ptr {old}, null",
            f"  br i1 {gone}, label %{leave}, label %{other}",
            f"{other}:",
            f"  call void @free(ptr {old})",
            f"  br label %{leave}",
            f"{leave}:",
        ]
        w.block = leave
    w.lines.append(f"  ret i64 {status}")


__all__ = ["leave", "take_arena"]


def on_lines(statements: Iterable[Statement], lines: Sequence[str]) -> str:
    """What a function's head says so that vectors which LLVM puts on the stack are aligned, if it may put some there.

    LLVM goes by the 16 bytes that callers keep to. Up to three vectors in four, or all, would lie across two lines of
    the cache, as the caller's stack happens to lie.
    """
    if sum("= call <" in line for line in lines) < FEW:
        return ""
    parts = [n for s in statements for n in ((s, *s.body) if isinstance(s, Rows) else (s,))]
    width = max((n.width for n in parts if isinstance(n, Nest | Rows)), default=1)
    return "" if width == 1 else "alignstack(64) "
