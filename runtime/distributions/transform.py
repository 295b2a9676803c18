"""What every transform has: an inverse, a cache of the last value, shapes."""

from __future__ import annotations

from typing import Any

from ..tensor.face import functions as T


class Transform:
    """A function with an inverse, or a pseudo-inverse where several values have one image.

    A subclass says `domain` and `codomain`, and defines `_call`, `_inverse` and `log_abs_det_jacobian`; `bijective` and
    `sign` where they hold. With `cache_size=1` the last value and its image are kept, so that the inverse of what was
    just computed is the very tensor it was computed from.
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size is 0 or 1, not {cache_size}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._last: tuple[Any, Any] | None = None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_inv": None, "_last": None}

    @property
    def event_dim(self) -> int:
        """The number of dimensions of one value, if the image has as many."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("domain and codomain differ in event_dim: ask one of them")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse, as a transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 where the function increases, -1 where it decreases."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        if cache_size == self._cache_size:
            return self
        if type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self).__name__} has an __init__ of its own, and must define with_cache")
        return type(self)(cache_size=cache_size)

    # Defining equality takes the hash away, which is meant: parameters may change in place.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Any) -> Any:
        """The image of a value."""
        last = self._last  # read once: another thread may replace it
        if last is not None and last[0] is x:
            return last[1]
        y = self._call(x)
        self._keep(x, y)
        return y

    def _inv_call(self, y: Any) -> Any:
        last = self._last
        if last is not None and last[1] is y:
            return last[0]
        x = self._inverse(y)
        self._keep(x, y)
        return x

    def _keep(self, x: Any, y: Any) -> None:
        if self._cache_size:
            self._last = x, y

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _call")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no _inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the factor by which volumes grow at `x`, whose image is `y`."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the image of a tensor of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what has an image of this shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform, which does the work."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    @property
    def domain(self) -> Any:
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class _Plain(Transform):
    """Transforms without parameters: those of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)


def inside(p: Any) -> Any:
    """Probabilities that are neither 0 nor 1."""
    kind = T.finfo(p.dtype)
    return p.clamp(min=kind.tiny, max=1 - kind.eps)


def need_dims(shape: Any, dims: int) -> None:
    """Raise if a shape has fewer dimensions than one value."""
    if len(shape) < dims:
        raise ValueError(f"one value has {dims} dimensions, but the shape is {tuple(shape)}")
