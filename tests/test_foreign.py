"""C functions: called through ctypes, by SciPy, from threads, and for as long as somebody has them."""

from __future__ import annotations

import copy
import ctypes
import gc
import math
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy import LowLevelCallable

from pullback import grad, jit, value_and_grad
from pullback.compiler.settings import settings

DOUBLES = ctypes.POINTER(ctypes.c_double)


@jit
def bell(x):
    return np.exp(-x * x)


slope = grad(bell)


def doubles(x: np.ndarray) -> Any:
    return x.ctypes.data_as(DOUBLES)


def test_a_function_of_floats_has_an_address_and_a_pointer() -> None:
    assert bell.ctypes(0.5) == bell(0.5)
    assert bell.address == ctypes.cast(bell.ctypes, ctypes.c_void_p).value
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(bell.address)(0.5) == bell(0.5)
    assert slope.ctypes(0.5) == slope(0.5)
    both = jit(lambda x, y: x - 2 * y)
    assert both.ctypes(3.0, 1.0) == 1.0
    assert both.cfunc().prototype == "double lambda(double x, double y)"


def test_numbers_of_every_type() -> None:
    f = jit(lambda a, b, c, d, e: a * b + c - d + e)
    given = (np.float32(0.5), np.int32(3), 7, True, 2.25)
    args = (np.float32(0.5), np.int32(3), np.int64(7), np.bool_(True), np.float64(2.25))
    made = f.cfunc(*args)
    assert made.prototype == "double lambda(float a, int32_t b, int64_t c, uint8_t d, double e)"
    assert made.ctypes(0.5, 3, 7, 1, 2.25) == f(*args) == float(given[0]) * 3 + 7 - 1 + 2.25
    assert jit(lambda x: x * x).cfunc(np.float32(1)).ctypes(3.0) == 9.0


def test_arrays_packed_one_behind_the_other() -> None:
    f = jit(lambda p, x: np.sum(p["a"]) * x + p["b"])
    made = f.cfunc({"a": np.zeros(3), "b": 1.0}, 2.0, form="packed")
    assert made.prototype == "double lambda(int n, double *xx)"
    xx = np.array([1.0, 2.0, 3.0, 10.0, 0.5])
    assert made.ctypes(5, doubles(xx)) == 13.0
    assert math.isnan(made.ctypes(4, doubles(xx)))


def test_value_and_gradient_through_pointers() -> None:
    f = value_and_grad(lambda p, n: np.sum(p["w"] * p["w"]) * n)
    made = f.cfunc({"w": np.zeros(3)}, 2.0)
    assert made.prototype == "int64_t lambda_grad(const double *p_w, const double *n, double *out0, double *out1)"
    w, n, value, gradient = np.arange(3.0), ctypes.c_double(2.0), ctypes.c_double(), np.zeros(3)
    assert made.ctypes(doubles(w), n, value, doubles(gradient)) == 0
    assert value.value == 10.0 and np.array_equal(gradient, 4 * w)


def test_results_are_in_the_order_in_which_they_are_returned() -> None:
    f = grad(lambda x: (np.sum(x * x), {"half": x / 2, "count": 7}), has_aux=True)
    x, first, second = np.arange(3.0), np.zeros(3), np.zeros(3)
    assert f.cfunc(x).ctypes(doubles(x), doubles(first), doubles(second)) == 0
    assert np.array_equal(first, f(x)[0]) and np.array_equal(second, f(x)[1]["half"])


def test_failures_are_told_by_status_or_nan() -> None:
    f = jit(lambda x, i: x[i])
    made, x, out = f.cfunc(np.zeros(3), 1), np.arange(3.0), ctypes.c_double()
    assert made.ctypes(doubles(x), ctypes.c_int64(2), out) == 0 and out.value == 2.0
    assert made.ctypes(doubles(x), ctypes.c_int64(3), out) != 0
    table = np.arange(4.0)
    g = jit(lambda i, x: (table * x)[i])
    assert g.cfunc(1, 1.0).ctypes(3, 2.0) == 6.0
    assert math.isnan(g.cfunc(1, 1.0).ctypes(4, 2.0))


def test_what_has_no_such_form_is_told() -> None:
    f = value_and_grad(lambda x: np.sum(x * x))
    assert not hasattr(jit(lambda x: x[0]), "ctypes")
    with pytest.raises(AttributeError, match=r"ctypes is for functions of floats .*cfunc\(example"):
        _ = f.ctypes
    with pytest.raises(TypeError, match=r"form 'values': it returns f64\[\], f64\[3\], not one float; leave form out"):
        f.cfunc(np.zeros(3), form="values")
    with pytest.raises(TypeError, match=r"form 'values': it takes f64\[3\], not a number"):
        jit(np.sum).cfunc(np.zeros(3), form="values")
    with pytest.raises(TypeError, match=r"form 'packed': it takes f32\[3\], not float64"):
        jit(np.sum).cfunc(np.zeros(3, np.float32), form="packed")
    with pytest.raises(ValueError, match="form is 'vector', expected one of values, packed, pointers"):
        bell.cfunc(form="vector")
    with settings.override(reference=1), pytest.raises(RuntimeError, match="no machine code under PULLBACK_REFERENCE"):
        jit(lambda x: x).cfunc(1.0)


def test_hidden_inputs_are_those_of_the_moment() -> None:
    scale, shift = np.array([2.0, 3.0]), [1.0]

    @jit
    def f(x):
        return np.sum(scale * x) + shift[0]

    before = f.ctypes
    assert before(1.0) == 6.0
    shift[0] = 10.0
    assert before(1.0) == 6.0 and f.ctypes(1.0) == 15.0


# Lifetime


def test_a_pointer_keeps_its_code() -> None:
    f = jit(lambda x: x + 1)
    pointer, made = f.ctypes, weakref.ref(f.cfunc())
    assert f.cfunc() is made()
    del f
    gc.collect()
    assert pointer(1.0) == 2.0 and made() is not None
    del pointer
    gc.collect()
    assert made() is None


def test_addresses_stay_while_the_function_does() -> None:
    scale = [1.0]

    @jit
    def f(x):
        return scale[0] * x

    first = f.address
    scale[0] = 2.0
    second = f.address
    gc.collect()
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    assert kind(first)(3.0) == 3.0 and kind(second)(3.0) == 6.0 and f.address == second


# Who calls


def test_quad_calls_the_machine_code() -> None:
    value = scipy.integrate.quad(LowLevelCallable(bell.ctypes), 0.0, 1.0)[0]
    assert value == pytest.approx(math.sqrt(math.pi) / 2 * math.erf(1.0), rel=1e-13)
    assert LowLevelCallable(bell.ctypes).signature == "double (double)"


def test_quad_with_parameters_and_nquad() -> None:
    f = jit(lambda x, y: x * y + np.sin(y))
    packed = LowLevelCallable(f.cfunc(form="packed").ctypes)
    assert packed.signature == "double (int, double *)"
    value = scipy.integrate.quad(packed, 0.0, 1.0, args=(2.0,))[0]
    assert value == pytest.approx(1.0 + math.sin(2.0), rel=1e-13)
    value = scipy.integrate.nquad(packed, [[0, 1], [0, 2]])[0]
    assert value == pytest.approx(2.0 - math.cos(2.0), rel=1e-12)
    several = jit(lambda x: np.prod(np.cos(x))).cfunc(np.zeros(2), form="packed")
    value = scipy.integrate.nquad(LowLevelCallable(several.ctypes), [[0, 1], [0, 1]])[0]
    assert value == pytest.approx(math.sin(1.0) ** 2, rel=1e-12)


def test_any_number_of_threads_may_call() -> None:
    pointer, found = bell.ctypes, []

    def work() -> None:
        found.append(sum(pointer(k / 1000) for k in range(2000)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4 and len(set(found)) == 1


# Copies and pickles


def test_functions_with_a_name_are_pickled_by_it() -> None:
    assert pickle.loads(pickle.dumps(bell)) is bell
    assert pickle.loads(pickle.dumps([slope, slope]))[1] is slope, "found under the name it was bound to"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(Model.energy, protocol)) is Model.energy
    assert b"x86" not in pickle.dumps(bell) and len(pickle.dumps(bell)) < 200


class Model:
    @jit
    def energy(self, x):
        return x * x


def test_a_function_without_a_name_is_refused_with_a_way_out() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(pickle.PicklingError, match=r"<lambda>, to which no name of the module .* use cloudpickle"):
            pickle.dumps(jit(lambda x: x), protocol)
    assert pickle.loads(pickle.dumps(grad(bell)))(0.5) == slope(0.5), "made of one that has a name"


def test_copies_are_the_function_itself() -> None:
    local = jit(lambda x: x)
    assert copy.copy(local) is local and copy.deepcopy({"f": [local]})["f"][0] is local
