"""`torch.library`: operators that programs define, by name, with kernels, derivatives and rules for `vmap`.

    lib = torch.library.Library("mylib", "DEF")
    lib.define("scaled(Tensor x, float by=2.0) -> Tensor")
    lib.impl("scaled", lambda x, by=2.0: x * by)
    torch.ops.mylib.scaled(x)

What is registered for other devices is kept and never runs; what is told a compiler (`register_fake`) is compared with
the results by `opcheck`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .differentiated import Formula
from .kernels import checked
from .registry import OPERATORS, Operator, Packet
from .schemas import parse_schema

_KEYS = (
    "CPU CUDA HIP XLA MPS XPU HPU Meta MTIA PrivateUse1 AutogradCPU AutogradCUDA Autograd AutogradXLA AutogradMPS"
    " AutogradXPU AutogradMeta AutogradPrivateUse1 AutocastCPU AutocastCUDA AutocastXPU CompositeExplicitAutograd"
    " CompositeImplicitAutograd CompositeExplicitAutogradNonFunctional SparseCPU SparseCUDA SparseCsrCPU SparseCsrCUDA"
    " QuantizedCPU QuantizedCUDA ADInplaceOrView BackendSelect Python Functionalize FuncTorchBatched Tracer"
)
KEYS = frozenset(_KEYS.split())
RESERVED = ("prim",)
_defined: set[str] = set()


class Library:
    """Operators of a namespace, until it is collected.

    ns             the namespace
    kind           "DEF" for the one that has the namespace, "FRAGMENT" for others, "IMPL" for kernels alone
    dispatch_key   what `impl` registers for where it is told nothing else
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in RESERVED and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF" and ns in _defined:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your"
                " definitions in a single TORCH_LIBRARY block. If you really intended to define operators for a single"
                ' namespace in a distributed way, use Library(ns, "FRAGMENT").'
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], Any]] = []
        if kind == "DEF":
            _defined.add(ns)
            self._undo.append(lambda: _defined.discard(ns))
        self._finish = weakref.finalize(self, _run_back, self._undo)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator by its schema; its name. RuntimeError if it is there already."""
        parsed = parse_schema(schema, self.ns)
        if parsed.name.partition("::")[0] != self.ns:
            raise RuntimeError(f"expected an operator of the namespace {self.ns!r}, got the schema {schema!r}")
        own = OPERATORS.setdefault(parsed.name, {})
        overload = parsed.overload_name or "default"
        if overload in own:
            raise RuntimeError(
                f"Tried to register an operator ({parsed}) with the same name and overload name multiple times. Each"
                " overload's schema should only be registered with a single call to def()."
            )
        own[overload] = Operator(parsed, tags)
        self._undo.append(lambda: forget(parsed.name, overload))
        return schema.partition("(")[0].strip()

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:  # fmt: skip
        """Register a kernel of an operator for a dispatch key, by default for all devices, with its own derivative."""
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if key not in KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        name = op_name if isinstance(op_name, str) else op_name.name()
        operator = resolve(name if "::" in name else f"{self.ns}::{name}")
        kernel = (lambda *args, **kwargs: fn(None, *args, **kwargs)) if with_keyset else fn
        before = operator.kernels.get(key)
        operator.kernels[key] = kernel

        def undo() -> None:
            if operator.kernels.get(key) is kernel:
                operator.kernels.pop(key)
                if before is not None:
                    operator.kernels[key] = before

        self._undo.append(undo)

    def _destroy(self) -> None:
        self._finish()


def _run_back(undo: list[Callable[[], Any]]) -> None:
    while undo:
        undo.pop()()


def forget(name: str, overload: str) -> None:
    own = OPERATORS.get(name, {})
    own.pop(overload, None)
    if not own:
        OPERATORS.pop(name, None)


_kept: list[Library] = []
"""The libraries of operators that are defined for good."""


@contextmanager
def scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A Library within a block."""
    made = Library(ns, kind, dispatch_key)
    try:
        yield made
    finally:
        made._destroy()


def resolve(op: Any) -> Operator:
    """The operator that a name, a `custom_op`, a packet or an overload means; RuntimeError if there is none."""
    if isinstance(op, Operator):
        return op
    if isinstance(getattr(op, "_opoverload", None), Operator):
        return op._opoverload
    name = op._qualified_op_name if isinstance(op, Packet) else op
    if not isinstance(name, str):
        raise ValueError(f"expected an operator's name, a custom_op or an overload, got {type(op).__name__}: {op!r}")
    own, _, overload = parts(name)[1].partition(".")
    found = OPERATORS.get(f"{parts(name)[0]}::{own}", {}).get(overload or "default")
    if found is None:
        raise RuntimeError(f"operator {name} does not exist")
    return found


def parts(qualname: str) -> tuple[str, str]:
    namespace, marks, name = qualname.partition("::")
    if not marks or not namespace or not name:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the'
            " torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return namespace, name


def library(namespace: str, lib: Library | None) -> Library:
    if lib is None:
        lib = Library(namespace, "FRAGMENT")
        _kept.append(lib)
    return lib


def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define the operator `namespace::name` with a schema `(Tensor x) -> Tensor`.

    As `define(lib, schema)` with a Library it is a decorator of the kernel.
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema, tags=tags)

        def decorate(function: Any) -> Any:
            qualname.impl(name, function)
            return function

        return decorate
    namespace, name = parts(qualname)
    library(namespace, lib).define(name + schema, tags=tags)
    return None


def _keys(types: str | Sequence[str]) -> list[str]:
    every = [types] if isinstance(types, str) else list(types)
    named = {"default": "CompositeExplicitAutograd", "cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}
    return [named.get(t, t if t in KEYS else t.upper()) for t in every]


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Register a kernel of an operator for devices ("cpu", "default" for all), or with a Library for a dispatch key."""

    def register(function: Any) -> Any:
        if isinstance(qualname, Library):
            qualname.impl(types, function, func if isinstance(func, str) else "")
            return function
        namespace, name = parts(qualname)
        for key in _keys(types):
            library(namespace, lib).impl(name, function, key)
        return function

    given = None if isinstance(qualname, Library) else func
    return register if given is None else register(given)


def _registering(op: Any, func: Any, put: Callable[[Operator, Any], None]) -> Any:
    operator = resolve(op)

    def register(function: Any) -> Any:
        put(operator, function)
        return function

    return register if func is None else register(func)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """Register what an operator runs on devices; None means all."""

    def put(operator: Operator, function: Any) -> None:
        for key in _keys("default" if device_types is None else device_types):
            operator.kernels[key] = checked(operator, function) if operator.formula is not None else function

    return _registering(op, func, put)


def register_fake(
    op: Any, func: Any = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = False
) -> Any:
    """Register the function that makes empty results of the right shapes; `opcheck` compares it with the kernel."""
    return _registering(op, func, lambda operator, function: setattr(operator, "fake", function))


def register_vmap(op: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """Register what an operator does inside `vmap`: func(info, in_dims, *args) -> (output, out_dims)."""
    return _registering(op, func, lambda operator, function: setattr(operator, "lanes", function))


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:  # fmt: skip
    """Register an operator's derivative.

    backward        (ctx, *gradients of the results) -> a gradient or None for each argument, as a tuple if several
    setup_context   (ctx, inputs, output), with keyword_only_inputs where there are such: keeps what backward needs

    RuntimeError for an operator that writes to its arguments.
    """
    operator = resolve(op)
    if operator._schema.is_mutable or not operator._schema.returns or any(r.alias for r in operator._schema.returns):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {operator._schema}. Please"
            " create a functional operator and register an autograd formula for that."
        )
    operator.formula = Formula(backward, setup_context)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """Has no effect: autocast is for devices with elements of lower precision."""
    resolve(op)


def fallthrough_kernel() -> None:
    """A kernel that hands on to the next key; never called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


__all__ = [
    "Library", "define", "fallthrough_kernel", "impl", "register_autocast", "register_autograd", "register_fake",
    "register_kernel", "register_vmap",
]  # fmt: skip
