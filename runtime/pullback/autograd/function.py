"""Operations whose backward the user writes; see pullback.runtime.tensor.custom."""

from pullback.runtime.tensor.custom import *  # noqa: F403
from pullback.runtime.tensor.once import *  # noqa: F403
