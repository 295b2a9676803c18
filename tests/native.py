"""Run what a `Writer` writes over arrays: one LLVM function that maps expressions over elements."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
import numpy as np

from pullback.compiler.backend.text.registers import Reg
from pullback.compiler.backend.text.writer import Writer

DTYPES = {
    "bool": np.dtype(np.bool_),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
_serial = itertools.count()


class Host:
    """The processor at hand, as LLVM sees it, with or without its fused multiply-add."""

    def __init__(self, fma: bool = True) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        flags = llvm.get_host_cpu_features()
        self.fma = fma and bool(flags.get("fma", True))
        if self.fma:
            cpu, features = llvm.get_host_cpu_name(), flags.flatten()
        else:
            cpu, features = "", ""
        target = llvm.Target.from_default_triple()
        # Constants are read relative to the code: absolute addresses don't fit the small model.
        options = {"opt": 2, "reloc": "pic", "codemodel": "small"}
        self.machine = target.create_target_machine(cpu, features, **options)
        self.jit = llvm.create_lljit_compiler(
            target.create_target_machine(cpu, features, **options)
        )

    def object_code(self, text: str) -> bytes:
        module = llvm.parse_assembly(text)
        module.verify()
        return self.machine.emit_object(module)

    def link(self, name: str, text: str) -> tuple[object, int]:
        """Something to keep alive, and the address of a function."""
        builder = llvm.JITLibraryBuilder().add_object_img(self.object_code(text))
        library = builder.add_current_process().export_symbol(name).link(self.jit, name)
        return library, library[name]


class Mapped:
    """`out[i] = make(writer, in0[i], in1[i], ...)` for arrays, `width` elements at a time."""

    def __init__(
        self,
        host: Host,
        make: Callable[..., Reg | Sequence[Reg]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        width: int,
    ) -> None:
        self.width, self.inputs, self.outputs = width, inputs, outputs
        name = f"mapped{next(_serial)}"
        self.text = mapped_text(name, make, inputs, outputs, width, host.fma)
        self.library, address = host.link(name, self.text)
        pointers = [ctypes.c_void_p] * (len(inputs) + len(outputs))
        self.native = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(address)

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """The results; the last vector is filled up with zeros."""
        count = len(arrays[0])
        padded = -(-count // self.width) * self.width
        given = []
        for array, dtype in zip(arrays, self.inputs, strict=True):
            given.append(np.zeros(padded, DTYPES[dtype]))
            given[-1][:count] = array
        results = [np.empty(padded, DTYPES[dtype]) for dtype in self.outputs]
        self.native(*(each.ctypes.data for each in [*given, *results]), padded)
        return [each[:count] for each in results]


def mapped_text(
    name: str,
    make: Callable[..., Reg | Sequence[Reg]],
    inputs: Sequence[str],
    outputs: Sequence[str],
    width: int,
    fma: bool,
) -> str:
    """The LLVM module of such a function."""
    writer = Writer(fma=fma)
    before, loop = writer.block, writer.label("loop")
    writer.br(loop)
    writer.start(loop)
    index = writer.phi("i64", 1, [(writer.number(0, "i64"), before)])
    loaded = [
        writer.load(writer.gep(f"%in{k}", dtype, index), dtype, width)
        for k, dtype in enumerate(inputs)
    ]
    made = make(writer, *loaded)
    for k, value in enumerate([made] if isinstance(made, Reg) else made):
        writer.store(writer.gep(f"%out{k}", outputs[k], index), value)
    following = writer.add(index, writer.number(width, "i64"))
    writer.incoming(index, following, writer.block)
    done = writer.label("done")
    writer.cbr(writer.lt(following, Reg("i64", 1, "%count")), loop, done)
    writer.start(done)
    pointers = [f"ptr %in{k}" for k in range(len(inputs))]
    pointers += [f"ptr noalias %out{k}" for k in range(len(outputs))]
    head = f"define void @{name}({', '.join(pointers)}, i64 %count) {{\nentry:"
    return "\n".join([*writer.declarations.values(), head, *writer.lines, "  ret void", "}\n"])
