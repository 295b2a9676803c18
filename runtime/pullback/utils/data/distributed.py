"""The sampler of one of several processes under its older path."""

from pullback.runtime.utils.samplers import DistributedSampler  # noqa: F401
