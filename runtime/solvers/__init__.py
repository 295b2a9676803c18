"""What SciPy's solvers mean for functions with traced parameters: solutions that have derivatives.

SciPy's own solver finds a root or a minimum, on numbers, and the equation that holds there differentiates it; paths
and integrals are computed by loops of the graph. The modules register their meanings when they are loaded: before the
first trace for which SciPy's module is there.
"""

from ...compiler.frontend.patched.recoded import recode_later

for _module, _registering in {
    "scipy.integrate": ("integrals", "paths", "boundaries"),
    "scipy.interpolate": ("splines", "lattices", "fitpack", "scattered", "through_points"),
    "scipy.linalg": ("banded", "matrices", "polar", "riccati"),
    "scipy.optimize": ("fits", "minima", "linear_programs", "roots", "older_names", "selections"),
    "scipy.signal": ("linear_systems",),
    "scipy.sparse.linalg": ("sparse_systems",),
    "scipy.stats._distn_infrastructure": ("expectations",),
    "scipy.stats._continuous_distns": ("likelihoods",),
}.items():
    recode_later(_module, *[f"{__name__}.{each}" for each in _registering])
