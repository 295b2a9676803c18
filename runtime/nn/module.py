"""Module: what a network is made of.  It finds the parameters and modules assigned to its attributes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from ..tensor import dtypes
from ..tensor.core import Core
from ..tensor.modes import no_grad
from ..tensor.tensor import Tensor
from .hooks import Hookable
from .parameter import Parameter


class Mismatch(NamedTuple):
    """Keys that `load_state_dict(strict=False)` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Module(Hookable):
    """Subclass it, assign parameters and modules in `__init__` after `super().__init__()`, write `forward`."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        object.__setattr__(self, "training", True)
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, {})

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs) if self._hooks is None else self._hooks.call(self, args, kwargs)

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__.get("_parameters")
        if held is None and isinstance(value, (Parameter, Module)):
            raise AttributeError("cannot assign parameters or modules before Module.__init__() call")
        kinds = (("_parameters", Parameter), ("_modules", Module))
        for table, kind in kinds if held is not None else ():
            if isinstance(value, kind):
                self._forget(name, but=table)
                self.__dict__[table][name] = value
                return
            if name in self.__dict__[table]:
                self._replace(table, name, value, kind)
                return
        if held is not None and name in self._buffers:
            self._buffers[name] = value
            return
        object.__setattr__(self, name, value)

    def _replace(self, table: str, name: str, value: Any, kind: type) -> None:
        if value is not None:
            what = "parameter" if kind is Parameter else "child module"
            raise TypeError(
                f"cannot assign '{type(value).__name__}' as {what} '{name}' (nn.{kind.__name__} or None"
                " expected)"
            )
        self.__dict__[table][name] = None

    def _forget(self, name: str, but: str) -> None:
        for table in {"_parameters", "_buffers", "_modules"} - {but}:
            self.__dict__[table].pop(name, None)
        self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(table, {})
            if name in held:
                return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        self._check_name(name)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None) -> None:
        """A tensor that belongs to the state but is not learned."""
        self._check_name(name)
        self._buffers[name] = tensor

    def add_module(self, name: str, module: Module | None) -> None:
        self._check_name(name)
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or "." in name or not name:
            raise KeyError(f'the name of a parameter, buffer or module can\'t be empty or contain ".": {name!r}')
        if hasattr(self, name) and all(
            name not in self.__dict__[t] for t in ("_parameters", "_buffers", "_modules")
        ):
            raise KeyError(f"attribute '{name}' already exists")

    # ---- what it holds

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, each once, outer ones first."""
        seen: set[int] = set()
        pending: list[tuple[str, Module]] = [(prefix, self)]
        while pending:
            path, module = pending.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            children = [(name, m) for name, m in module._modules.items() if m is not None]
            pending += [(f"{path}.{name}" if path else name, m) for name, m in reversed(children)]

    def modules(self) -> Iterator[Module]:
        return (m for _, m in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((name, m) for name, m in self._modules.items() if m is not None)

    def children(self) -> Iterator[Module]:
        return (m for _, m in self.named_children())

    def _named(self, table: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners = self.named_modules(prefix) if recurse else iter([(prefix, self)])
        for path, module in owners:
            for name, held in module.__dict__[table].items():
                if held is not None and id(held) not in seen:
                    seen.add(id(held))
                    yield f"{path}.{name}" if path else name, held

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (p for _, p in self.named_parameters("", recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (b for _, b in self.named_buffers("", recurse))

    # ---- state

    def state_dict(self, prefix: str = "") -> OrderedDict[str, Tensor]:
        """The parameters and buffers by name, sharing memory with the module."""
        found: OrderedDict[str, Tensor] = OrderedDict()
        for path, module in self.named_modules(prefix.rstrip(".")):
            for table in ("_parameters", "_buffers"):
                for name, held in module.__dict__[table].items():
                    if held is not None:
                        found[f"{path}.{name}" if path else name] = held.detach()
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Mismatch:
        """Copy the tensors of `state_dict` into the parameters and buffers of these names."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own = self.state_dict()
        missing = [k for k in own if k not in state_dict]
        unexpected = [k for k in state_dict if k not in own]
        faults = []
        if strict and unexpected:
            names = ", ".join(f'"{k}"' for k in unexpected)
            faults.append(f"Unexpected key(s) in state_dict: {names}. ")
        if strict and missing:
            faults.append("Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in missing) + ". ")
        with no_grad():
            for name in own:
                if name in state_dict:
                    faults += self._load(name, own[name], state_dict[name])
        if faults:
            text = "\n\t".join(faults)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        return Mismatch(missing, unexpected)

    @staticmethod
    def _load(name: str, mine: Tensor, given: Any) -> list[str]:
        if not isinstance(given, Core):
            return [f'While copying the parameter named "{name}", expected a Tensor but got {type(given)}. ']
        have, wanted = given._read().kind.shape, mine._read().kind.shape
        if have != wanted:
            return [
                f"size mismatch for {name}: copying a param with shape torch.Size({list(have)}) from"
                f" checkpoint, the shape in current model is torch.Size({list(wanted)})."
            ]
        mine.copy_(given)
        return []

    # ---- settings

    def train(self, mode: bool = True) -> Self:
        """Switch to training, or with False to evaluation."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters, or make them zero."""
        for p in self.parameters():
            if p._grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    p.grad.detach_().zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` on every module, inner ones first."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the floating-point parameters and buffers."""
        for table in ("_parameters", "_buffers"):
            for _, held in self._named(table, "", True):
                if held.is_floating_point():
                    held.data = held.detach().to(*args, **kwargs)
        return self

    def float(self) -> Self:
        return self.to(dtypes.float32)

    def double(self) -> Self:
        return self.to(dtypes.float64)

    def cpu(self) -> Self:
        return self

    # ---- printing

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        rows = []
        for name, module in self._modules.items():
            rows.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        if not rows:
            return f"{type(self).__name__}({extra})"
        lines = ([extra] if extra else []) + rows
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"
