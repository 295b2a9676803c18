"""AdamW under its older path."""

from pullback.runtime.optim.adam import AdamW as AdamW
