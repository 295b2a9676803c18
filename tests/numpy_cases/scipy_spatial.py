"""Cases of scipy.spatial.transform.Rotation: what goes in, what comes out, and chains of turns."""

from typing import Any

import numpy as np
from scipy.spatial import transform

from tests.numpy_cases import Case, spread

R: Any = transform.Rotation
V, ROWS, Q, QS = spread(3, seed=5), spread(4, 3, seed=6), spread(4, seed=7), spread(4, 4, seed=8)
ARM = np.array([0.3, -0.8, 1.1])


def case(of: str, function: Any, *args: Any, order: int = 2) -> Case:
    return Case(f"scipy.spatial.transform.Rotation {of}", function, args, order, f32=False, rtol=1e-10)


def _hand(angles: Any) -> Any:
    """Where the end of an arm is, whose joints turn about different axes."""
    place, turn = np.zeros(3), R.identity()
    for axis, angle, length in zip("zyx", angles, (1.0, 0.5, 0.3), strict=True):
        turn = turn * R.from_euler(axis, angle)
        place = place + turn.apply([length, 0.0, 0.0])
    return place


CASES = [
    *(case(f"from_rotvec {name}", lambda v: R.from_rotvec(v).as_matrix(), v)
      for name, v in (("one", V), ("rows", ROWS), ("none", np.zeros(3)), ("small", V * 1e-4))),
    *(case(f"as_rotvec {name}", lambda v: (R.from_rotvec(v) * R.from_rotvec(0.5 * v)).as_rotvec(), v)
      for name, v in (("one", V), ("none", np.zeros(3)), ("small", V * 1e-4))),
    case("from_quat", lambda q: R.from_quat(q).as_matrix(), Q),
    case("from_quat rows", lambda q: R.from_quat(q, scalar_first=True).as_rotvec(degrees=True), QS),
    case("as_quat", lambda v: R.from_rotvec(v, degrees=True).as_quat(canonical=True, scalar_first=True), ROWS),
    *(case(f"from_euler {seq}", lambda v, seq=seq: R.from_euler(seq, v).as_quat(), V) for seq in ("xyz", "ZYX", "zxz")),
    case("from_euler degrees", lambda v: R.from_euler("zyx", v * 40, degrees=True).as_matrix(), ROWS),
    *(case(f"as_euler {seq}", lambda v, seq=seq: R.from_rotvec(v).as_euler(seq), ROWS)
      for seq in ("xyz", "ZYX", "zxz", "YXY")),
    case("apply", lambda v, p: R.from_rotvec(v).apply(p), V, ROWS),
    case("apply one", lambda v, p: R.from_rotvec(v).apply(p, inverse=True), ROWS, V),
    case("apply traced places", lambda p: R.from_rotvec([0.1, 0.2, 0.3]).apply(p), ROWS),
    case("products", lambda v, w: (R.from_rotvec(v).inv() * R.from_euler("xyz", w)).as_matrix(), V, ROWS),
    case("of known ones", lambda v: (R.from_euler("x", 0.3) * R.from_rotvec(v)).magnitude(), ROWS),
    case("items", lambda q: R.from_quat(q)[1:3].as_matrix() * R.from_quat(q)[0].magnitude(), QS),
    case("arm", _hand, ARM),
    *(case(f"from_matrix {k}", lambda v, k=k: R.from_matrix(R.from_rotvec(k * v).as_matrix()).as_quat(), ROWS)
      for k in (1.0, 3.0)),
    case("from_matrix nearest", lambda m: R.from_matrix(m).as_matrix(), np.eye(3) + 0.2 * spread(3, 3, seed=9)),
    case("from_matrix valid", lambda m: R.from_matrix(m, assume_valid=True).as_rotvec(), np.eye(3)[[1, 2, 0]], order=0),
    case("from_mrp", lambda v: [R.from_mrp(v).as_matrix(), R.from_mrp(v[0]).as_quat()], ROWS),
    case("as_mrp", lambda v: R.from_rotvec(2 * v).as_mrp(), ROWS),
    case("from_davenport", lambda v: [R.from_davenport(np.eye(3)[[2, 0]], "i", v[:2]).as_matrix(),
                                      R.from_davenport(np.eye(3), "extrinsic", v, True).as_matrix()], V),
    case("powers", lambda v, n: [(R.from_rotvec(v) ** n).as_matrix(), (R.from_rotvec(v) ** -1).as_quat()], ROWS,
         np.array(0.7)),
    *(case(f"mean of {n}", lambda v, n=n: R.from_rotvec(v[:n] / 2).mean().as_matrix(), ROWS) for n in (1, 2, 4)),
    case("mean weighed", lambda v, w: R.from_rotvec(v / 2).mean(w).as_matrix(), ROWS, np.array([0.5, 1.0, 0.2, 2.0])),
    case("align_vectors", lambda a, b: [R.align_vectors(a, b)[0].as_matrix(), R.align_vectors(a, b)[1]], ROWS,
         spread(4, 3, seed=11)),
    case("align_vectors weighed", lambda a, w: R.align_vectors(a, np.eye(4, 3), w)[0].as_matrix(), ROWS,
         np.array([0.5, 1.0, 0.2, 2.0])),
    case("one after the other", lambda v: [each.magnitude() for each in R.from_rotvec(v)], ROWS),
    case("approx_equal", lambda v: R.from_rotvec(v).approx_equal(R.from_rotvec(v[0]), 1.0), ROWS, order=0),
]
