"""pullback: gradients of plain Python, compiled to native code.

This module is the face and nothing else. A name is loaded from where it is written when it is first
used, so that importing the package costs a millisecond. The same names stand here three times,
because type checkers read only the first two: tests/test_packaging.py compares them.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pullback import autograd, func, nn, optim
    from pullback.compiler.frontend.convolutions import conv
    from pullback.runtime.branches import cond, switch
    from pullback.runtime.build import build
    from pullback.runtime.control import checkpoint, fori_loop, scan, while_loop
    from pullback.runtime.directions import hessian, hvp, jacfwd, jacrev, jvp, vjp
    from pullback.runtime.external import external
    from pullback.runtime.implicit import implicit
    from pullback.runtime.rules import custom_formula, custom_jvp, custom_vjp, stop_gradient
    from pullback.runtime.symbols import lambdify
    from pullback.runtime.tensor.dtypes import (
        Size,
        bool_,
        device,
        float32,
        float64,
        get_default_dtype,
        int32,
        int64,
    )
    from pullback.runtime.tensor.functions import (
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
        diagonal,
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
        index_add,
        index_copy,
        index_fill,
        index_put,
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
        masked_scatter,
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
        scatter,
        scatter_add,
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
        tril,
        triu,
        trunc,
        unbind,
        unsqueeze,
        var,
        where,
        zeros,
        zeros_like,
    )
    from pullback.runtime.tensor.modes import (
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        set_grad_enabled,
    )
    from pullback.runtime.threads import get_num_threads, set_num_threads
    from pullback.runtime.transforms import check, grad, jit, value_and_grad
    from pullback.runtime.vmap import vmap

__all__ = [
    "Generator", "Size", "Tensor", "abs", "acos", "add", "addcdiv", "addcmul", "addmm", "all", "allclose",
    "amax", "amin", "any", "arange", "arccos", "arcsin", "arctan", "arctan2", "argmax", "argmin", "as_tensor",
    "asin", "atan", "atan2", "autograd", "bernoulli", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "bmm", "bool", "bool_", "broadcast_tensors", "build", "cat", "ceil", "check", "checkpoint",
    "chunk", "clamp", "clone", "cond", "conv", "conv1d", "conv2d", "cos", "cosh", "cumsum", "custom_formula",
    "custom_jvp", "custom_vjp", "device", "diagonal", "div", "dot", "double", "einsum", "empty", "empty_like",
    "enable_grad", "eq", "equal", "erf", "exp", "exp2", "expm1", "external", "eye", "flatten", "flip",
    "float", "float32", "float64", "floor", "floor_divide", "fori_loop", "from_numpy", "full", "full_like",
    "func", "gather", "ge", "get_default_dtype", "get_num_threads", "grad", "gt", "hessian", "hvp", "hypot",
    "implicit", "index_add", "index_copy", "index_fill", "index_put", "index_select", "inference_mode",
    "initial_seed", "int", "int32", "int64", "is_grad_enabled", "is_inference_mode_enabled", "is_tensor",
    "isclose", "isfinite", "isinf", "isnan", "jacfwd", "jacrev", "jit", "jvp", "lambdify", "le", "lerp",
    "linspace", "log", "log1p", "log2", "log10", "log_softmax", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logsumexp", "long", "lt", "manual_seed", "masked_fill", "masked_scatter", "masked_select",
    "matmul", "max", "maximum", "mean", "min", "minimum", "mm", "movedim", "mul", "mv", "narrow", "ne", "neg",
    "nn", "no_grad", "norm", "ones", "ones_like", "optim", "outer", "permute", "pow", "prod", "rand",
    "rand_like", "randint", "randn", "randn_like", "randperm", "reciprocal", "relu", "remainder", "reshape",
    "result_type", "round", "rsqrt", "scan", "scatter", "scatter_add", "select", "set_default_dtype",
    "set_grad_enabled", "set_num_threads", "sigmoid", "sign", "sin", "sinh", "softmax", "split", "sqrt",
    "square", "squeeze", "stack", "std", "stop_gradient", "sub", "sum", "switch", "t", "tan", "tanh",
    "tensor", "transpose", "tril", "triu", "trunc", "unbind", "unsqueeze", "value_and_grad", "var", "vjp",
    "vmap", "where", "while_loop", "zeros", "zeros_like",
]

if not TYPE_CHECKING:  # a module with __getattr__ has every name, to a type checker
    _NAMES_OF = {
        "compiler.frontend.convolutions": "conv",
        "pullback": "autograd func nn optim",
        "runtime.build": "build",
        "runtime.external": "external",
        "runtime.implicit": "implicit",
        "runtime.rules": "custom_formula custom_jvp custom_vjp stop_gradient",
        "runtime.branches": "cond switch",
        "runtime.control": "checkpoint fori_loop scan while_loop",
        "runtime.tensor.dtypes": "Size bool_ device float32 float64 get_default_dtype int32 int64",
        "runtime.tensor.functions": "Generator Tensor abs acos add addcdiv addcmul addmm all allclose amax amin any"
        " arange arccos arcsin arctan arctan2 argmax argmin as_tensor asin atan atan2 bernoulli bitwise_and"
        " bitwise_not bitwise_or bitwise_xor bmm bool broadcast_tensors cat ceil chunk clamp clone"
        " conv1d conv2d cos cosh cumsum diagonal div dot double einsum empty empty_like eq equal erf"
        " exp exp2 expm1 eye flatten flip float floor floor_divide from_numpy full full_like gather"
        " ge gt hypot index_add index_copy index_fill index_put index_select initial_seed int"
        " is_tensor isclose isfinite isinf isnan le lerp linspace log log10 log1p log2 log_softmax"
        " logical_and logical_not logical_or logical_xor logsumexp long lt manual_seed masked_fill"
        " masked_scatter masked_select matmul max maximum mean min minimum mm movedim mul mv narrow"
        " ne neg norm ones ones_like outer permute pow prod rand rand_like randint randn randn_like"
        " randperm reciprocal relu remainder reshape result_type round rsqrt scatter scatter_add"
        " select set_default_dtype sigmoid sign sin sinh softmax split sqrt square squeeze stack std"
        " sub sum t tan tanh tensor transpose tril triu trunc unbind unsqueeze var where zeros"
        " zeros_like",
        "runtime.tensor.modes": "enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad"
        " set_grad_enabled",
        "runtime.directions": "hessian hvp jacfwd jacrev jvp vjp",
        "runtime.symbols": "lambdify",
        "runtime.threads": "get_num_threads set_num_threads",
        "runtime.transforms": "check grad jit value_and_grad",
        "runtime.vmap": "vmap",
    }
    _WHERE = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

    def __getattr__(name):
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        where = _WHERE[name]
        if where == __name__:
            return import_module(f"{where}.{name}")
        value = getattr(import_module(f"{__name__}.{where}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
