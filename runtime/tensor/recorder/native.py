"""The recorder's classes, and the ties between them: which tape and which classes recognised calls are for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from sys import intern
from typing import Any

from ....compiler.backend import python_abi
from ....compiler.backend.process import python_callable, read_word, write_word
from ....compiler.ir.types import STORED
from . import library, types
from .calls import operator_text, place_text
from .runs import item_text

TensorBase: Any = None
CellBase: Any = None
StateBase: Any = None
RecordedBase: Any = None
TapeBase: Any = None


def gradients_of(tensors: list[Any]) -> Sequence[list[Any]]:
    """Those of the tensors that have a gradient, and their gradients."""
    some = [t for t in tensors if t._grad is not None]
    return some, [t._grad for t in some]


def forget_gradients(tensors: list[Any]) -> None:
    """Let no tensor have a gradient any more."""
    for t in tensors:
        t._grad = None


serials: Callable[[], int] = count(1).__next__
"""A number that no trace has had."""


class ModuleBase:
    """What is called by its method `forward`, or by `_call_impl` where hooks are to run as well."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_impl(*args, **kwargs)  # type: ignore[attr-defined]


def number_in(tensor: Any) -> Any:
    """The number in a computed tensor of one element, or NotImplemented where that is not so plain."""
    return NotImplemented


def launch(
    kernel: Callable[[list[Any]], Any], values: list[Any], numbers: Sequence[int], results: Sequence[int], base: int
) -> bool:
    """Run a kernel on some values of a list; its results become the values of base + `results`.

    Whether it ran: it may return something else than a list of results.
    """
    made = kernel([values[n] for n in numbers])
    if type(made) is not list:
        return False
    for ref, array in zip(results, made, strict=True):
        values[base + ref] = array
    return True


SUPPORTED: bool = python_abi.SUPPORTED
"""Whether there are native classes for this interpreter."""

if SUPPORTED:
    TensorBase, CellBase = types.tensor_type(), types.cell_type()
    StateBase, RecordedBase, TapeBase = types.state_type(), types.recorded_type(), types.tape_type()
    serials = types.function("serials", 0)
    gradients_of, forget_gradients = types.function("gradients_of"), types.function("forget_gradients")
    launch = types.function("launch", arguments=5)
    number_in = types.function("number_in")
    for place, dtype in enumerate(item_text.DTYPES):
        library.assign("dtypes", id(STORED[dtype]), place)
    library.assign("tensor_base", id(TensorBase))
    library.assign("cell_base", id(CellBase))
    SUPPORTED = read_word(id(TensorBase) + python_abi.TYPE_DEALLOC) == library.address("tensor_dealloc")

_names = [intern(name) for name in ("forward", "_hooks", "_call_impl")]
if SUPPORTED:
    ModuleBase = types.module_type()
    for each, name in zip(("forward_name", "hooks_name", "call_name"), _names, strict=True):
        library.assign(each, id(name))
_installed: list[Any] = []  # the tape and the classes that calls are recognised for
_inside: list[Any] = []  # native code refers to what is here, and below, without counting
_operators: dict[str, object] = {}


def mark(cls: type) -> None:
    """Let the interpreter call instances of a subclass of RecordedBase natively, also as methods. Types made by a class
    statement do not inherit these two flags, because their `__call__` or `__get__` could be replaced."""
    for name in ("__call__", "__get__"):
        if any(name in vars(each) for each in cls.__mro__[: cls.__mro__.index(RecordedBase)]):
            raise TypeError(f"{cls.__name__} defines {name}, which native calls would bypass")
    flags = ctypes.c_ulong.from_address(id(cls) + python_abi.TYPE_FLAGS)
    flags.value |= python_abi.HAVE_VECTORCALL | python_abi.METHOD_DESCRIPTOR


def hooks_exist() -> None:
    """From now on modules are asked for their `_hooks` when they are called."""
    if SUPPORTED:
        library.assign("hooks_exist", 1)


def attributes_stand_in_instances(cls: type) -> None:
    """Let attributes be read without a thought of `__getattr__`: it has nothing to add to what the instances hold.

    The interpreter reads those of a class without that method in a few nanoseconds, others in fifty. Whoever assigns a
    `__getattr__` to the class later, or to one that it derives from, has it called all the same.
    """
    if SUPPORTED:
        write_word(id(cls) + python_abi.TYPE_GETATTR, read_word(id(object) + python_abi.TYPE_GETATTR))


def install(tape: Any, state: type, cell: type, tensor: type, parameter: type) -> None:
    """Recognise calls on this tape, between states of this class, with arguments of the last two; results are of the
    first of these, and get cells of the class given.

    Dead tensors and cells are used again, so a class that adds fields or a `__del__` is refused.
    """
    for cls in (tensor, parameter):
        if not issubclass(cls, TensorBase) or cls.__basicsize__ != TensorBase.__basicsize__:
            raise TypeError(f"{cls.__name__} is to be a subclass of TensorBase without __slots__ of its own")
    if not issubclass(cell, CellBase) or cell.__basicsize__ != CellBase.__basicsize__:
        raise TypeError(f"{cell.__name__} is to be a subclass of CellBase without fields of its own")
    for cls in (tensor, cell):
        if hasattr(cls, "__del__"):
            raise TypeError(f"{cls.__name__} has a __del__, which its instances could not keep")
    if not isinstance(tape, TapeBase) or not issubclass(state, StateBase) or state is StateBase:
        raise TypeError(f"a TapeBase and a subclass of StateBase are expected, not {tape!r} and {state.__name__}")
    python_callable(library.address("free_spares"), None)()
    for cls, dealloc in ((tensor, "tensor_dealloc"), (cell, "cell_dealloc")):
        write_word(id(cls) + python_abi.TYPE_DEALLOC, library.address(dealloc))
    names = "tape", "state_type", "cell_type", "tensor_type", "parameter_type"
    for name, each in zip(names, (tape, state, cell, tensor, parameter), strict=True):
        library.assign(name, id(each))
    _installed[:] = tape, state, cell, tensor, parameter


def installed() -> tuple[Any, ...]:
    """What `install` was called with last; empty before."""
    return tuple(_installed)


def find_places(inside: Callable[[Any], bool]) -> None:
    """Let `inside(code)` tell whether code is the library's that records; it keeps all code that it is asked of."""
    _inside[:] = [inside]
    library.assign("inside", id(inside))


def forget_places() -> None:
    """Ask again of all code; what was kept may go."""
    for k in range(2 * place_text.KNOWN):
        library.assign("codes", 0, k)


def operators(functions: Mapping[str, Callable[..., Any] | None]) -> dict[str, Any]:
    """Let Python's operators on tensors be these functions, by the names of their methods; returns those before.

    `__radd__` and the like take the tensor first, the left operand second. An operator that has no function, or None,
    is not supported by tensors themselves.
    """
    before = {name: _operators.get(name) for name in functions}
    for name, function in functions.items():
        if not is_operator(name):
            raise ValueError(f"{name} is no operator of tensors")
        _operators[name] = function
        address = 0 if function is None else id(function)
        library.assign("operators", address, _place(name))
    return before


def is_operator(name: str) -> bool:
    """Whether a method of this name would be one of the operators."""
    return name[:2] == name[-2:] == "__" and _place(name) >= 0


def _place(name: str) -> int:
    """Which word of the table an operator's function is; -1 if it is none."""
    plain, names = name.strip("_"), operator_text.NAMES
    if plain in names:
        return 2 * names.index(plain)
    forward = plain.removeprefix("r")
    return 2 * names.index(forward) + 1 if forward in operator_text.REFLECTED and forward != plain else -1
