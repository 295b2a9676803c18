"""Adam under its older path."""

from pullback.runtime.optim.adam import Adam as Adam
from pullback.runtime.optim.by_lists import adam as adam
