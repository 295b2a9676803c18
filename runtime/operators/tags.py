"""`torch.Tag`: what is noted about operators; only `inplace` and `out` say something here."""

from __future__ import annotations

from enum import Enum

Tag = Enum(
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view"
    " maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order"
    " nondeterministic_bitwise nondeterministic_seeded out pointwise pt2_compliant_tag reduction view_copy",
    module=__name__,
)
Tag.__doc__ = "Notes about operators: `inplace` and `out` say that what is returned is what was written to."

__all__ = ["Tag"]
