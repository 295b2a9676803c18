"""The primitives: each is one place, with its meaning, element, pullback and samples.

This floor knows what operations mean; it does not know which values get memory, in what order elements are
made, or how a machine spells them.  Importing it registers every primitive in `ir.primitive.REGISTRY`.

    tanh = Elementwise("tanh", lambda m, x: m.tanh(x), np.tanh, pulls=(lambda m, ct, x, r: ct * m.sech2(x),))
"""

from . import (
    bits,
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
    ordering,
    packs,
    reduce,
    require,
    shape,
    source,
    tape,
)
from .complex import complex_matrices, complexes, fourier, matrix_formulas, similarities
from .linalg import complements, factor, lapack, similarity, solutions, spectra, symmetric
from .scipy import (
    bessel,
    called,
    called_bessel,
    called_gammas,
    called_others,
    called_series,
    draws,
    factorials,
    gammas,
    hypergeometric,
    incomplete,
    integrals,
    inverses,
    log_gamma,
    polynomials,
    slopes,
    special,
)

__all__ = [
    "bessel", "bits", "called", "called_bessel", "called_gammas", "called_others", "called_series", "complements",
    "complex_matrices", "complexes", "contract", "control", "convolve", "custom", "draws", "elementary", "elementwise",
    "external", "factor", "factorials", "fourier", "gammas", "guard", "hypergeometric", "incomplete", "index",
    "integrals", "inverses", "lapack", "log_gamma", "matrix_formulas", "memory", "ordering", "packs", "polynomials",
    "reduce", "require", "shape", "similarities", "similarity", "slopes", "solutions", "source", "special", "spectra",
    "symmetric", "tape",
]
