"""pullback: gradients of plain Python, compiled to native code.

This module is the face and nothing else. A name is loaded from where it is written when it is first
used, so that importing the package costs a millisecond. The same names stand here three times,
because type checkers read only the first two: tests/test_packaging.py compares them.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pullback.compiler.frontend.convolutions import conv
    from pullback.runtime import autograd, nn, optim
    from pullback.runtime.build import build
    from pullback.runtime.dtypes import (
        Size,
        bool_,
        device,
        float32,
        float64,
        get_default_dtype,
        int32,
        int64,
    )
    from pullback.runtime.functions import (
        Generator,
        Tensor,
        abs,
        acos,
        add,
        addcdiv,
        addcmul,
        addmm,
        all,
        allclose,
        amax,
        amin,
        any,
        arange,
        arccos,
        arcsin,
        arctan,
        arctan2,
        argmax,
        argmin,
        as_tensor,
        asin,
        atan,
        atan2,
        bernoulli,
        bitwise_and,
        bitwise_not,
        bitwise_or,
        bitwise_xor,
        bmm,
        bool,
        broadcast_tensors,
        cat,
        ceil,
        chunk,
        clamp,
        clone,
        conv1d,
        conv2d,
        cos,
        cosh,
        cumsum,
        div,
        dot,
        double,
        einsum,
        empty,
        empty_like,
        eq,
        equal,
        erf,
        exp,
        exp2,
        expm1,
        eye,
        flatten,
        flip,
        float,
        floor,
        floor_divide,
        from_numpy,
        full,
        full_like,
        gather,
        ge,
        gt,
        hypot,
        index_select,
        initial_seed,
        int,
        is_tensor,
        isclose,
        isfinite,
        isinf,
        isnan,
        le,
        lerp,
        linspace,
        log,
        log1p,
        log2,
        log10,
        log_softmax,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        logsumexp,
        long,
        lt,
        manual_seed,
        masked_fill,
        masked_select,
        matmul,
        max,
        maximum,
        mean,
        min,
        minimum,
        mm,
        movedim,
        mul,
        mv,
        narrow,
        ne,
        neg,
        norm,
        ones,
        ones_like,
        outer,
        permute,
        pow,
        prod,
        rand,
        rand_like,
        randint,
        randn,
        randn_like,
        randperm,
        reciprocal,
        relu,
        remainder,
        reshape,
        result_type,
        round,
        rsqrt,
        select,
        set_default_dtype,
        sigmoid,
        sign,
        sin,
        sinh,
        softmax,
        split,
        sqrt,
        square,
        squeeze,
        stack,
        std,
        sub,
        sum,
        t,
        tan,
        tanh,
        tensor,
        transpose,
        trunc,
        unbind,
        unsqueeze,
        var,
        where,
        zeros,
        zeros_like,
    )
    from pullback.runtime.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
    from pullback.runtime.symbols import lambdify
    from pullback.runtime.threads import get_num_threads, set_num_threads
    from pullback.runtime.transforms import check, grad, hessian, hvp, jit, value_and_grad, vjp

__all__ = [
    "Generator", "Size", "Tensor", "abs", "acos", "add", "addcdiv", "addcmul", "addmm", "all",
    "allclose", "amax", "amin", "any", "arange", "arccos", "arcsin", "arctan", "arctan2",
    "argmax", "argmin", "as_tensor", "asin", "atan", "atan2", "autograd", "bernoulli",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "bmm", "bool", "bool_",
    "broadcast_tensors", "build", "cat", "ceil", "check", "chunk", "clamp", "clone", "conv",
    "conv1d", "conv2d", "cos", "cosh", "cumsum", "device", "div", "dot", "double", "einsum",
    "empty", "empty_like", "enable_grad", "eq", "equal", "erf", "exp", "exp2", "expm1", "eye",
    "flatten", "flip", "float", "float32", "float64", "floor", "floor_divide", "from_numpy",
    "full", "full_like", "gather", "ge", "get_default_dtype", "get_num_threads", "grad", "gt", "hessian", "hvp",
    "hypot", "index_select", "initial_seed", "int", "int32", "int64", "is_grad_enabled",
    "is_tensor", "isclose", "isfinite", "isinf", "isnan", "jit", "lambdify", "le", "lerp",
    "linspace", "log", "log1p", "log2", "log10", "log_softmax", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logsumexp", "long", "lt", "manual_seed", "masked_fill",
    "masked_select", "matmul", "max", "maximum", "mean", "min", "minimum", "mm", "movedim",
    "mul", "mv", "narrow", "ne", "neg", "nn", "no_grad", "norm", "ones", "ones_like", "optim",
    "outer", "permute", "pow", "prod", "rand", "rand_like", "randint", "randn", "randn_like",
    "randperm", "reciprocal", "relu", "remainder", "reshape", "result_type", "round", "rsqrt",
    "select", "set_default_dtype", "set_grad_enabled", "set_num_threads", "sigmoid", "sign", "sin", "sinh",
    "softmax", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "t", "tan",
    "tanh", "tensor", "transpose", "trunc", "unbind", "unsqueeze", "value_and_grad", "var",
    "vjp", "where", "zeros", "zeros_like",
]

if not TYPE_CHECKING:  # a module with __getattr__ has every name, to a type checker
    _NAMES_OF = {
        "compiler.frontend.convolutions": "conv",
        "runtime": "autograd nn optim",
        "runtime.build": "build",
        "runtime.dtypes": "Size bool_ device float32 float64 get_default_dtype int32 int64",
        "runtime.functions": "Generator Tensor abs acos add addcdiv addcmul addmm all allclose amax"
        " amin any arange arccos arcsin arctan arctan2 argmax argmin as_tensor"
        " asin atan atan2 bernoulli bitwise_and bitwise_not bitwise_or"
        " bitwise_xor bmm bool broadcast_tensors cat ceil chunk clamp clone conv1d conv2d cos"
        " cosh cumsum div dot double einsum empty empty_like eq equal erf exp"
        " exp2 expm1 eye flatten flip float floor floor_divide from_numpy full"
        " full_like gather ge gt hypot index_select initial_seed int is_tensor"
        " isclose isfinite isinf isnan le lerp linspace log log10 log1p log2"
        " log_softmax logical_and logical_not logical_or logical_xor logsumexp"
        " long lt manual_seed masked_fill masked_select matmul max maximum mean"
        " min minimum mm movedim mul mv narrow ne neg norm ones ones_like outer"
        " permute pow prod rand rand_like randint randn randn_like randperm"
        " reciprocal relu remainder reshape result_type round rsqrt select"
        " set_default_dtype sigmoid sign sin sinh softmax split sqrt square"
        " squeeze stack std sub sum t tan tanh tensor transpose trunc unbind"
        " unsqueeze var where zeros zeros_like",
        "runtime.modes": "enable_grad is_grad_enabled no_grad set_grad_enabled",
        "runtime.symbols": "lambdify",
        "runtime.threads": "get_num_threads set_num_threads",
        "runtime.transforms": "check grad hessian hvp jit value_and_grad vjp",
    }
    _WHERE = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

    def __getattr__(name):
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        where = f"{__name__}.{_WHERE[name]}"
        if _WHERE[name] == "runtime":
            value = import_module(f"{where}.{name}")
        else:
            value = getattr(import_module(where), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
