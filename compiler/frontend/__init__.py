"""Front ends: what turns Python functions over NumPy into graphs.

This floor knows NumPy's functions, promotion and protocols, and the shapes of Python arguments; it does not
know transforms, and nothing below knows it.

    trace      one run of a function on stand-ins: tracing says which function, array what it is handed
    capture    functions with branches, loops and stores: walked, and turned into regions
    numpy      the meanings of NumPy's functions, in the dtypes that promotion tells
    arithmetic Python's operators: NumPy's meaning on arrays, Python's on Python's numbers
    patches    functions that ask no protocol: made (of named sizes), replaced (on the values at hand: athand)
    refused    what cannot be traced (refusals), or would be frozen without notice (frozen), in the words of errors
    tree       arguments as signatures and leaves;  hidden  what a function reads beside its arguments

    lambda w, x: np.sum(np.tanh(x @ w))   on f64[3,2] and f64[3] is

    graph @lambda(%w: f64[3,2], %x: f64[3]) {
      %0: f64[2] = contract %x, %w {left=(0,), right=(0,)}  # train.py:12
      %1: f64[2] = tanh %0                                  # train.py:12
      %2: f64[] = sum %1 {axes=(0,)}                        # train.py:12
      return %2
    }
"""

from . import arithmetic
from .numpy import (
    arranging,
    averages,
    choices,
    convolutions,
    creation,
    differences,
    floats,
    histograms,
    indexing,
    methods,
    nans,
    ordering,
    padding,
    places,
    polynomials,
    products,
    quantiles,
    reductions,
    sets,
    shaping,
    transforms,
    ufuncs,
    writing,
)
from .numpy.complex import complexes, functions, linalg
from .numpy.complex import ordering as complex_ordering
from .numpy.matrices import norms
from .numpy.scipy.special import functions as scipy_functions
from .numpy.scipy.special import ufuncs as special
from .patched import made, replaced, unasked
from .patched.recoded import recode_later

for _module, _registering in {
    "scipy.fft._basic_backend": ("fourier",),
    "scipy.integrate": ("sampled",),
    "scipy.linalg": ("linalg.functions", "linalg.factors", "linalg.forms"),
    "scipy.ndimage": ("ndimage.images", "ndimage.warps", "ndimage.measurements"),
    "scipy.signal": ("signal.filters", "signal.estimates", "signal.responses"),
    "scipy.spatial.distance": ("spatial.distances",),
    "scipy.spatial.transform": ("spatial.rotations", "spatial.nearest_rotations"),
    "scipy.sparse._base": ("sparse.operations", "sparse.entries"),
    "scipy.sparse._coo": ("sparse.operations",),
    "scipy.special._multiufuncs": ("special.harmonics",),
    "scipy.stats": ("stats.summaries", "stats.hypotheses", "stats.ranks", "stats.samples"),
    "scipy.stats._distn_infrastructure": ("stats.methods",),
    "scipy.stats._multivariate": ("stats.multivariate",),
}.items():
    recode_later(_module, *[f"{__name__}.numpy.scipy.{each}" for each in _registering])
for _module in ("cluster.vq", "interpolate", "linalg", "ndimage", "optimize", "signal", "spatial", "stats"):
    recode_later(f"scipy.{_module}", f"{__name__}.patched.written_names")
recode_later("pandas.core.frame", f"{__name__}.numpy.frames")
recode_later("numpy.polynomial", f"{__name__}.numpy.series")

__all__ = [
    "arithmetic", "arranging", "averages", "choices", "complex_ordering", "complexes", "convolutions",
    "creation", "differences", "floats", "functions", "histograms", "indexing", "linalg", "made", "methods", "nans",
    "norms", "ordering", "padding", "places", "polynomials", "products", "quantiles", "reductions", "replaced",
    "scipy_functions", "sets", "shaping", "special", "transforms", "ufuncs", "unasked", "writing",
]
