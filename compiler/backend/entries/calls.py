"""Calling kernels without an entry: with arrays at hand, or through ctypes.

    define i64 @KERNEL(ptr %in0, ..., ptr %out0, ..., ptr %report)
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.types import HELD
from .. import python_abi
from ..linking.module import Linked
from ..once import once
from ..process import native_callable
from . import launcher_text
from .specs import (
    CONTAINERS,
    ArrayResult,
    ArraySpec,
    BoolResult,
    ConstantResult,
    Container,
    ContainerResult,
    DictResult,
    DictSpec,
    FloatResult,
    FloatSpec,
    Input,
    IntResult,
    IntSpec,
    ListResult,
    ListSpec,
    MadeResult,
    RecordSpec,
    Result,
    ScalarResult,
    ScalarSpec,
    Spec,
    StaticSpec,
    TupleResult,
    TupleSpec,
    children_first,
    input_specs,
    kernel_results,
)

Report = tuple[int, int, int, int]
FEW = 64
"""Arrays up to which a launcher is worth compiling."""

SUCCESS: tuple[int, Report] = (0, (0, 0, 0, 0))

_RESULT_DTYPES = {FloatResult: np.dtype(np.float64), IntResult: np.dtype(np.int64),
                  BoolResult: np.dtype(np.bool_)}


def call_kernel(kernel: int | Linked, inputs: Sequence[np.ndarray],
                outputs: Sequence[np.ndarray]) -> tuple[int, Report]:
    """Run a kernel, given as an address or as a module with one export; its status and report.

    The arrays must be C-contiguous, aligned and of the dtypes and shapes the kernel was made for;
    only their layout is checked.
    """
    address = kernel if isinstance(kernel, int) else kernel.address(*kernel.exports)
    failure = launcher(len(inputs) + len(outputs))(address, *inputs, *outputs)
    return SUCCESS if failure is None else failure


@once
def launcher(count: int, release_gil: bool = False) -> Callable[..., tuple[int, Report] | None]:
    """A function `(address, *arrays)` that runs kernels with `count` inputs and outputs.

    It returns None, or the status and report of a kernel that failed.
    """
    if python_abi.SUPPORTED and count <= FEW:
        return launcher_text.make(count, release_gil)
    return _ctypes_launcher(count)


def _ctypes_launcher(count: int) -> Callable[..., tuple[int, Report] | None]:
    def launch(address: int, *arrays: np.ndarray) -> tuple[int, Report] | None:
        if len(arrays) != count:
            raise TypeError(f"kernel got {len(arrays)} arrays, expected {count}")
        for array in arrays:
            if type(array) is not np.ndarray:
                raise TypeError(f"kernel got a {type(array).__name__}, expected a numpy.ndarray")
            if not (array.flags.c_contiguous and array.flags.aligned):
                raise TypeError("kernel got an array that is strided or unaligned")
        report = (ctypes.c_int64 * 4)()
        function = native_callable(address, ctypes.c_int64, *[ctypes.c_void_p] * (count + 1))
        status = function(*[array.ctypes.data for array in arrays], report)
        return (status, tuple(report)) if status else None

    return launch


class CtypesEntry:
    """An entry in Python: slower than a native one, and the same results.

    Of arrays it asks the dtype and shape only, and copies those whose memory is laid out otherwise.
    """

    def __init__(self, linked: Linked, kernel: str, args: tuple[Spec, ...], result: Result) -> None:
        self._linked = linked
        self._address = linked.address(kernel)
        self._args = args
        self._result = result
        self._outputs = [_output_type(node) for node in kernel_results(result)]
        self._launch = launcher(len(input_specs(args)) + len(self._outputs))

    def read(self, args: Sequence[object]) -> list[np.ndarray] | None:
        """The kernel's inputs, or None if the arguments are not what the entry was made for."""
        inputs: list[np.ndarray] = []
        if len(args) != len(self._args):
            return None
        pending = list(zip(reversed(self._args), reversed(args), strict=True))
        while pending:
            spec, value = pending.pop()
            if isinstance(spec, CONTAINERS):
                items = _items(spec, value)
                if items is None:
                    return None
                pending.extend(zip(reversed(spec.items), reversed(items), strict=True))
            elif isinstance(spec, StaticSpec):
                if value is not spec.value:
                    return None
            else:
                array = _as_array(spec, value)
                if array is None:
                    return None
                inputs.append(array)
        return inputs

    def run(self, inputs: list[np.ndarray], failed: Callable[[int, Report], Any]) -> Any:
        """Run the kernel and make the results; `failed` raises if the kernel fails."""
        outputs = [np.empty(shape, dtype) for dtype, shape in self._outputs]
        failure = self._launch(self._address, *inputs, *outputs)
        if failure is not None:
            failed(*failure)
            raise RuntimeError("a kernel failed, and __failed__ returned instead of raising")
        return _build(self._result, outputs)



def _output_type(node: Any) -> tuple[np.dtype, tuple[int, ...]]:
    dtype = _RESULT_DTYPES.get(type(node)) or HELD[node.dtype]
    return dtype, node.shape if isinstance(node, ArrayResult) else ()


def _items(spec: Container, value: object) -> list[object] | None:
    """The items of a container in the order of its specification, or None if it is another."""
    match spec, value:
        case DictSpec(keys=keys), dict() if type(value) is dict and len(value) == len(keys):
            return [value[key] for key in keys] if all(key in value for key in keys) else None
        case ListSpec(), list() if type(value) is list and len(value) == len(spec.items):
            return value.copy()
        case TupleSpec(), tuple() if type(value) is spec.kind and len(value) == len(spec.items):
            return list(value)
        case RecordSpec(names=names), _ if type(value) is spec.kind and set(vars(value)) == set(names):
            return [vars(value)[name] for name in names]
    return None


def _as_array(spec: Input, value: Any) -> np.ndarray | None:
    match spec:
        case FloatSpec():
            return np.array(value, np.float64) if type(value) is float else None
        case IntSpec():
            fits = type(value) is int and -(2**63) <= value < 2**63
            return np.array(value, np.int64) if fits else None
        case ScalarSpec(dtype=dtype):
            return np.array(value) if type(value) is HELD[dtype].type else None
        case ArraySpec(dtype=dtype, shape=shape):
            if type(value) is np.ndarray and value.dtype == HELD[dtype] and value.shape == shape:
                return np.require(value, HELD[dtype], ["C", "A"])
    return None


def _build(result: Result, outputs: list[np.ndarray]) -> Any:
    stack: list[Any] = []
    for node in children_first(result):
        match node:
            case DictResult() | ListResult() | TupleResult() | MadeResult():
                items = stack[len(stack) - len(node.items):]
                del stack[len(stack) - len(node.items):]
                stack.append(_container(node, items))
            case ConstantResult():
                stack.append(node.value)
            case ArrayResult():
                stack.append(outputs[node.index])
            case ScalarResult():
                stack.append(outputs[node.index][()])
            case _:
                stack.append(outputs[node.index].item())
    return stack[0]


def _container(node: ContainerResult, items: list[Any]) -> Any:
    if isinstance(node, DictResult):
        return dict(zip(node.keys, items, strict=True))
    if isinstance(node, MadeResult):
        return node.make(*items)
    return tuple(items) if isinstance(node, TupleResult) else items
