"""Cases of scipy.spatial.distance."""

from typing import Any

import numpy as np
from scipy.spatial import distance

from tests.numpy_cases import Case, spread

D: Any = distance
A, B = spread(4, 3), spread(5, 3, seed=2) + 0.01
U, V, W = spread(4), spread(4, seed=1) * 1.1, np.array([0.5, 1.0, 2.0, 1.5])
PART = np.abs(spread(4, seed=3)) + 0.1
METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "cosine", "correlation")
VI = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])


def case(of: str, function: Any, *args: Any, order: int = 2) -> Case:
    return Case(f"scipy.spatial.distance.{of}", function, args, order=order, f32=False, rtol=1e-10)


CASES = [
    *(case(f"cdist {name}", lambda a, b, name=name: D.cdist(a, b, name), A, B) for name in METRICS),
    *(case(f"pdist {name}", lambda a, name=name: D.pdist(a, metric=name), A) for name in METRICS),
    *(case(name, lambda u, v, name=name: np.positive(getattr(D, name)(u, v)), U, V) for name in METRICS),
    *(case(f"{name} w", lambda u, v, w, name=name: np.positive(getattr(D, name)(u, v, w)), U, V, W)
      for name in METRICS if name != "chebyshev"),
    case("cdist minkowski", lambda a, b: D.cdist(a, b, "minkowski", p=3), A, B),
    case("cdist seuclidean", lambda a, b: D.cdist(a, b, "seuclidean"), A, B),
    case("cdist mahalanobis", lambda a, b: D.cdist(a, b, "mahalanobis", VI=VI), A, B),
    case("pdist mahalanobis", lambda a: D.pdist(a, "mahalanobis"), B),
    case("cdist function", lambda a, b: D.cdist(a, b, lambda u, v: np.sum(np.abs(u - v) ** 1.5)), A, B),
    case("cdist of one set", lambda a: np.exp(-D.cdist(a, a)), A, order=1),
    case("pdist seuclidean", lambda a, v: D.pdist(a, "seuclidean", V=v), A, np.array([0.5, 1.0, 2.0])),
    case("minkowski", lambda u, v: D.minkowski(u, v, 3), U, V),
    case("seuclidean", lambda *args: np.positive(D.seuclidean(*args)), U, V, W),
    case("mahalanobis", D.mahalanobis, A[0].copy(), A[1].copy(), VI),
    case("jensenshannon", D.jensenshannon, PART, W),
    case("jensenshannon base", lambda p, q: D.jensenshannon(p, q, 2.0), PART, W),
    case("squareform", D.squareform, spread(6)),
    case("squareform back", lambda a: D.squareform(a @ a.T * (1 - np.eye(4))), A),
]
