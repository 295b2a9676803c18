"""Levels of processors that a file can be built for, and native code that asks a processor for them.

A file on disk meets other machines than the one that wrote it. So it is built for one or several of four levels, sets
of features that the x86-64 psABI names, and not for the very processor at hand; and before anything else it asks the
processor it is loaded on for every feature of these levels, and takes the highest that is there.

Sources: the x86-64 psABI, section 3.1.1 (levels); Intel's manual, volume 2, CPUID and XGETBV (registers and bits).
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass

from ..processor import cpu_features
from .names import text_constant


@dataclass(frozen=True)
class Feature:
    """What a processor can do: its name, and the bit that says so in one of the words of `WORDS`."""

    name: str
    word: str
    bit: int


@dataclass(frozen=True)
class Level:
    """A kind of processor: LLVM's name of it, the width of its vectors, what it has beyond `below`."""

    name: str
    vector_bits: int
    fma: bool
    below: Level | None
    added: tuple[Feature, ...]

    @property
    def features(self) -> tuple[Feature, ...]:
        """All features that code for this level may use and that some x86-64 processor lacks."""
        return (*(self.below.features if self.below else ()), *self.added)


#: what is read of the processor: registers of CPUID leaves 1, 7 and 0x80000001, and the state the system saves
WORDS = ("leaf1", "leaf7", "extended", "state")

_V1 = Level("x86-64", 128, False, None, ())
_V2 = Level("x86-64-v2", 128, False, _V1, (
    Feature("sse3", "leaf1", 0), Feature("ssse3", "leaf1", 9), Feature("cx16", "leaf1", 13),
    Feature("sse4.1", "leaf1", 19), Feature("sse4.2", "leaf1", 20), Feature("popcnt", "leaf1", 23),
    Feature("sahf", "extended", 0)))
_V3 = Level("x86-64-v3", 256, True, _V2, (
    Feature("fma", "leaf1", 12), Feature("movbe", "leaf1", 22), Feature("avx", "leaf1", 28),
    Feature("f16c", "leaf1", 29), Feature("bmi", "leaf7", 3), Feature("avx2", "leaf7", 5),
    Feature("bmi2", "leaf7", 8), Feature("lzcnt", "extended", 5),
    Feature("avx registers saved by the system", "state", 2)))
_V4 = Level("x86-64-v4", 512, True, _V3, (
    Feature("avx512f", "leaf7", 16), Feature("avx512dq", "leaf7", 17), Feature("avx512cd", "leaf7", 28),
    Feature("avx512bw", "leaf7", 30), Feature("avx512vl", "leaf7", 31),
    Feature("avx512 registers saved by the system", "state", 6)))

LEVELS = {level.name: level for level in (_V1, _V2, _V3, _V4)}


def host_level() -> Level:
    """The highest level that this machine has."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        raise NotImplementedError(f"files are built for x86-64 only so far, and this machine is {platform.machine()}")
    has = cpu_features()
    return next(level for level in reversed(LEVELS.values()) if _llvm_names(level) <= has)


ALIASES = {"baseline": "x86-64", "avx2": "x86-64-v3", "avx512": "x86-64-v4"}


def levels_named(names: str) -> tuple[Level, ...]:
    """The levels a user asked for, lowest first; "native" is that of this machine."""
    chosen = set()
    for name in names.split(",") if isinstance(names, str) else [names]:
        plain = name.strip() if isinstance(name, str) else name
        found = host_level() if plain == "native" else LEVELS.get(ALIASES.get(plain, plain))
        if found is None:
            allowed = ", ".join(["native", *ALIASES, *LEVELS])
            raise ValueError(f"cpu is {names!r}, expected one or several, with commas between them, of {allowed}")
        chosen.add(found.name)
    return tuple([level for name, level in LEVELS.items() if name in chosen])


def _llvm_names(level: Level) -> set[str]:
    return {f.name for f in level.features if f.word != "state"}


def choice_text(levels: Sequence[Level], prefix: str) -> str:
    """Two functions of the C program or module that this is linked into, and of no other.

    i32 @PREFIX.level()     which of these levels, by its place, is the highest that the processor has; -1 for none
    ptr @PREFIX.missing()   the name of the first feature of the lowest level that it lacks, or null
    """
    named: dict[str, str] = {}
    functions = []
    for k, level in enumerate(levels):
        lines = []
        for j, f in enumerate(level.features):
            constant = named.setdefault(f.name, f".feature{len(named)}")
            lines += [
                f"  %bit{j} = and i32 %{f.word}, {1 << f.bit if f.bit < 31 else -(1 << 31)}",
                f"  %has{j} = icmp ne i32 %bit{j}, 0",
                f"  br i1 %has{j}, label %next{j}, label %lacks{j}",
                f"lacks{j}:",
                f"  ret ptr @{constant}",
                f"next{j}:",
            ]
        functions += [_WORDS.replace("LEVEL", str(k)), *lines, "  ret ptr null", "}"]
    tries = ["  br label %try0"]
    for j, k in enumerate(reversed(range(len(levels)))):
        tries += [
            f"try{j}:",
            f"  %lacking{j} = call ptr @.missing{k}()",
            f"  %all{j} = icmp eq ptr %lacking{j}, null",
            f"  br i1 %all{j}, label %has{j}, label %try{j + 1}",
            f"has{j}:",
            f"  ret i32 {k}",
        ]
    return "\n".join([
        *(text_constant(constant, name) for name, constant in named.items()), _ASK, *functions,
        f"define hidden i32 @{prefix}.level() nounwind {{", "entry:", *tries, f"try{len(levels)}:", "  ret i32 -1", "}",
        f"define hidden ptr @{prefix}.missing() nounwind {{", "entry:", "  %name = call ptr @.missing0()",
        "  ret ptr %name", "}", "",
    ])


_CPUID = 'call {i32, i32, i32, i32} asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"'

# Leaf 7 and the extended leaf are there if the greatest leaf says so, and XGETBV if bit 27 (OSXSAVE) of leaf 1 does.
_ASK = f"""
define internal i32 @.cpuid(i32 %leaf, i32 %greatest_of, i32 %register) nounwind noinline {{
entry:
  %range = {_CPUID}(i32 %greatest_of, i32 0)
  %greatest = extractvalue {{i32, i32, i32, i32}} %range, 0
  %there = icmp uge i32 %greatest, %leaf
  br i1 %there, label %ask, label %absent
ask:
  %answer = {_CPUID}(i32 %leaf, i32 0)
  %b = extractvalue {{i32, i32, i32, i32}} %answer, 1
  %c = extractvalue {{i32, i32, i32, i32}} %answer, 2
  %is_b = icmp eq i32 %register, 1
  %word = select i1 %is_b, i32 %b, i32 %c
  ret i32 %word
absent:
  ret i32 0
}}
"""

_WORDS = f"""
define internal ptr @.missingLEVEL() nounwind noinline {{
entry:
  %leaf1 = call i32 @.cpuid(i32 1, i32 0, i32 2)
  %leaf7 = call i32 @.cpuid(i32 7, i32 0, i32 1)
  %extended = call i32 @.cpuid(i32 -2147483647, i32 -2147483648, i32 2)
  %osxsave = and i32 %leaf1, {1 << 27}
  %saves = icmp ne i32 %osxsave, 0
  br i1 %saves, label %saved, label %ready
saved:
  %both = call {{i32, i32}} asm "xgetbv", "={{ax}},={{dx}},{{cx}}"(i32 0)
  %low = extractvalue {{i32, i32}} %both, 0
  br label %ready
ready:
  %state = phi i32 [ 0, %entry ], [ %low, %saved ]"""
