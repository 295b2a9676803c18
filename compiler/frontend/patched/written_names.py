"""SciPy's functions that mean for traced values what their code says: their names, by the module that has them.

A name here has a case in tests/test_scipy_written.py, which compares value, gradient and Hessian.
"""

from __future__ import annotations

from ..numpy.complex.complexes import ANY
from .written import as_written

WRITTEN: dict[str, str] = {
    "scipy.cluster.vq": "py_vq",
    "scipy.interpolate": "lagrange pade pchip_interpolate",
    "scipy.linalg": "convolution_matrix fiedler matmul_toeplitz orthogonal_procrustes",
    "scipy.ndimage": "extrema",
    "scipy.optimize": "rosen rosen_der",
    "scipy.signal": """
        bessel bilinear bilinear_zpk butter cheby1 cheby2 chirp cont2discrete deconvolve ellip firwin firwin2 freqs_zpk
        freqz_zpk gauss_spline gausspulse get_window group_delay iirnotch iirpeak kaiser_atten kaiser_beta lfiltic
        lp2bp lp2bs lp2lp normalize qspline1d sos2tf square tf2ss tf2zpk vectorstrength wiener zpk2ss zpk2tf
    """,
    "scipy.spatial": "distance_matrix geometric_slerp minkowski_distance minkowski_distance_p procrustes",
    "scipy.stats": """
        alexandergovern bayes_mvs brunnermunzel chi2_contingency combine_pvalues cumfreq differential_entropy expectile
        kstat kstatvar mvsdist obrientransform pointbiserialr power_divergence probplot ranksums relfreq
        scoreatpercentile sigmaclip tmax tmin trim1 trimboth ttest_ind_from_stats
    """,
    "scipy.stats._distn_infrastructure": "rv_generic.moment rv_generic._argcheck",
    "scipy.stats._multivariate": """
        dirichlet_gen.entropy dirichlet_gen.mean dirichlet_gen.var dirichlet_multinomial_gen.logpmf
    """,
}

for _module, _names in WRITTEN.items():
    ANY.update(as_written(_module, *_names.split()))

__all__ = ["WRITTEN"]
