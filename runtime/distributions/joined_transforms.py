"""Transforms made of others: one after the other, side by side, or over more dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor.face import functions as T
from . import constraints
from .transform import Transform, need_dims
from .utils import lazy_property, sum_rightmost


def _widened(constraint: Any, event_dim: int) -> Any:
    """A constraint whose values have at least so many dimensions."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """One transform after the other."""

    def __init__(self, parts: Any, cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        iter(parts)
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property
    def domain(self) -> Any:
        """That of the first part, with as many more dimensions as a later one needs."""
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims = max(part.domain.event_dim, dims + part.domain.event_dim - part.codomain.event_dim)
        return _widened(self.parts[0].domain, dims)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """That of the last part, with as many more dimensions as an earlier one leaves."""
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims = max(part.codomain.event_dim, dims + part.codomain.event_dim - part.domain.event_dim)
        return _widened(self.parts[-1].codomain, dims)

    @lazy_property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Any:
        """The parts' inverses, the last one first."""
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        return self if cache_size == self._cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        """The image of a value."""
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the parts' logarithms, each folded to the dimensions of an event there."""
        if not self.parts:
            return T.zeros_like(x)
        dims, last, added = self.domain.event_dim, len(self.parts) - 1, None
        for k, part in enumerate(self.parts):
            image = y if k == last else part(x)
            one = sum_rightmost(part.log_abs_det_jacobian(x, image), dims - part.domain.event_dim)
            added = one if added is None else added + one
            dims += part.codomain.event_dim - part.domain.event_dim
            x = image
        return added

    def forward_shape(self, shape: Any) -> Any:
        """The shape after all parts."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape before all parts."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as dimensions of one value."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        if cache_size == self._cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """That of the base, with more dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """That of the base, with more dimensions."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """Whether the base is."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """That of the base."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        need_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        need_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Those of the base, summed."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        """As the base has it."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """As the base has it."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


# ---- side by side


class _Joined(Transform):
    """Transforms of the parts of a tensor along one dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        for part in tseq:
            if not isinstance(part, Transform):
                raise AssertionError("tseq holds transforms and nothing else")
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [part.with_cache(cache_size) for part in tseq] if cache_size else list(tseq), dim

    @property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(part.bijective for part in self.transforms)

    def _parts_of(self, x: Any) -> list[Any]:
        raise NotImplementedError

    def _joined(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _mapped(self, x: Any, act: Callable[[Any, Any], Any]) -> Any:
        return self._joined([act(t, part) for t, part in zip(self.transforms, self._parts_of(x), strict=True)])

    def _call(self, x: Any) -> Any:
        return self._mapped(x, lambda t, part: t(part))

    def _inverse(self, y: Any) -> Any:
        return self._mapped(y, lambda t, part: t.inv(part))

    def _need(self, x: Any, places: int) -> None:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"there is no dimension {self.dim} in a tensor of {x.dim()}")
        if x.shape[self.dim] != places:
            raise AssertionError(f"the transforms are for {places} places along {self.dim}, not {x.shape[self.dim]}")


class CatTransform(_Joined):
    """Transforms of pieces that lie one after the other, of the given lengths."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"{len(self.lengths)} lengths for {len(self.transforms)} transforms")

    @property
    def event_dim(self) -> int:
        """The largest of the parts."""
        return max(part.event_dim for part in self.transforms)

    @property
    def length(self) -> int:
        """How many places all pieces have."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        if cache_size == self._cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts_of(self, x: Any) -> list[Any]:
        self._need(x, self.length)
        starts = [sum(self.lengths[:k]) for k in range(len(self.lengths))]
        return [x.narrow(self.dim, start, n) for start, n in zip(starts, self.lengths, strict=True)]

    def _joined(self, parts: list[Any]) -> Any:
        return T.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Those of the pieces, one after the other; their sum where the pieces divide one event."""
        made = []
        for t, a, b in zip(self.transforms, self._parts_of(x), self._parts_of(y), strict=True):
            made.append(sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        if dim < 0:
            return T.cat(made, dim=dim)
        added = made[0]
        for one in made[1:]:
            added = added + one
        return added

    @constraints.dependent_property
    def domain(self) -> Any:
        """Those of the pieces."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Those of the pieces."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Transforms of slices, one for each place of the dimension."""

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with another `cache_size`."""
        return self if cache_size == self._cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts_of(self, x: Any) -> list[Any]:
        self._need(x, len(self.transforms))
        return [x.select(self.dim, k) for k in range(len(self.transforms))]

    def _joined(self, parts: list[Any]) -> Any:
        return T.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Those of the slices, stacked."""
        pairs = zip(self.transforms, self._parts_of(x), self._parts_of(y), strict=True)
        return self._joined([t.log_abs_det_jacobian(a, b) for t, a, b in pairs])

    @constraints.dependent_property
    def domain(self) -> Any:
        """Those of the slices."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Those of the slices."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
