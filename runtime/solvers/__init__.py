"""What SciPy's solvers mean for functions with traced parameters: solutions that have derivatives.

SciPy's own solver finds a root or a minimum, on numbers, and the equation that holds there differentiates it; paths
and integrals are computed by loops of the graph. The modules register their meanings when they are loaded: before the
first trace for which SciPy's module is there.
"""

from ...compiler.frontend.patched.recoded import recode_later

for _module, _registering in {
    "scipy.integrate": ("integrate.integrals", "integrate.paths", "integrate.boundaries"),
    "scipy.interpolate": (
        "interpolate.splines", "interpolate.lattices", "interpolate.fitpack", "interpolate.scattered",
        "interpolate.through_points",
    ),
    "scipy.linalg": ("linalg.banded", "linalg.matrices", "linalg.polar", "linalg.riccati"),
    "scipy.optimize": (
        "optimize.fits", "optimize.minima", "optimize.linear_programs", "optimize.roots", "optimize.older_names",
        "optimize.selections",
    ),
    "scipy.signal": ("linear_systems",),
    "scipy.sparse.linalg": ("linalg.sparse_systems",),
    "scipy.stats._distn_infrastructure": ("stats.expectations",),
    "scipy.stats._continuous_distns": ("stats.likelihoods",),
}.items():
    recode_later(_module, *[f"{__name__}.{each}" for each in _registering])
