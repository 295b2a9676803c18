"""Parameters and buffers in another dtype; and how a module is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from ..tensor.ops.arranging.creation import empty_like
from ..tensor.reverse.modes import no_grad
from ..tensor.value import dtypes
from ..tensor.value.core import Core
from ..tensor.value.devices import META, placed
from .parameter import Parameter
from .state import Stateful

NAMES = {f"torch.{n}Tensor": d for n, d in {
    "Float": dtypes.float32, "Double": dtypes.float64, "Long": dtypes.int64, "Int": dtypes.int32, "Bool": dtypes.bool_,
    "Half": dtypes.float16, "BFloat16": dtypes.bfloat16,
}.items()}  # fmt: skip


class Convertible(Stateful):
    """What modules have for other dtypes, and for being shown."""

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Put `fn` of each parameter, gradient and buffer in its place."""
        for module in self._modules.values() if recurse else ():
            if module is not None:
                module._apply(fn)
        for name, param in list(self._parameters.items()):
            if param is None:
                continue
            with no_grad():
                made = fn(param.detach())
                if made.is_meta is not param.is_meta:
                    self._parameters[name] = Parameter(made, param.requires_grad)
                    continue
                param.data = made
                if param.grad is not None:
                    grad = fn(param.grad.detach())
                    param.grad = None
                    param.grad = grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Self:
        """Convert the floating-point parameters and buffers to a dtype, or to that of a tensor."""
        for a in args:
            if isinstance(a, Core):
                dtype = a.dtype  # type: ignore[attr-defined]
            elif isinstance(a, (str, dtypes.device)):
                device = a
            elif a is not None and not isinstance(a, bool):
                dtype = a
        if device is not None:
            where = placed(device)
            held = [*self.parameters(), *self.buffers()]  # type: ignore[attr-defined]
            if where is META:
                self._apply(lambda x: x.to(device=where))
            elif any(x.is_meta for x in held):
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of"
                    " torch.nn.Module.to() when moving module from meta to a different device."
                )
        if dtype is None:
            return self
        wanted = dtypes.dtype_of(dtype)
        if not wanted.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={wanted}")
        return self._floats(wanted)

    def _named_members(
        self, get_members_fn: Callable[[Any], Any], prefix: str = "", recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:  # fmt: skip
        """What a function gives of each module, pairs of a name and something, with the names on the way to it."""
        seen = set[int]()
        held: Any = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)  # type: ignore[attr-defined]
        for path, module in held if recurse else [(prefix, self)]:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield f"{path}.{name}" if path else name, member

    def _floats(self, wanted: dtypes.DType) -> Self:
        return self._apply(lambda x: x.to(wanted) if x.is_floating_point() else x)

    def to_empty(self, *, device: Any = None, recurse: bool = True) -> Self:
        """Forget the values."""
        return self._apply(lambda x: empty_like(x, device=device), recurse)

    def cpu(self) -> Self:
        """The module: it is where it was."""
        return self

    def cuda(self, device: Any = None) -> Self:
        """There is only the processor."""
        raise AssertionError("Torch not compiled with CUDA enabled: there is only the device 'cpu'")

    def share_memory(self) -> Self:
        """The module: other processes cannot see its memory."""
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: what is called often is compiled anyway."""

    def extra_repr(self) -> str:
        """What is printed between the brackets."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        rows = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if len(lines) == 1 and not rows:
            return f"{self._get_name()}({extra})"
        inner = "\n  " + "\n  ".join([*lines, *rows]) + "\n" if lines or rows else ""
        return f"{self._get_name()}({inner})"

    def half(self) -> Self:
        """In float16: stored in it, computed in float32."""
        return self._floats(dtypes.float16)

    def bfloat16(self) -> Self:
        """In bfloat16: stored in it, computed in float32."""
        return self._floats(dtypes.bfloat16)

    def double(self) -> Self:
        """In float64."""
        return self._floats(dtypes.float64)

    def type(self, dst_type: Any) -> Self:
        """All parameters and buffers, integers too, in a dtype."""
        wanted = NAMES.get(dst_type) if isinstance(dst_type, str) else dtypes.dtype_of(dst_type)
        if wanted is None:
            raise ValueError(f"invalid type: {dst_type!r}")
        return self._apply(lambda x: x.to(wanted))

    def float(self) -> Self:
        """In float32."""
        return self._floats(dtypes.float32)
