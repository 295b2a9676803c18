"""Machines that objects can be built for beside the one at hand: names to LLVM's words for them.

    target_named("aarch64-linux")      an object for C programs there, with memory from malloc
    target_named("thumbv7em-none")     one for a microcontroller: static memory, no C library but its mathematics
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineTarget:
    """A kind of machine.

    static  whether temporaries are in static memory, for there is no malloc
    loaded  whether what loads an object gives it a malloc all the same, for temporaries whose size nobody knows before
    fma     whether multiplication and addition are one instruction
    """

    name: str
    triple: str
    cpu: str
    features: str
    fma: bool
    static: bool = False
    loaded: bool = False

    @property
    def suffix(self) -> str:
        """Of object files."""
        return ".obj" if self.name.endswith("-windows") else ".o"


VECTOR_BITS = 128
"""Of all these machines; where there are no vector registers LLVM writes out their elements."""

TARGETS = {target.name: target for target in (
    MachineTarget("x86_64-linux", "x86_64-unknown-linux-gnu", "x86-64", "", False),
    MachineTarget("aarch64-linux", "aarch64-unknown-linux-gnu", "generic", "", True),
    MachineTarget("riscv64-linux", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", True),
    MachineTarget("x86_64-macos", "x86_64-apple-macosx10.15.0", "x86-64", "", False),
    MachineTarget("aarch64-macos", "arm64-apple-macosx11.0.0", "apple-m1", "", True),
    MachineTarget("x86_64-windows", "x86_64-pc-windows-msvc", "x86-64", "", False),
    MachineTarget("aarch64-windows", "aarch64-pc-windows-msvc", "generic", "", True),
    MachineTarget("wasm32", "wasm32-unknown-unknown", "generic", "+simd128,+bulk-memory", False, True, True),
    MachineTarget("x86_64-none", "x86_64-unknown-none-elf", "x86-64", "", False, True),
    MachineTarget("aarch64-none", "aarch64-unknown-none-elf", "generic", "", True, True),
    MachineTarget("riscv32-none", "riscv32-unknown-none-elf", "generic-rv32", "+m,+a,+f,+d,+c", True, True),
    MachineTarget("thumbv7em-none", "thumbv7em-none-eabihf", "cortex-m7", "", True, True),
)}


def target_named(name: str) -> MachineTarget:
    """The target a user asked for."""
    if name not in TARGETS:
        raise ValueError(f"target is {name!r}, expected one of {', '.join(TARGETS)}")
    return TARGETS[name]
