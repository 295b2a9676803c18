"""Arguments of transformed functions that do not fit."""

from collections import OrderedDict
from typing import Any

import numpy as np

from pullback import grad, hessian, hvp, jacfwd, jacobian, jacrev, jit, jvp, linearize, value_and_grad, vjp, vmap

ANY: Any = np.ones(3)
V, M = np.ones(3), np.ones((3, 2))


def loss(w: Any, x: Any) -> Any:
    return np.sum(w * x)


def tree(p: Any) -> Any:
    return np.sum(p["w"][0]) + np.sum(p["b"])


def of(given: Any) -> Any:
    return lambda: grad(tree)({"w": [given], "b": V})


LOSS: Any = loss

CASES = {
    "one missing": lambda: grad(LOSS)(V),
    "one too many": lambda: grad(LOSS)(V, V, V),
    "unknown keyword": lambda: grad(LOSS)(V, y=V),
    "given twice": lambda: grad(LOSS)(V, V, w=V),
    "missing in jit": lambda: jit(LOSS)(V),
    "missing in value_and_grad": lambda: value_and_grad(LOSS)(),
    "missing in hessian": lambda: hessian(LOSS)(V),
    "missing in jacobian": lambda: jacobian(LOSS)(V),
    "longdouble": lambda: jit(LOSS)(np.ones(3, np.longdouble), V),
    "objects": lambda: jit(LOSS)(np.array([1, None]), V),
    "texts in an array": lambda: jit(LOSS)(np.array(["a"]), V),
    "dates": lambda: jit(LOSS)(np.array(["2020-01-01"], "M8[D]"), V),
    "long double": lambda: jit(LOSS)(np.ones(3, np.longdouble), V),
    "structured": lambda: jit(LOSS)(np.zeros(3, [("a", float)]), V),
    "longdouble within": of(np.ones(2, np.longdouble)),
    "objects within": of(np.array([None])),
    "ints to differentiate": lambda: grad(LOSS)(np.ones(3, int), V),
    "an int to differentiate": lambda: grad(lambda x: x * 2.0)(1),
    "bools to differentiate": lambda: grad(LOSS)(np.ones(3, bool), V),
    "a text to differentiate": lambda: grad(lambda x: 1.0)("a"),
    "None to differentiate": lambda: grad(lambda x: 1.0)(None),
    "an empty dict to differentiate": lambda: grad(lambda p: 1.0)({}),
    "a dict of texts to differentiate": lambda: grad(lambda p: 1.0)({"a": "b"}),
    "an ordered dict of texts": lambda: grad(lambda p: 1.0)(OrderedDict(a="b")),
    "complex to differentiate as holomorphic": lambda: grad(lambda z: z.real, holomorphic=True)(1j),
    "real to differentiate as holomorphic": lambda: grad(lambda z: z * z, holomorphic=True)(1.0),
    "ints in jacobian": lambda: jacobian(lambda x: x * 2)(np.ones(3, int)),
    "ints in jacfwd": lambda: jacfwd(lambda x: x * 2)(np.ones(3, int)),
    "ints in jacrev": lambda: jacrev(lambda x: x * 2)(np.ones(3, int)),
    "ints in hessian": lambda: hessian(lambda x: np.sum(x * 2.0))(np.ones(3, int)),
    "ints in hvp": lambda: hvp(lambda x: np.sum(x * 2.0))(np.ones(3, int), np.ones(3, int)),
    "ints in vjp": lambda: vjp(lambda x: x * 2, np.ones(3, int)),
    "ints in jvp": lambda: jvp(lambda x: x * 2, (np.ones(3, int),), (np.ones(3, int),)),
    "another shape in hvp": lambda: hvp(lambda x: np.sum(x**3))(V, np.ones(2)),
    "another shape in jvp": lambda: jvp(lambda x: x**3, (V,), (np.ones(2),)),
    "another key in jvp": lambda: jvp(lambda p: p["a"], ({"a": V},), ({"b": V},)),
    "another structure in jvp": lambda: jvp(lambda p: p[0], ([V],), ((V,),)),
    "too few tangents": lambda: jvp(lambda x, y: x * y, (V, V), (V,)),
    "no tuple of tangents": lambda: jvp(lambda x: x, (V,), ANY),
    "another cotangent": lambda: vjp(lambda x: x**3, V)[1](np.ones(2)),
    "too many cotangents": lambda: vjp(lambda x: x**3, V)[1](V, V),
    "tangents of linearize": lambda: linearize(lambda x, y: x * y, V, V)[1](V),
    "lanes that differ": lambda: vmap(lambda x, y: x + y)(V, np.ones(2)),
    "no lanes": lambda: vmap(lambda x: x)(1.0),
    "no such axis": lambda: vmap(lambda p: p["w"][0], in_axes=1)({"w": [V]}),
    "too few axes": lambda: vmap(lambda x, y: x + y, in_axes=(0,))(V, V),
    "axes of another structure": lambda: vmap(lambda p: p["a"], in_axes=({"b": 0, "c": 0},))({"a": V}),
    "no axis at all": lambda: vmap(lambda x: x, in_axes=None)(V),
    "an axis that is a text": lambda: vmap(lambda x: x, in_axes="0")(V),  # type: ignore[arg-type]
    "out of another shape": lambda: jit(lambda x: x * 2.0)(V, out=np.ones(2)),
    "out of another dtype": lambda: jit(lambda x: x * 2.0)(V, out=np.ones(3, np.float32)),
    "out that is no array": lambda: jit(lambda x: x * 2.0)(V, out=[1.0, 2.0, 3.0]),
    "out that is read only": lambda: jit(lambda x: x * 2.0)(V, out=np.broadcast_to(1.0, 3)),
    "out that is not contiguous": lambda: jit(lambda x: x * 2.0)(V, out=np.ones(6)[::2]),
    "out of too few": lambda: jit(lambda x: (x, x * 2.0))(V, out=(V,)),
    "out of a number": lambda: jit(lambda x: x * 2.0)(1.0, out=1.0),
}
