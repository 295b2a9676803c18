"""What distributions share; see pullback.runtime.distributions.utils."""

from pullback.runtime.distributions.utils import *  # noqa: F403
from pullback.runtime.distributions.utils import standard_normal as _standard_normal  # noqa: F401
from pullback.runtime.distributions.utils import sum_rightmost as _sum_rightmost  # noqa: F401
