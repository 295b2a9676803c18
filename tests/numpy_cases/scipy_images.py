"""Cases of scipy.ndimage."""

from typing import Any

import numpy as np
from scipy import ndimage

from tests.numpy_cases import Case, spread

N: Any = ndimage
IMAGE, W, W2, EVEN = spread(6, 5), np.array([0.5, 1.0, -0.3]), spread(3, 3, seed=1), spread(2, 4, seed=2)
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")
AT = np.array([[0.3, 1.6, 3.2, 4.7], [0.2, 3.4, 2.7, 1.1]])


LABELS = np.array([[1] * 5] * 2 + [[0, 2, 2, 2, 2]] * 4)


def case(of: str, function: Any, *args: Any, order: int = 2) -> Case:
    return Case(f"scipy.ndimage.{of}", function, args, order=order, f32=False, rtol=1e-9)


CASES = [
    *(case(f"gaussian_filter {mode}", lambda x, m=mode: N.gaussian_filter(x, 1.1, mode=m, cval=0.7), IMAGE)
      for mode in MODES),
    *(case(f"{name} {mode}", lambda x, n=name, m=mode: getattr(N, n)(x, mode=m), IMAGE)
      for name in ("sobel", "prewitt", "laplace") for mode in ("reflect", "wrap")),
    case("gaussian_filter orders", lambda x: N.gaussian_filter(x, (0.8, 1.2), order=(1, 2), radius=3), IMAGE),
    case("gaussian_filter axes", lambda x: N.gaussian_filter(x, 0.8, axes=0), IMAGE),
    case("gaussian_filter sigma", lambda x, s: N.gaussian_filter(x, s[0], radius=3), IMAGE, np.array([1.1])),
    *(case(f"gaussian_filter1d {k}", lambda x, k=k: N.gaussian_filter1d(x, 0.9, 0, k), IMAGE) for k in (1, 2, 3)),
    *(case(f"{name} {o}", lambda x, w, n=name, o=o: getattr(N, n)(x, w, 0, origin=o), IMAGE, W)
      for name in ("correlate1d", "convolve1d") for o in (0, 1)),
    *(case(f"{name} even", lambda x, w, n=name: getattr(N, n)(x, w, mode="constant", cval=2.0), IMAGE, EVEN)
      for name in ("correlate", "convolve")),
    *(case(f"{name}", lambda x, w, n=name: getattr(N, n)(x, w), IMAGE, W2) for name in ("correlate", "convolve")),
    case("convolve origin", lambda x, w: N.convolve(x, w, origin=(1, -1)), IMAGE, W2),
    case("convolve1d even", lambda x, w: N.convolve1d(x, w), IMAGE, EVEN[0].copy()),
    case("uniform_filter", lambda x: N.uniform_filter(x, 3), IMAGE),
    case("uniform_filter even", lambda x: N.uniform_filter(x, (2, 3), mode="nearest", origin=(0, 1)), IMAGE),
    case("uniform_filter1d", lambda x: N.uniform_filter1d(x, 4, 0), IMAGE),
    case("gaussian_laplace", lambda x: N.gaussian_laplace(x, 1.0), IMAGE),
    *(case(name, lambda x, n=name: getattr(N, n)(x, 3), IMAGE)
      for name in ("maximum_filter", "minimum_filter", "median_filter")),
    case("maximum_filter footprint", lambda x: N.maximum_filter(x, footprint=[[0, 1], [1, 1]]), IMAGE),
    case("median_filter even", lambda x: N.median_filter(x, (2, 3), mode="wrap"), IMAGE),
    *(case(f"map_coordinates {mode}", lambda x, p, m=mode: N.map_coordinates(x, p, order=1, mode=m), IMAGE, AT)
      for mode in ("constant", "nearest", "grid-wrap")),
    case("map_coordinates outside", lambda x: N.map_coordinates(x, AT * 1.7 - 1, order=1, mode="nearest"), IMAGE),
    case("map_coordinates outside constant", lambda x: N.map_coordinates(x, AT * 1.7 - 1, order=1, cval=0.3), IMAGE),
    case("map_coordinates wrap", lambda x: N.map_coordinates(x, AT * 1.7 - 1, order=1, mode="grid-wrap"), IMAGE),
    *(case(f"map_coordinates cubic {mode}", lambda x, p, m=mode: N.map_coordinates(x, p, mode=m, cval=0.3), IMAGE, AT)
      for mode in ("constant", "nearest", "mirror", "grid-wrap")),
    *(case(f"map_coordinates cubic outside {mode}", lambda x, m=mode: N.map_coordinates(x, AT * 1.7 - 1, mode=m), IMAGE)
      for mode in ("nearest", "mirror", "grid-wrap")),
    *(case(f"shift {order}", lambda x, by, o=order: N.shift(x, by, order=o), IMAGE, np.array([0.3, -1.2]))
      for order in (1, 3)),
    *(case(f"zoom {order}", lambda x, o=order: N.zoom(x, (1.6, 0.7), order=o, mode="nearest"), IMAGE)
      for order in (1, 3)),
    *(case(f"rotate {order}", lambda x, o=order: N.rotate(x, 33.0, order=o), IMAGE) for order in (1, 3)),
    case("rotate by an angle", lambda x, a: N.rotate(x, a[0] * 30, reshape=False), IMAGE, np.array([1.1])),
    case("affine_transform", lambda x, m: N.affine_transform(x, m, (0.3, 0.2), mode="mirror"), IMAGE,
         np.array([[0.9, 0.153], [-0.107, 1.07]])),
    case("affine_transform homogeneous", lambda x, m: N.affine_transform(x, m, order=1), IMAGE,
         np.array([[0.9, 0.153, 0.223], [-0.107, 0.87, 0.317]])),
    case("spline_filter", lambda x: N.spline_filter(x), IMAGE),
    case("map_coordinates order 0", lambda x: N.map_coordinates(x, AT, order=0, mode="nearest"), IMAGE),
    *(case(name, lambda x, n=name: [getattr(N, n)(x), getattr(N, n)(x, LABELS, [1, 2]), getattr(N, n)(x, LABELS, 2)],
           IMAGE) for name in ("mean", "sum", "variance", "standard_deviation", "maximum", "minimum", "median")),
    case("center_of_mass", lambda x: [*N.center_of_mass(x**2), *N.center_of_mass(x**2, LABELS, [1, 2])[1]], IMAGE),
    case("percentile_filter", lambda x: [N.percentile_filter(x, 30, size=3), N.rank_filter(x, -2, size=3)], IMAGE),
    case("maximum_filter1d", lambda x: [N.maximum_filter1d(x, 4), N.minimum_filter1d(x, 3, axis=0)], IMAGE),
    case("gaussian_gradient_magnitude", lambda x: N.gaussian_gradient_magnitude(x, 0.8), IMAGE),
    *(case(name, lambda x, n=name: getattr(N, n)(x, size=3), IMAGE) for name in
      ("grey_dilation", "grey_erosion", "grey_opening", "grey_closing", "white_tophat", "black_tophat")),
]
