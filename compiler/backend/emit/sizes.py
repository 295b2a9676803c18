"""The sizes that a kernel is told when it is called: how they come out of its first argument into registers.

    define i64 @name(ptr %sizes, ptr %in0, ...)      the numbers of a pattern's extents, in order
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...ir.measure import Sizes
from ...ir.types import Size


def prelude(sizes: Sizes, names: Sequence[str], text: Sequence[str]) -> list[str]:
    """Instructions for the entry block of a function that fill the registers which its text names."""
    lines: list[str] = []
    used = set(re.findall(r"%size\d+", "\n".join(text)))
    if not used:
        return lines
    held = {name: f"%size.{name}" for name in (*names, *sizes.quotients)}
    for k, name in enumerate(names):
        lines.append(f"  %sizes.{k} = getelementptr i64, ptr %sizes, i64 {k}")
        lines.append(f"  {held[name]} = load i64, ptr %sizes.{k}, align 8")
    for name, (dividend, divisor) in sizes.quotients.items():
        value = polynomial(lines, f"{held[name]}.of", dividend, held)
        lines += quotient(held[name], value, divisor)
    for size, register in sizes.registers.items():
        if register not in used:
            continue
        value = polynomial(lines, f"{register}.of", size, held)
        lines.append(f"  {register} = add i64 {value}, 0")
    return lines


def quotient(register: str, dividend: str, divisor: int) -> list[str]:
    """The quotient by a positive number, rounded down."""
    if divisor & (divisor - 1) == 0:
        return [f"  {register} = ashr i64 {dividend}, {divisor.bit_length() - 1}"]
    return [
        f"  {register}.toward = sdiv i64 {dividend}, {divisor}",
        f"  {register}.rest = srem i64 {dividend}, {divisor}",
        f"  {register}.less = icmp slt i64 {register}.rest, 0",
        f"  {register}.one = sext i1 {register}.less to i64",
        f"  {register} = add i64 {register}.toward, {register}.one",
    ]


def polynomial(lines: list[str], stem: str, size: Size, held: dict[str, str]) -> str:
    """Write what computes a polynomial; the name of its value."""
    total = "0"
    for k, (names, factor) in enumerate(size.terms):
        value = str(factor)
        for j, name in enumerate(names):
            lines.append(f"  {stem}{k}.{j} = mul i64 {value}, {held[name]}")
            value = f"{stem}{k}.{j}"
        lines.append(f"  {stem}{k} = add i64 {total}, {value}")
        total = f"{stem}{k}"
    return total


__all__ = ["polynomial", "prelude", "quotient"]
