"""Module: what a network is made of.  It finds the parameters and modules assigned to its attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import _reconstruct  # type: ignore[attr-defined]
from typing import Any, Self
from weakref import WeakSet

from ..tensor.face.tensor import Tensor
from ..tensor.recorder import attributes_stand_in_instances
from ..tensor.value.core import Core
from .converting import Convertible
from .hooks import attributes_of, set_attributes
from .parameter import Parameter
from .registration import BUFFERS, MODULES, PARAMETERS, Buffer, registered
from .tables import TABLES, Table, is_whole, part


class Module(Convertible):
    """Subclass it, assign parameters and modules in `__init__` after `super().__init__()`, write `forward`."""

    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() takes no arguments that Module knows: got"
                            f" {(*args, *kwargs)}")
        self._hold({"training": True})
        owner = self if type(self).__getattr__ is Module.__getattr__ else None  # else that is to be asked for them
        for name in TABLES:
            object.__setattr__(self, name, Table(owner))
        object.__setattr__(self, "_non_persistent_buffers_set", set())

    def _hold(self, attributes: dict[str, Any]) -> None:
        """Add attributes, in a dict of its own: where instances share their keys, the interpreter does not remember
        where attributes stand."""
        set_attributes(self, {**attributes_of(self), **attributes})

    def _part(self) -> dict[str, Any]:
        """What stands in the module, which from now on is what its tables do not hold."""
        part(self)
        _read_slowly(type(self))
        return attributes_of(self)

    __dict__ = property(  # type: ignore[assignment]
        _part, lambda self, value: set_attributes(self, value) if self._part() is not value else None
    )

    def __copy__(self) -> Self:
        """A module that shares the tables, and so all that they hold."""
        cls = type(self)
        if cls.__setstate__ is not Module.__setstate__ or cls.__reduce_ex__ is not object.__reduce_ex__:
            return _reconstruct(self, None, *self.__reduce_ex__(4))
        made = cls.__new__(cls)
        set_attributes(made, dict(self._part()))
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what stands in another module, and share its tables; dicts become tables of this one."""
        shared = [t for t in map(state.get, TABLES) if type(t) is Table]
        for owner in [self, *[t.owner() for t in shared]] if shared else ():
            if isinstance(owner, Module):
                owner._part()
        taken = {name for table in shared for name in table}
        self._hold({name: value for name, value in state.items() if name not in taken})
        if not shared:
            owner = self if type(self).__getattr__ is Module.__getattr__ else None
            attributes_of(self).update({name: Table(owner, state.get(name)) for name in TABLES})

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _read_quickly(cls)

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        tables = attributes_of(self)
        if name in TABLES:
            self._part()
            object.__setattr__(self, name, value)
        elif "_parameters" not in tables:
            if isinstance(value, (Parameter, Module)):
                what = "parameters" if isinstance(value, Parameter) else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            object.__setattr__(self, name, value)
        elif isinstance(value, Parameter):
            self._forget(name, but="_parameters")
            self.register_parameter(name, value)
        elif name in tables["_parameters"]:
            self._empty("_parameters", name, value, "parameter", "nn.Parameter")
        elif isinstance(value, Module):
            self._forget(name, but="_modules")
            tables["_modules"][name] = registered(MODULES, self, name, value)
        elif name in tables["_modules"]:
            self._empty("_modules", name, value, "child module", "nn.Module")
        elif isinstance(value, Buffer) or name in tables["_buffers"]:
            if value is not None and not isinstance(value, Core):
                raise TypeError(f"cannot assign '{type(value).__name__}' as buffer '{name}' (Tensor or None expected)")
            lasting = name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, getattr(value, "persistent", lasting))  # type: ignore[arg-type]
        else:
            object.__setattr__(self, name, value)
            if name == "__class__" and not is_whole(self):
                _read_slowly(value)

    def _empty(self, table: str, name: str, value: Any, what: str, wanted: str) -> None:
        if value is not None:
            raise TypeError(f"cannot assign '{type(value).__name__}' as {what} '{name}' ({wanted} or None expected)")
        attributes_of(self)[table][name] = None

    def _forget(self, name: str, but: str) -> None:
        attributes = attributes_of(self)
        for table in TABLES:
            if table != but:
                attributes[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        attributes.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        attributes = attributes_of(self)
        for table in TABLES:
            held = attributes.get(table, {})
            if name in held:
                return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        attributes = attributes_of(self)
        for table in TABLES:
            if name in attributes.get(table, ()):
                del attributes[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *attributes_of(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(n for n in names if not n[:1].isdigit())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None in its place."""
        self._check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' (nn.Parameter or"
                                " None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Parameters must be created"
                                 f" explicitly. To express '{name}' as a function of another Tensor, compute the value"
                                 " in the forward() method.")
            param = registered(PARAMETERS, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not learned; it belongs to the state unless `persistent` is false."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Core):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (a Tensor or None"
                            " required)")
        self._buffers[name] = registered(BUFFERS, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = registered(MODULES, self, name, module)

    register_module = add_module

    def _check_name(self, what: str, name: str, table: str) -> None:
        if table not in attributes_of(self):
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name or not name:
            raise KeyError(f'{what} name can\'t be empty or contain ".", got: {name!r}')
        if name not in attributes_of(self)[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # ---- what it holds

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, each once, outer ones first."""
        seen = set() if memo is None else memo
        pending: list[tuple[str, Module]] = [(prefix, self)]
        while pending:
            path, module = pending.pop()
            if module in seen:
                continue
            if remove_duplicate:
                seen.add(module)
            yield path, module
            children = [(name, m) for name, m in module._modules.items() if m is not None]
            pending += [(f"{path}.{name}" if path else name, m) for name, m in reversed(children)]

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        return (m for _, m in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below, each once."""
        seen: set[Module] = set()
        for name, m in self._modules.items():
            if m is not None and m not in seen:
                seen.add(m)
                yield name, m

    def children(self) -> Iterator[Module]:
        """The modules directly below."""
        return (m for _, m in self.named_children())

    def _named(self, table: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners = self.named_modules(None, prefix, once) if recurse else iter([(prefix, self)])
        for path, module in owners:
            for name, held in attributes_of(module)[table].items():
                if held is not None and id(held) not in seen:
                    if once:
                        seen.add(id(held))
                    yield f"{path}.{name}" if path else name, held

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters, each once, with the names of the modules on the way to them."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and all below it."""
        return (p for _, p in self.named_parameters("", recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers, each once, with the names of the modules on the way to them."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and all below it."""
        return (b for _, b in self.named_buffers("", recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a path of names with dots."""
        found: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a path of names with dots; if `strict`, only in place of another."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module).__name__}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _leaf(self, target: str, what: str, is_one: Callable[[Module, str], bool]) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if not is_one(module, name):
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path of names with dots."""
        return self._leaf(target, "an nn.Parameter", lambda m, name: isinstance(getattr(m, name), Parameter))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path of names with dots."""
        return self._leaf(target, "a buffer", lambda m, name: name in m._buffers)

    # ---- settings

    def train(self, mode: bool = True) -> Self:
        """Switch to training, or with False to evaluation."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Switch to evaluation."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether the parameters require gradients."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters, or make them zero."""
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    p.grad.detach_().zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` on every module, inner ones first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self


def _read_quickly(cls: type[Module]) -> None:
    """What the tables hold stands in the instances, so where nobody else has written one `__getattr__` is only a name
    that `super()` finds. Who writes `__setattr__` may put other tables in their place, unseen."""
    if all(getattr(cls, n) is getattr(Module, n) for n in ("__getattr__", "__setattr__", "__getattribute__")):
        attributes_stand_in_instances(cls)


def _read_slowly(cls: type[Module]) -> None:
    """Let `__getattr__` of a class be called, of which an instance holds something in its tables alone."""
    if cls not in _slow:
        _slow.add(cls)
        cls.__getattr__ = cls.__getattr__  # type: ignore[method-assign]


_slow: WeakSet[type[Module]] = WeakSet()
_read_quickly(Module)
