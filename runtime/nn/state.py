"""The state of a module as a dictionary of tensors, and back."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..tensor.reverse.hooks import RemovableHandle, attach
from ..tensor.reverse.modes import no_grad
from ..tensor.value.core import Core
from .hooks import Hookable, Hooks
from .parameter import Parameter

if TYPE_CHECKING:
    from ..tensor.face.tensor import Tensor

EXTRA = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """Keys that `load_state_dict(strict=False)` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class StateDict(OrderedDict[str, Any]):
    """Tensors by name; `_metadata` says which version of its layout each module wrote."""

    _metadata: OrderedDict[str, dict[str, Any]]

    def __repr__(self) -> str:
        return repr(OrderedDict(self))


class Stateful(Hookable):
    """What modules have for saving and loading."""

    _version = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any | None]
    _non_persistent_buffers_set: set[str]

    def get_extra_state(self) -> Any:
        """What else belongs to the state; subclasses that have something give it."""
        raise RuntimeError(f"{type(self).__name__}.get_extra_state is not written")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__}.set_extra_state is not written")

    def _own_state(self) -> dict[str, Any]:
        """The parameters and lasting buffers that are this module's own."""
        lasting = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {k: v for k, v in (*self._parameters.items(), *lasting.items()) if v is not None}

    # ---- saving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """The parameters and buffers by name, sharing memory with the module.

        prefix      stands before every name
        keep_vars   gives the parameters themselves, not tensors without history
        """
        if args:
            warnings.warn("state_dict: positional arguments are deprecated; name them", FutureWarning, stacklevel=2)
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = StateDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        hooks = self._hooks or Hooks()
        for hook in list(hooks.saving.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, may_replace in list(hooks.saved.values()):
            made = hook(self, destination, prefix, metadata)
            if made is not None and not may_replace:
                raise RuntimeError("state_dict post-hook must return None")
            destination = destination if made is None else made
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, held in self._own_state().items():
            destination[prefix + name] = held if keep_vars else held.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    # ---- loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of `state_dict` into the parameters and buffers of these names.

        strict   names that are missing or not known are errors
        assign   the tensors take the places of the module's
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        given = StateDict(state_dict)
        if metadata is not None:
            given._metadata = metadata
        missing, unexpected, faults = [], [], []
        pending: list[tuple[Any, str, bool]] = [(self, "", False)]
        while pending:
            module, prefix, done = pending.pop()
            if done:
                module._after_loading(_IncompatibleKeys(missing, unexpected))
                continue
            said = dict(metadata.get(prefix[:-1], {})) if metadata is not None else {}
            if assign:
                said["assign_to_params_buffers"] = True
            part = given if not prefix else StateDict((k, v) for k, v in given.items() if k.startswith(prefix))
            module._load_from_state_dict(part, prefix, said, True, missing, unexpected, faults)
            pending.append((module, prefix, True))
            children = [(m, f"{prefix}{name}.", False) for name, m in module._modules.items() if m is not None]
            pending += reversed(children)
        if strict:
            for said, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    names = ", ".join(f'"{k}"' for k in keys)
                    faults.insert(0, f"{said} key(s) in state_dict: {names}. ")
        if faults:
            text = "\n\t".join(faults)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        return _IncompatibleKeys(missing, unexpected)

    def _after_loading(self, found: _IncompatibleKeys) -> None:
        for hook in list((self._hooks or Hooks()).loaded.values()):
            if hook(self, found) is not None:
                raise AssertionError("a hook of register_load_state_dict_post_hook must return None")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load what is this module's own; what goes wrong is noted."""
        for hook in list((self._hooks or Hooks()).loading.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own, assign = self._own_state(), local_metadata.get("assign_to_params_buffers", False)
        for name, held in own.items():
            key = prefix + name
            if key in state_dict:
                error_msgs += self._load_one(name, key, held, state_dict[key], assign)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA
        takes_extra = type(self).set_extra_state is not Stateful.set_extra_state
        if takes_extra and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif takes_extra and strict:
            missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        for key in state_dict if strict else ():
            first, _, rest = key[len(prefix) :].partition(".")
            if key.startswith(prefix) and key != extra and first not in (self._modules if rest else own):
                unexpected_keys.append(key)

    def _load_one(self, name: str, key: str, mine: Any, given: Any, assign: bool) -> list[str]:
        if not isinstance(given, Core):
            return [
                f'While copying the parameter named "{key}", expected a Tensor from checkpoint but received'
                f" {type(given)}"
            ]
        have, wanted = given._kind_of().shape, mine._kind_of().shape
        if not wanted and have == (1,):
            given, have = given[0], ()  # type: ignore[index]
        if have != wanted:
            return [
                f"size mismatch for {key}: copying a param with shape torch.Size({list(have)}) from checkpoint,"
                f" the shape in current model is torch.Size({list(wanted)})."
            ]
        with no_grad():
            if not assign:
                mine.copy_(given)
            elif isinstance(mine, Parameter) and not isinstance(given, Parameter):
                setattr(self, name, Parameter(given, mine.requires_grad))
            else:
                made: Any = given
                setattr(self, name, made.requires_grad_(mine.requires_grad) if isinstance(mine, Parameter) else made)
        return []

    # ---- hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is collected."""
        return attach(self._hooked().saving, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the state is collected."""
        return attach(self._hooked().saved, (hook, False))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return attach(self._hooked().saved, (hook, True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before the module's own state is loaded."""
        return attach(self._hooked().loading, lambda *args: hook(self, *args))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return attach(self._hooked().loading, (lambda *args: hook(self, *args)) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after the module and those below it are loaded."""
        return attach(self._hooked().loaded, hook)

