"""The primitives: each is one place, with its meaning, element, pullback and samples.

This floor knows what operations mean; it does not know which values get memory, in what order elements are
made, or how a machine spells them.  Importing it registers every primitive in `ir.primitive.REGISTRY`.

    tanh = Elementwise("tanh", lambda m, x: m.tanh(x), np.tanh, pulls=(lambda m, ct, x, r: ct * m.sech2(x),))
"""

from . import (
    contract,
    control,
    convolve,
    custom,
    elementary,
    elementwise,
    external,
    guard,
    index,
    memory,
    random,
    reduce,
    require,
    shape,
    source,
    tape,
)

__all__ = [
    "contract", "control", "convolve", "custom", "elementary", "elementwise", "external", "guard", "index", "memory",
    "random", "reduce", "require", "shape", "source", "tape",
]
