"""Beta distributions under their older path."""

from pullback.runtime.distributions.gammas import Beta as Beta
