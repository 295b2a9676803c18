"""Calls on tensors that are recognised natively: what a program did before is not executed again, only noted.

A trace, what was recorded since the last flush, is a path in a tree of *states*; an edge is one call of a *recorded
function* with all that its meaning depends on. The tape is in one state. A call whose function and arguments agree
with an edge to a child leads there, and its results are *late* tensors: a number on the trace and nothing else.

    x = linear(x, w)        root --linear(INPUT, INPUT)--> S1        x is value 3
    y = x + 1.0               S1 --add(VALUE 3, NUMBER)--> S2        y is value 5

A call after which the trace is another one than ever before is recognised by a *pattern*, and noted; its state is made
when somebody asks for the tape's.

Everything else is Python: what a call means when it comes for the first time, what a late tensor's cell is when
somebody asks, and how the values of a state are computed.

    layout        the fields of all objects, and the words that describe what a call needs and gives
    native        the classes, and which tape and classes calls are recognised for
    replay        kernels that run whole traces on the tape's values
    types         the same as heap types of the interpreter
    library       the LLVM text as code in memory
    snippets      lines of text that occur again and again

and the text, by what it is about:

    objects       collect (garbage), tensor, cell, arrays (of dead cells), late, tape, tape_methods and notes
    calls         compare, class, reclaim, any and match (is it that call?), give and renew (what it does), place,
                  pattern, call, operator
    runs          inputs, results, replay, rerun, launch; gradients (for optimisers), item (a tensor's number),
                  forward (calls of modules)
"""

from .layout import BOUND, Give, Need, Range, Search, Source, words
from .native import (
    SUPPORTED,
    CellBase,
    ModuleBase,
    RecordedBase,
    StateBase,
    TapeBase,
    TensorBase,
    attributes_stand_in_instances,
    find_places,
    forget_gradients,
    forget_places,
    gradients_of,
    hooks_exist,
    install,
    installed,
    is_operator,
    launch,
    mark,
    number_in,
    operators,
    serials,
)
from .replay import Input, Replay

__all__ = [
    "BOUND",
    "SUPPORTED",
    "CellBase",
    "Give",
    "Input",
    "ModuleBase",
    "Need",
    "Range",
    "RecordedBase",
    "Replay",
    "Search",
    "Source",
    "StateBase",
    "TapeBase",
    "TensorBase",
    "attributes_stand_in_instances",
    "find_places",
    "forget_gradients",
    "forget_places",
    "gradients_of",
    "hooks_exist",
    "install",
    "installed",
    "is_operator",
    "launch",
    "mark",
    "number_in",
    "operators",
    "serials",
    "words",
]
