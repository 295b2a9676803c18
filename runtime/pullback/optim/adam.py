"""Adam under its older path."""

from pullback.runtime.optim.adam import Adam as Adam
