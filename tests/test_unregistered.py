"""Objects that hold floats and are no container that is known: refused where they would be differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback import (
    gnvp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    ravel,
    taylor,
    value_and_grad,
    vjp,
)


class Line:
    def __init__(self, slope, start):
        self.slope, self.start = slope, start


class Slotted:
    __slots__ = ("slope",)

    def __init__(self, slope):
        self.slope = slope


class Options:
    """No floats in it: it says how, not how much."""

    def __init__(self, name):
        self.name = name


def total(line):
    return np.sum(line.slope * 2.0)


WAYS = {
    "grad": lambda x: grad(total)(x),
    "value_and_grad": lambda x: value_and_grad(total)(x),
    "jacrev": lambda x: jacrev(total)(x),
    "jacfwd": lambda x: jacfwd(total)(x),
    "jacobian": lambda x: jacobian(total)(x),
    "hessian": lambda x: hessian(total)(x),
    "sparse jacobian": lambda x: jacobian(total, sparse=True)(x),
    "sparse hessian": lambda x: hessian(total, sparse=True)(x),
    "hvp": lambda x: hvp(total)(x, x),
    "gnvp": lambda x: gnvp(total)(x, x),
    "vjp": lambda x: vjp(total, x),
    "jvp": lambda x: jvp(total, (x,), (x,)),
    "linearize": lambda x: linearize(total, x),
    "taylor": lambda x: taylor(total, x, x, 2),
    "ravel": ravel,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", [Line(np.ones(2), 1.0), Slotted(3.0)], ids=["attributes", "slots"])
def test_every_transform_names_the_class_and_the_ways_out(way, given):
    with pytest.raises(TypeError) as caught:
        WAYS[way](given)
    said = str(caught.value)
    assert f"class {type(given).__name__}" in said and "pullback.register" in said and "__pullback_flatten__" in said
    assert " at 0x" not in said


def test_one_among_floats_is_refused_by_its_path_and_gets_no_zero():
    def f(parts):
        return parts["weight"] * parts["lines"][1].slope

    given = {"weight": 2.0, "lines": [1.0, Line(3.0, 0.0)]}
    for transform in (grad, hessian, jacobian):
        with pytest.raises(TypeError, match=r"argument parts\['lines'\]\[1\] is an object of class Line"):
            transform(f)(given)


def test_what_has_no_floats_and_what_is_not_differentiated_stays_an_object():
    made = grad(lambda p: p["w"] ** 2 if p["how"].name == "square" else p["w"])({"w": 3.0, "how": Options("square")})
    assert made["w"] == 6.0
    assert grad(lambda w, line: w * line.slope)(2.0, Line(5.0, 0.0)) == 5.0
    assert grad(lambda p: p["act"](p["w"]))({"w": 0.0, "act": np.sin})["w"] == 1.0


def test_a_class_that_has_been_registered_is_differentiated():
    class Known(Line):
        pass

    pullback.register(Known, lambda line: ((line.slope, line.start), None), lambda _, parts: Known(*parts))
    made = grad(total)(Known(np.ones(2), 1.0))
    assert np.array_equal(made.slope, [2.0, 2.0]) and made.start == 0.0
