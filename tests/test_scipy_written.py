"""SciPy's functions of Python that run on traced values as they are written: value, gradient and Hessian of each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.stats

from pullback import grad, hessian, jit
from pullback.compiler.frontend.patched.written_names import WRITTEN

I: Any = scipy.interpolate  # noqa: E741
L: Any = scipy.linalg
N: Any = scipy.ndimage
O: Any = scipy.optimize  # noqa: E741
G: Any = scipy.signal
P: Any = scipy.spatial
S: Any = scipy.stats
V: Any = scipy.cluster.vq

X = np.array([0.3, 1.2, -0.7, 2.1, 0.9, -1.4, 0.5])
A = np.random.default_rng(0).normal(size=(4, 4))
T = np.linspace(0.0, 1.0, 20)
AT = 0.83


def deconvolved(a: Any) -> Any:
    return G.deconvolve(X * a, np.array([1.0, 0.5 * a]))[0][1]


CASES: dict[str, Callable[[Any], Any]] = {
    "py_vq": lambda a: np.sum(V.py_vq(A * a, A[:2])[1]),
    "lagrange": lambda a: I.lagrange(np.arange(3.0), a * np.array([1.0, 3.0, 2.0]) ** a)(1.5),
    "pade": lambda a: I.pade([1.0, a, 0.5], 1)[0](0.3),
    "pchip_interpolate": lambda a: I.pchip_interpolate(np.arange(7.0), X * a**2, 2.5),
    "convolution_matrix": lambda a: np.sum(L.convolution_matrix(X * a, 3) ** 2),
    "fiedler": lambda a: np.sum(L.fiedler(X * a) ** 3),
    "matmul_toeplitz": lambda a: L.matmul_toeplitz(X * a, X * a)[0],
    "orthogonal_procrustes": lambda a: L.orthogonal_procrustes(A, A @ A * a + A * a**2)[0][0, 1],
    "extrema": lambda a: N.extrema(A * a**2)[0],
    "rosen": lambda a: O.rosen(a * X),
    "rosen_der": lambda a: O.rosen_der(a * X)[1],
    "bessel": lambda a: G.bessel(2, 0.3 * a)[1][1],
    "bilinear": lambda a: G.bilinear([1.0], [1.0, a], 2.0)[1][1],
    "bilinear_zpk": lambda a: G.bilinear_zpk([0.1 * a], [0.2 * a + 0.1j, 0.2 * a - 0.1j], 1.0, 2.0)[2],
    "butter": lambda a: G.butter(3, [0.2 * a, 0.5], "band")[1][1],
    "cheby1": lambda a: G.cheby1(2, 1, 0.3 * a)[1][1],
    "cheby2": lambda a: G.cheby2(2, 30, 0.3 * a, "high")[1][1],
    "chirp": lambda a: np.sum(G.chirp(T, a, 1, 5 * a)),
    "cont2discrete": lambda a: G.cont2discrete((A * a, A[:, :1], A[:1], np.zeros((1, 1))), 0.1)[0][0, 0],
    "ellip": lambda a: G.ellip(2, 1, 30, 0.3 * a)[1][1],
    "firwin": lambda a: G.firwin(7, 0.3 * a)[1],
    "firwin2": lambda a: G.firwin2(9, [0, 0.3 * a, 1.0], [1, 0.5, 0])[2],
    "freqs_zpk": lambda a: np.abs(G.freqs_zpk([0.1], [0.2 * a], 1.0, [1.0, 2.0])[1][0]),
    "freqz_zpk": lambda a: np.abs(G.freqz_zpk([0.1], [0.2 * a], 1.0, 8)[1][2]),
    "gauss_spline": lambda a: G.gauss_spline(X * a, 3)[1],
    "gausspulse": lambda a: np.sum(G.gausspulse(T, fc=5 * a)),
    "get_window": lambda a: G.get_window(("kaiser", 3 * a), 7)[1],
    "group_delay": lambda a: G.group_delay(([1.0, a * 0.3], [1.0, 0.2 * a]))[1][3],
    "iirnotch": lambda a: G.iirnotch(0.3 * a, 5)[1][1],
    "iirpeak": lambda a: G.iirpeak(0.3 * a, 5)[1][1],
    "kaiser_atten": lambda a: G.kaiser_atten(10, 0.3 * a),
    "kaiser_beta": lambda a: G.kaiser_beta(40 * a),
    "lfiltic": lambda a: G.lfiltic([1.0], [1.0, a**2], [1.0])[0],
    "lp2bp": lambda a: G.lp2bp([1.0], [1.0, 1.0, 1.0], a, 0.3)[1][2],
    "lp2bs": lambda a: G.lp2bs([1.0], [1.0, 1.0, 1.0], a, 0.3)[1][2],
    "lp2lp": lambda a: G.lp2lp([1.0], [1.0, 1.0, 1.0], a)[1][2],
    "normalize": lambda a: G.normalize([a, 1.0], [2 * a**2, 1.0])[1][1],
    "qspline1d": lambda a: G.qspline1d(X * a**2)[2],
    "sos2tf": lambda a: G.sos2tf(np.array([[1, a, 0, 1, 0.1 * a, 0.2], [1, a, 1, 1, a, 0.1]]))[1][2],
    "square": lambda a: np.sum(G.square(T * a)) * a**2,
    "tf2ss": lambda a: G.tf2ss([1.0, a], [a, 3 * a**2, 2.0])[0][0, 0],
    "tf2zpk": lambda a: np.real(G.tf2zpk([1.0, a], [1.0, 3 * a, 1.0])[1][0]),
    "vectorstrength": lambda a: G.vectorstrength(X * a, 2.0)[0],
    "wiener": lambda a: G.wiener(X * a + X**2 * a**2, 3, 0.1)[2],
    "zpk2ss": lambda a: G.zpk2ss([0.1], [0.2 * a, 0.3 * a], 1.0)[0][0, 1],
    "zpk2tf": lambda a: G.zpk2tf([a], [2 * a, 0.1 * a], 1.0)[1][2],
    "distance_matrix": lambda a: np.sum(P.distance_matrix(A * a, A + 1)),
    "geometric_slerp": lambda a: P.geometric_slerp(np.array([1.0, 0]), np.array([0, 1.0]), a * 0.3)[0],
    "minkowski_distance": lambda a: P.minkowski_distance(X * a, X + 1, 3),
    "minkowski_distance_p": lambda a: P.minkowski_distance_p(X * a, X + 1, 3),
    "procrustes": lambda a: P.procrustes(A, A @ A * a + A * a**2)[2],
    "alexandergovern": lambda a: S.alexandergovern(X * a, X[:4]).statistic,
    "bayes_mvs": lambda a: S.bayes_mvs(X * a)[1].statistic,
    "brunnermunzel": lambda a: S.brunnermunzel(X * a, X[:4] + 0.1).statistic * a**2,
    "chi2_contingency": lambda a: S.chi2_contingency(np.array([[3.0, 5 * a], [7, 9]])).statistic,
    "combine_pvalues": lambda a: S.combine_pvalues([0.1 * a, 0.2]).pvalue,
    "cumfreq": lambda a: S.cumfreq(X * a, 4).binsize * a,
    "differential_entropy": lambda a: S.differential_entropy(X * a + X**2 * a**2),
    "expectile": lambda a: S.expectile(X**2 * a + a**2 * X, 0.3),
    "kstat": lambda a: S.kstat(X * a, 3),
    "kstatvar": lambda a: S.kstatvar(X * a, 2),
    "mvsdist": lambda a: S.mvsdist(X * a)[1].mean(),
    "obrientransform": lambda a: S.obrientransform(X * a, X)[0][0],
    "pointbiserialr": lambda a: S.pointbiserialr(X > 0, X**2 * a + X * a * a).statistic,
    "power_divergence": lambda a: S.power_divergence(
        np.array([3.0, 5.0]) * a, np.array([4.0, 4.0]) * a, lambda_=0.5
    ).statistic,
    "probplot": lambda a: S.probplot(X * a + X**2 * a**2)[1][0],
    "ranksums": lambda a: S.ranksums(X * a, X[:4]).statistic * a**2,
    "relfreq": lambda a: S.relfreq(X * a, 3).binsize * a,
    "scoreatpercentile": lambda a: S.scoreatpercentile(X * a**2, 30),
    "sigmaclip": lambda a: np.sum(S.sigmaclip(X * a, 1.5, 1.5)[0] ** 2),
    "tmax": lambda a: S.tmax(X * a**2),
    "tmin": lambda a: S.tmin(X * a**2),
    "trim1": lambda a: np.sum(S.trim1(X * a, 0.2) ** 3),
    "trimboth": lambda a: np.sum(S.trimboth(X * a, 0.2) ** 3),
    "ttest_ind_from_stats": lambda a: S.ttest_ind_from_stats(a, 1, 5, 2, a, 6).statistic,
    "deconvolve": lambda a: deconvolved(a),
    "rv_generic.moment": lambda a: S.gamma.moment(3, a) + S.norm.moment(4, a, 2 * a),
    "rv_generic._argcheck": lambda a: S.beta.moment(2, a, 2 * a),
    "dirichlet_gen.entropy": lambda a: S.dirichlet.entropy([a, 1.0]),
    "dirichlet_gen.mean": lambda a: S.dirichlet.mean([a, 1.0])[0],
    "dirichlet_gen.var": lambda a: S.dirichlet.var([a, 1.0])[0],
    "dirichlet_multinomial_gen.logpmf": lambda a: S.dirichlet_multinomial.logpmf([1, 2], [a, 1.0], 3),
}


def test_each_name_has_a_case() -> None:
    names = [name for each in WRITTEN.values() for name in each.split()]
    assert sorted(names) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_as_it_is_written(name: str) -> None:
    f = lambda a: CASES[name](a) * 1.0  # noqa: E731
    h, slope = 1e-5, grad(f)
    np.testing.assert_allclose(jit(f)(AT), f(AT), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slope(AT), (f(AT + h) - f(AT - h)) / (2 * h), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(hessian(f)(AT), (slope(AT + h) - slope(AT - h)) / (2 * h), rtol=1e-6, atol=1e-6)


def band(a: Any) -> Any:
    """A filter that is designed, used and looked at."""
    b, c = G.butter(2, 0.3 * a)
    made = G.lfilter(b, c, X)
    total = 0.0
    for k in range(len(X)):
        if made[k] > 0:
            total = total + made[k] ** 2
    return total


def test_within_a_function_that_branches() -> None:
    np.testing.assert_allclose(grad(band)(AT), (band(AT + 1e-5) - band(AT - 1e-5)) / 2e-5, rtol=1e-6)


def test_elsewhere_they_are_what_they_were() -> None:
    assert O.rosen(X) == pytest.approx(jit(lambda x: O.rosen(x))(X), rel=1e-14)
    assert isinstance(O.rosen(X), float) and isinstance(np.asarray(X), np.ndarray)
    with pytest.raises(ValueError, match="Digital filter critical frequencies must be"):
        grad(lambda a: G.butter(2, 3.0 * a)[1][1])(AT)


OUTSIDE = {
    "a simplex": (lambda x: S.dirichlet.pdf(x, [1.0, 2.0, 3.0]), [0.5, 0.6, 0.2], "within the normal simplex"),
    "a coordinate": (lambda x: S.dirichlet.logpdf(x, [1.0, 2.0]), [-0.5, 1.5], "greater than or equal to zero"),
    "an edge": (lambda a: S.dirichlet.logpdf([0.0, 1.0], a), [0.5, 2.0], "if its alpha is less than one"),
    "parameters": (lambda a: S.dirichlet(a).entropy(), [-1.0, 2.0], "All parameters must be greater than 0"),
    "degrees": (lambda x: S.wishart.pdf(np.eye(3), x[0], np.eye(3)), [2.0], "Degrees of freedom must be greater"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_outside_raises_in_the_call_as_in_scipy(name: str) -> None:
    f, x, said = OUTSIDE[name]
    for function in (f, jit(f)):
        with pytest.raises(ValueError, match=said):
            function(np.array(x))
