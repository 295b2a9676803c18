"""Operations whose backward the user writes; see pullback.runtime.tensor.reverse.custom."""

from pullback.runtime.tensor.reverse.custom import *  # noqa: F403
from pullback.runtime.tensor.reverse.once import *  # noqa: F403
