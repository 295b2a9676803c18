"""Names and types as C spells them."""

from __future__ import annotations

import re
from collections.abc import Sequence

C_TYPES = {"bool": "uint8_t", "i32": "int32_t", "i64": "int64_t", "f32": "float", "f64": "double"}

_C_WORDS = frozenset(
    ("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
     "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
     "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "report"))


def distinct(names: Sequence[str]) -> list[str]:
    """Names that C takes, each once."""
    made: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        plain = f"a_{plain}" if plain in _C_WORDS or plain[0] in "_0123456789" else plain
        spelling, more = plain, 1
        while spelling in made:
            more += 1
            spelling = f"{plain}_{more}"
        made.append(spelling)
    return made
