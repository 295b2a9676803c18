"""Sizes for each axis, as layers take them; see pullback.runtime.nn.tuples."""

from pullback.runtime.nn.tuples import (
    consume_prefix_in_state_dict_if_present as consume_prefix_in_state_dict_if_present,
)
from pullback.runtime.nn.tuples import ntuple as _ntuple  # noqa: F401
from pullback.runtime.nn.tuples import pair as _pair  # noqa: F401
from pullback.runtime.nn.tuples import quadruple as _quadruple  # noqa: F401
from pullback.runtime.nn.tuples import reverse_repeat_tuple as _reverse_repeat_tuple  # noqa: F401
from pullback.runtime.nn.tuples import single as _single  # noqa: F401
from pullback.runtime.nn.tuples import triple as _triple  # noqa: F401
