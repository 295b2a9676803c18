"""Functions that users attach to modules: before and after forward, and when backward passes through."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from inspect import Signature, signature
from types import MethodType
from typing import Any

from ..tensor.recorder import ModuleBase, hooks_exist
from ..tensor.reverse.custom import Function
from ..tensor.reverse.hooks import Hook, RemovableHandle, Table, attach, count_from
from ..tensor.reverse.modes import mode
from ..tensor.value.core import Core, requires
from .older_hooks import NO_INPUTS, refuse_both, register_backward_hook


class Hooks:
    """The hooks of one module, each table in the order of running.

    before, after    of forward
    with_kwargs      by number, those of these two that are given keyword arguments
    always           by number, those in `after` that run though forward failed
    entering         functions of the gradients of the results, before backward passes through
    leaving          functions of the gradients of the inputs and the results, after it
    saving, saved    of state_dict: before, and after (pairs with whether the hook may give another dictionary)
    loading, loaded  of load_state_dict
    """

    def __init__(self) -> None:
        self.before: Table = {}
        self.after: Table = {}
        self.with_kwargs: Table = {}
        self.always: Table = {}
        self.entering: Table = {}
        self.leaving: Table = {}
        self.saving: Table = {}
        self.saved: dict[int, tuple[Hook, bool]] = {}
        self.loading: Table = {}
        self.loaded: Table = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        hooks_exist()  # in this process, too, which may have got them out of a file
        self.__dict__.update(state)
        count_from(max((number for table in state.values() for number in table), default=-1) + 1)

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`module(*args, **kwargs)` with the hooks."""
        done: set[int] = set()
        result = None
        after, with_kwargs = {**EVERY.after, **self.after}, self.with_kwargs | EVERY.with_kwargs
        entering, leaving = {**EVERY.entering, **self.entering}, {**EVERY.leaving, **self.leaving}
        try:
            args, kwargs = self._before(module, args, kwargs)
            backward = Passage(module, entering, leaving) if entering or leaving else None
            if backward is not None:
                args = backward.enter(args)
            result = module.forward(*args, **kwargs)
            for number, hook in after.items():
                done.add(number)
                made = hook(module, args, kwargs, result) if number in with_kwargs else hook(module, args, result)
                result = result if made is None else made
            return result if backward is None else backward.leave(result)
        except Exception:
            for number, hook in after.items():
                if number in self.always | EVERY.always and number not in done:
                    hook(*((module, args, kwargs, result) if number in with_kwargs else (module, args, result)))
            raise

    def _before(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        named = self.with_kwargs | EVERY.with_kwargs
        for number, hook in (*EVERY.before.items(), *self.before.items()):
            made = hook(module, args, kwargs) if number in named else hook(module, args)
            if made is None:
                continue
            if number not in named:
                args = made if isinstance(made, tuple) else (made,)
            elif isinstance(made, tuple) and len(made) == 2:
                args, kwargs = made
            else:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got"
                    f" {type(made).__name__}"
                )
        return args, kwargs


EVERY = Hooks()
"""The hooks of all modules; they run before those of one."""


class Attached(MutableMapping[int, Any]):
    """The functions in one table of a module, as PyTorch's programs read and empty them: by numbers of handles."""

    def __init__(self, module: Hookable, table: str) -> None:
        self._module, self._table = module, table

    def _held(self) -> dict[int, Any]:
        return getattr(self._module._hooked(), self._table) if len(self) else {}

    def __len__(self) -> int:
        return len(getattr(attributes_of(self._module).get("_hooks"), self._table, ()))

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._held()))

    def __getitem__(self, number: int) -> Any:
        return self._held()[number]

    def __setitem__(self, number: int, hook: Any) -> None:
        getattr(self._module._hooked(), self._table)[number] = hook

    def __delitem__(self, number: int) -> None:
        del self._held()[number]

    def __repr__(self) -> str:
        return f"OrderedDict({dict(self)})"


def _attached(table: str) -> Any:
    def replace(module: Any, hooks: Any) -> None:
        held, given = Attached(module, table), dict(hooks)
        held.clear()
        held.update(given)

    return property(lambda module: Attached(module, table), replace)


class _Signature:
    """What `inspect.signature` finds where a module is called natively: the parameters of `__call__`."""

    def __get__(self, module: Any, cls: type) -> Signature:
        if module is None:
            raise AttributeError("__signature__")  # that of the class is its constructor's
        call = cls.__call__
        return signature(module._call_impl if call is ModuleBase.__call__ else MethodType(call, module))


class Hookable(ModuleBase):
    """What modules have for hooks."""

    __signature__ = _Signature()

    _hooks: Hooks | None = None
    _forward_pre_hooks, _forward_hooks, _backward_pre_hooks, _backward_hooks = map(
        _attached, ("before", "after", "entering", "leaving")
    )

    def _hooked(self) -> Hooks:
        if "_hooks" not in attributes_of(self):
            object.__setattr__(self, "_hooks", Hooks())
            hooks_exist()
        assert self._hooks is not None
        return self._hooks

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """What a call of the module is; one that is without hooks and names is `forward` at once."""
        module: Any = self
        return module.forward(*args, **kwargs) if self._hooks is None else self._hooks.call(self, args, kwargs)

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns, if anything, replaces the arguments."""
        return self._attached("before", hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, result)` after forward; what it returns, if anything, replaces the result."""
        handle = self._attached("after", hook, prepend, with_kwargs)
        if always_call:
            handle.note(self._hooked().always)
        return handle

    def _attached(self, table: str, hook: Hook, prepend: bool, with_kwargs: bool) -> RemovableHandle:
        hooks = self._hooked()
        handle = attach(getattr(hooks, table), hook, prepend)
        if with_kwargs:
            handle.note(hooks.with_kwargs)
        return handle

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before backward passes through; what it returns replaces grad_output."""
        return attach(self._hooked().entering, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after it; what it returns replaces grad_input."""
        refuse_both(self._hooks)
        return attach(self._hooked().leaving, hook, prepend)

    register_backward_hook = register_backward_hook


_DICT: Any = vars(Hookable)["__dict__"]


def attributes_of(module: Any) -> dict[str, Any]:
    """What stands in a module itself."""
    return _DICT.__get__(module)


def set_attributes(module: Any, attributes: dict[str, Any]) -> None:
    """Let a dict be what stands in a module."""
    _DICT.__set__(module, attributes)


def _of_all(table: dict[int, Any], hook: Any) -> RemovableHandle:
    """From now on modules without hooks of their own look at those of all."""
    Hookable._hooks = EVERY_ONE
    hooks_exist()
    return attach(table, hook)


EVERY_ONE = Hooks()


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before every module's forward."""
    return _of_all(EVERY.before, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, result)` after every module's forward."""
    handle = _of_all(EVERY.after, hook)
    if with_kwargs:
        handle.note(EVERY.with_kwargs)
    if always_call:
        handle.note(EVERY.always)
    return handle


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before backward passes through any module."""
    return _of_all(EVERY.entering, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after backward passed through any module."""
    return _of_all(EVERY.leaving, hook)


# ---- backward through a module


class BackwardHookFunction(Function):
    """Hands its arguments on, so that there is a node where backward enters or leaves a module."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[a for a in args if not requires(a)])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class Passage:
    """One call of a module, and backward through it."""

    def __init__(self, module: Any, entering: Table, leaving: Table) -> None:
        self.module, self.entering, self.leaving = module, entering, leaving
        self.grads: tuple[Any, ...] | None = None
        self.inputs: list[int] | None = None
        self.count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, from which backward will leave the module."""
        self.count = len(args)
        made, places = _through(args, self._left)
        self.inputs = places
        return made

    def leave(self, result: Any) -> Any:
        """The result, from which backward will enter the module."""
        if not isinstance(result, (Core, tuple)):
            return result
        values = (result,) if isinstance(result, Core) else result
        places: list[int] = []

        def entered(_: Any, grads: tuple[Any, ...]) -> Any:
            return self._entered(grads, places, len(values))

        made, found = _through(values, entered)
        places += found or []
        return made[0] if isinstance(result, Core) else type(result)(made)

    def _entered(self, grads: tuple[Any, ...], places: list[int], count: int) -> Any:
        self.grads = _spread(grads, places, count)
        for hook in list(self.entering.values()):
            made = hook(self.module, self.grads)
            if made is not None:
                self.grads = _counted(made, count, "pre hook", "grad_output")
        entering = self.grads
        if self.inputs is None:
            warnings.warn(NO_INPUTS, stacklevel=2)
            for hook in list(self.leaving.values()):
                made = hook(self.module, (None,) * self.count, self.grads)
                if made is not None and not (isinstance(made, tuple) and all(g is None for g in made)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None"
                        " for all gradients."
                    )
            self.grads = None
        return tuple([entering[k] for k in places])

    def _left(self, grads: tuple[Any, ...], _: Any) -> Any:
        if self.grads is None:
            return None
        assert self.inputs is not None
        given = _spread(grads, self.inputs, self.count)
        for hook in list(self.leaving.values()):
            made = hook(self.module, given, self.grads)
            if made is not None:
                given = _counted(made, self.count, "hook", "grad_input")
        self.grads = None
        return tuple([given[k] for k in self.inputs])


def _through(values: Sequence[Any], hook: Callable[..., Any]) -> tuple[tuple[Any, ...], list[int] | None]:
    """The values, the tensors among them through one node with this hook; and where they stand."""
    places = [k for k, v in enumerate(values) if isinstance(v, Core)]
    if not mode.enabled or not any(requires(values[k]) for k in places):
        return tuple(values), None
    made = BackwardHookFunction.apply(*[values[k] for k in places])
    node = next(t.grad_fn for t in made if t.grad_fn is not None)
    node.register_hook(hook)
    new = dict(zip(places, made, strict=True))
    return tuple([new.get(k, v) for k, v in enumerate(values)]), places


def _spread(grads: Sequence[Any], places: Sequence[int], count: int) -> tuple[Any, ...]:
    found = dict(zip(places, grads, strict=True))
    return tuple([found.get(k) for k in range(count)])


def _counted(made: Any, count: int, what: str, name: str) -> tuple[Any, ...]:
    values = made if isinstance(made, tuple) else (made,)
    if len(values) != count:
        raise RuntimeError(
            f"Backward {what} returned an invalid number of {name}, got {len(values)}, but expected {count}"
        )
    return values
