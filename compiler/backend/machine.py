"""The processor this process runs on, and LLVM's code generator for it.

Text goes in, an object file or assembly comes out; no optimisation pass of LLVM runs, but for one that puts functions
marked `alwaysinline` in the place of their calls. The bits a kernel computes depend on `has_fma`, and those of sums of
more than 256 products on whether `vector_bits` is 256 (see gemm.least_called); on nothing else that is known here.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ..later import later, loading
from ..locks import lock
from .process import read_bytes
from .processor import cpu_features, cpu_name

if TYPE_CHECKING:
    import llvmlite.binding as llvm
else:
    llvm = later(None, "llvmlite.binding")

T = TypeVar("T")


class CompilerError(RuntimeError):
    """Something inside the compiler is wrong; the user's program is not to blame."""


@functools.cache
def target_machine(level: int = 2, cpu: str = "") -> llvm.TargetMachine:
    """LLVM's code generator for the host at a level from 0 (quickest to run) to 3 (best code).

    It may use what the host's processor has, or, for a file that other machines read, what `cpu` has.
    Position-independent code reaches constants relative to the instruction, so a loop needs no
    register for the address of each; its objects link into a process and into an extension module.
    """
    return _machine(level, cpu)


def _machine(level: int, cpu: str) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=cpu or cpu_name(), features=_OWN_WIDTH if cpu else _feature_text(), opt=level, reloc="pic",
        codemodel="small")


def compile_object(llvm_text: str, level: int = 2, cpu: str = "") -> bytes:
    """The object file of one module of LLVM text, for the host or for a kind of processor; texts that came lately are
    not compiled again."""
    key = (hashlib.sha256(llvm_text.encode()).digest(), level, cpu)
    made = _lately.get(key)
    if made is None:
        machine = target_machine(level, cpu) if cpu else target_machine(level)
        made = _generate(llvm_text, machine, llvm.TargetMachine.emit_object)
        _keep(key, made)
    return made


KEPT = 2**23
"""Bytes of objects that are kept for texts that come again, as those of a function that is transformed anew do."""

_lately: dict[tuple[bytes, int, str], bytes] = {}
_keeping = lock()


def _keep(key: tuple[bytes, int, str], made: bytes) -> None:
    """Keep an object for its text; the oldest ones go."""
    with _keeping:
        _lately[key] = made
        total = sum(map(len, _lately.values()))
        while total > KEPT:
            total -= len(_lately.pop(next(iter(_lately))))


def forget() -> None:
    """Drop the objects that are kept, so that what comes is compiled: for measuring it."""
    with _keeping:
        _lately.clear()


def compile_aside(llvm_text: str, level: int, busy: AbstractContextManager[Any], cpu: str = "") -> bytes:
    """The same in a thread of its own, which keeps no other from compiling; `busy` is held while LLVM works.

    llvmlite lets one thread at a time call LLVM. LLVM itself wants only that threads share no context and no
    code generator, so the long call is made past llvmlite's lock, with a generator that no other thread has.
    """

    def emit(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
        call = llvm.ffi.lib.LLVMPY_TargetMachineEmitToMemory
        with llvm.ffi.OutputString() as problem:
            with busy:
                buffer = getattr(call, "_cfn", call)(machine, module, 1, problem)
            if not buffer:
                raise _rejected(RuntimeError(str(problem)))
        try:
            lib = llvm.ffi.lib
            return read_bytes(lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer))
        finally:
            llvm.ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)

    return _generate(llvm_text, _machine(level, cpu), emit)


def compile_for(llvm_texts: Sequence[str], triple: str, cpu: str, features: str, static: bool, level: int) -> bytes:
    """One object file of several modules of LLVM text for another kind of machine; `static` if nothing moves it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise NotImplementedError(f"the installed llvmlite makes no code for {triple}: {error}") from None
    machine = target.create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="static" if static else "pic", codemodel="small")
    first, *more = llvm_texts
    return _generate(first, machine, llvm.TargetMachine.emit_object, triple, more)


def assembly(llvm_text: str, level: int = 2) -> str:
    """The host's assembly of one module of LLVM text."""
    return _generate(llvm_text, target_machine(level), llvm.TargetMachine.emit_assembly)


# Some processors are tuned to split 512-bit vectors; whoever wrote the vectors chose the width.
_OWN_WIDTH = "-prefer-256-bit"


def _feature_text() -> str:
    text = llvm.get_host_cpu_features().flatten()
    return f"{text},{_OWN_WIDTH}" if "sse2" in cpu_features() else text


def _generate(llvm_text: str, machine: llvm.TargetMachine,
              emit: Callable[[llvm.TargetMachine, llvm.ModuleRef], T], triple: str = "", more: Sequence[str] = ()) -> T:
    with _module(llvm_text, more) as module:
        module.triple = triple or llvm.get_process_triple()
        module.data_layout = str(machine.target_data)
        if "alwaysinline" in llvm_text:
            _inline(module, machine)
        return emit(machine, module)


def _inline(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Put functions that are marked so in the place of their calls, and join the blocks that this leaves."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


@contextmanager
def _module(llvm_text: str, more: Sequence[str]) -> Iterator[llvm.ModuleRef]:
    """The verified module of a text and of `more`, in a context of its own: the global one grows for ever."""
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(llvm_text, context=context)
            for each in more:
                module.link_in(llvm.parse_assembly(each, context=context))
        except RuntimeError as error:
            raise _rejected(error) from None
        with module:
            try:
                module.verify()
            except RuntimeError as error:
                raise _rejected(error) from None
            yield module


def _rejected(error: RuntimeError) -> CompilerError:
    return CompilerError(
        "generated code was rejected by LLVM. This is a bug in pullback, not in your program: "
        "please report it with the function that was compiled, its fn.ir('llvm') and these lines:\n"
        f"{error}")


_forking: list[Any] = []
"""LLVM's library, as often as its lock is held for a fork."""


def _before_fork() -> None:
    """Wait until no thread is inside LLVM: the child would inherit its locks and nobody's key.

    What a thread that loads LLVM holds is waited for first, as it is taken first there, or each would wait for ever.
    """
    loading.acquire()
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    if library is not None:
        library._lock.__enter__()
        _forking.append(library)


def _after_fork() -> None:
    if _forking:
        _forking.pop()._lock.__exit__()
    loading.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
