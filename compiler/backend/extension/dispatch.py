"""LLVM text of C functions that run the best of several kernels .

    i64 @KERNEL(...)            jumps to where a cell points: to what chooses, and after the first call to a kernel
    i64 @KERNEL.LEVEL(...)      kernels, each in an object file of its own

A call pays for one jump. Threads may choose at the same time: all of them choose alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from .cpu import Level, choice_text

NOT_SERVED = -2
"""What a C function returns, having done nothing, where the processor has none of the levels."""


def kernel_of(name: str, level: Level) -> str:
    """The name of a kernel for one level."""
    return f"{name}.{level.name}"


def dispatch_text(kernels: Sequence[tuple[str, int]], levels: Sequence[Level], prefix: str) -> str:
    """The functions of kernels, which have a name and a number of pointers, and those of `choice_text`."""
    return "\n".join([choice_text(levels, prefix), *(_function(*kernel, levels, prefix) for kernel in kernels)])


def _function(name: str, pointers: int, levels: Sequence[Level], prefix: str) -> str:
    types = ", ".join(["ptr"] * pointers)
    params = ", ".join(f"ptr %p{k}" for k in range(pointers))
    cases = " ".join(f"i32 {k}, label %level{k}" for k in range(len(levels)))
    chosen = []
    for k, level in enumerate(levels):
        chosen += [
            f"level{k}:",
            f"  store atomic ptr @{kernel_of(name, level)}, ptr @{name}.cell monotonic, align 8",
            f"  %status{k} = musttail call i64 @{kernel_of(name, level)}({params})",
            f"  ret i64 %status{k}",
        ]
    return "\n".join([
        *(f"declare hidden i64 @{kernel_of(name, level)}({types})" for level in levels),
        f"@{name}.cell = internal global ptr @{name}.choose",
        f"define i64 @{name}({params}) nounwind {{",
        "entry:",
        f"  %kernel = load atomic ptr, ptr @{name}.cell monotonic, align 8",
        f"  %status = musttail call i64 %kernel({params})",
        "  ret i64 %status",
        "}",
        f"define internal i64 @{name}.choose({params}) nounwind {{",
        "entry:",
        f"  %level = call i32 @{prefix}.level()",
        f"  switch i32 %level, label %none [ {cases} ]",
        *chosen,
        "none:",
        f"  ret i64 {NOT_SERVED}",
        "}",
        "",
    ])
