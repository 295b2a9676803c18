"""A graph in, its loops, LLVM text and assembly out, with the user's line behind what comes from it.

    %t4 = fmul <8 x double> %t2, %t3  ; loss.py:12        vmulpd  %zmm1, %zmm0, %zmm0  # loss.py:12

The code is that which runs: without the comments it is the same text, else the text without comments is given. An
instruction that no element was made by comes from what first reads it, or else from what it reads.
"""

from __future__ import annotations

import re

from ..lowering.origins import noted
from ..lowering.show import show_program
from .emit import emit
from .machine import assembly
from .processor import has_fma
from .stages import Stages

NOTE = re.compile(r"  ; (?P<file>[^:\n]+):(?P<line>\d+)$")
_REGISTER = re.compile(r"%[\w.]+")
_MADE = re.compile(r"  (%[\w.]+) = ")
_FIRST = 900_000
"""The first number of the metadata that is added: no other has so high a one."""


def annotated(stages: Stages) -> tuple[str, str]:
    """The text of a kernel's loops and its LLVM text, with lines.

    The loops are lowered and written once more; where nobody has asked for them yet, as of a kernel whose code was on
    disk, that is the first time.
    """
    program, text = stages.known
    loops = show_program(program) if program is not None else None
    with noted():
        made = stages.lowered()
        shown, emitted = show_program(made), emit(made, stages.name, has_fma()).text
    bare = "\n".join(line.partition("  # ")[0] for line in shown.splitlines())
    if loops is not None and bare != loops.rstrip("\n"):
        shown = loops
    return shown, _annotated_llvm(emitted, text)


def _annotated_llvm(made: str, plain: str | None) -> str:
    """LLVM text whose elements are noted, with lines everywhere, unless it is not the plain one."""
    if plain is not None and "\n".join(NOTE.sub("", line) for line in made.splitlines()) != plain.rstrip("\n"):
        return plain
    lines = made.splitlines()
    start = None
    for k, line in enumerate(lines):
        if line.startswith("define "):
            start = k
        elif line == "}" and start is not None:
            lines[start:k] = _filled(lines[start:k])
            start = None
    return "\n".join(lines) + "\n"


def _filled(lines: list[str]) -> list[str]:
    """The lines of a function, where instructions without a place take that of what they are for."""
    notes = [m[0] if (m := NOTE.search(line)) else "" for line in lines]
    texts = [NOTE.sub("", line) for line in lines]
    made: dict[str, int] = {m[1]: k for k, text in enumerate(texts) if (m := _MADE.match(text))}
    for k in range(len(lines) - 1, -1, -1):
        for read in _reads(texts[k]) if notes[k] else ():
            at = made.get(read)
            if at is not None and not notes[at] and " = phi " not in texts[at]:
                notes[at] = notes[k]
    for k, text in enumerate(texts):
        if not notes[k] and (_MADE.match(text) or text.startswith("  store ")) and " = phi " not in text:
            known = [notes[made[read]] for read in _reads(text) if read in made and notes[made[read]]]
            notes[k] = known[-1] if known and not text.startswith("  store ") else known[0] if known else ""
    return [text + note for text, note in zip(texts, notes, strict=True)]


def _reads(text: str) -> list[str]:
    """The registers that an instruction reads."""
    head = _MADE.match(text)
    return _REGISTER.findall(text[head.end() if head else 0 :])


def annotated_assembly(text: str, level: int) -> str:
    """The assembly of LLVM text with lines; it goes through the compiler as debugging information."""
    if not any(NOTE.search(line) for line in text.splitlines()):
        return assembly(text, level)
    marked, files = _with_debug(text)
    try:
        made = assembly(marked, level)
    except (RuntimeError, ValueError):  # lines are not worth an assembly
        return assembly(text, level)
    return _without_debug(made, files)


def _with_debug(text: str) -> tuple[str, list[str]]:
    """The text with its lines as metadata, and the files by number."""
    metadata: list[str] = []
    numbers: dict[str, int] = {}

    def number(node: str) -> int:
        if node not in numbers:
            numbers[node] = _FIRST + len(metadata)
            metadata.append(f"!{numbers[node]} = {node}")
        return numbers[node]

    files = sorted({m["file"] for line in text.splitlines() if (m := NOTE.search(line))})
    file = {each: number(f'!DIFile(filename: "{_escaped(each)}", directory: "")') for each in files}
    first = f"file: !{file[files[0]]}"
    unit = number(f"distinct !DICompileUnit(language: DW_LANG_C, {first}, emissionKind: LineTablesOnly)")
    kind = number("!DISubroutineType(types: !{})")
    out: list[str] = []
    scope = 0
    for line in text.splitlines():
        if line.startswith("define "):
            scope = number(
                f'distinct !DISubprogram(name: "f{len(out)}", scope: null, {first}, type: !{kind},'
                f" spFlags: DISPFlagDefinition, unit: !{unit})"
            )
            line = line.removesuffix(" {") + f" !dbg !{scope} {{"
        elif m := NOTE.search(line):
            inner = number(f"!DILexicalBlockFile(scope: !{scope}, file: !{file[m['file']]}, discriminator: 0)")
            at = number(f"!DILocation(line: {m['line']}, scope: !{inner})")
            line = f"{NOTE.sub('', line)}, !dbg !{at}"
        elif re.match(r"  (%[\w.]+ = )?(musttail |tail )?call ", line):
            nowhere = number(f"!DILocation(line: 0, scope: !{scope})")
            line += f", !dbg !{nowhere}"
        out.append(line)
    version = number('!{i32 2, !"Debug Info Version", i32 3}')
    tail = [f"!llvm.dbg.cu = !{{!{unit}}}", f"!llvm.module.flags = !{{!{version}}}", *metadata]
    return "\n".join([*out, *tail]) + "\n", files


def _escaped(text: str) -> str:
    """A text between quotes of LLVM's; for what is not ASCII a question mark stands."""
    return "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else "?" for c in text)


_LOC = re.compile(r"\s+\.loc\s+(\d+) (\d+)")
_FILE = re.compile(r'\s+\.file\s+(\d+)(?: "[^"]*")? "([^"]*)"')
_NOISE = re.compile(r"\s*\.(loc|file|cfi_\w+)\b|\.L(tmp|func_begin|func_end|debug|line|sec_end)\w*:")


def _without_debug(text: str, files: list[str]) -> str:
    """The assembly without what the debugging information has added, and its lines behind the instructions."""
    names = {m[1]: m[2] for line in text.splitlines() if (m := _FILE.match(line))}
    out: list[str] = []
    note, skipping = "", False
    for line in text.splitlines():
        if re.match(r"\s+\.section\s+\.debug", line):
            skipping = True
        elif re.match(r"\s+\.(section|text|globl|type)\b", line):
            skipping = False
        if m := _LOC.match(line):
            note = f"{names.get(m[1], files[0])}:{m[2]}" if m[2] != "0" else ""
        if skipping or _NOISE.match(line):
            continue
        if re.match(r"[\w.$\"]+:", line) and not line.startswith(".L"):
            note = ""
        is_code = re.match(r"\t[a-z]", line) is not None
        out.append(f"{line}  # {note}" if note and is_code else line)
    return "\n".join(out) + "\n"


__all__ = ["annotated", "annotated_assembly"]
