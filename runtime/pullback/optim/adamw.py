"""AdamW under its older path."""

from pullback.runtime.optim.adam import AdamW as AdamW
from pullback.runtime.optim.by_lists import adamw as adamw
