"""The state of the random numbers; see pullback.runtime.tensor.ops.random.generators."""

from pullback import _random as _loaded  # noqa: F401
from pullback.runtime.tensor.ops.random.generators import (  # noqa: F401
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

