"""pullback: gradients of plain Python, compiled to native code.

This module is the face and nothing else. A name is loaded from where it is written when it is first
used, so that importing the package costs a millisecond. The same names stand here three times,
because type checkers read only the first two: tests/test_packaging.py compares them.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    # PARTS of _where.py
    _accelerator = _amp = _array_api = _autograd = _backends = _cpu = _cuda = _distributed = _distributions = None
    _fft = _func = _futures = _fx = _hub = _jit = _library = _linalg = _masked = _mps = _multiprocessing = None
    _nn = _onnx = _optim = _overrides = _profiler = _quasirandom = _random = _scipy = _serialization = _signal = None
    _sparse = _special = _storage = _testing = _types = _of_utils = _version = _xpu = None
    # isort: off
    from pullback.runtime.tensor.reverse.anomaly import (
        is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled,
    )
    from pullback import (
        accelerator, amp, array_api, autograd, backends, compiler, cpu, cuda, distributed, distributions, fft, func,
        futures, fx, hub, library, linalg, masked, mps, multiprocessing, nn, onnx, optim, overrides, profiler,
        quasirandom, random, scipy, serialization, signal, sparse, special, storage, testing, types, utils, version,
        xpu,
    )
    # isort: on
    from pullback.compiler.backend.extension.carried import KernelError
    from pullback.compiler.frontend.numpy.convolutions import conv
    from pullback.compiler.ir.containers import register
    from pullback.compiler.ir.text import ParseError
    from pullback.runtime.branches import cond, switch
    from pullback.runtime.compiled.build import build
    from pullback.runtime.control import checkpoint, fori_loop, scan, while_loop
    from pullback.runtime.devices.precision import autocast, is_autocast_enabled
    from pullback.runtime.devices.scaling import GradScaler
    # isort: off
    from pullback.runtime.devices.switches import (
        get_deterministic_debug_mode, get_num_interop_threads, is_warn_always_enabled,
        set_deterministic_debug_mode, set_flush_denormal, set_num_interop_threads, set_warn_always,
        are_deterministic_algorithms_enabled, get_default_device, get_float32_matmul_precision,
        is_deterministic_algorithms_warn_only_enabled, set_default_device, set_default_tensor_type,
        set_float32_matmul_precision, use_deterministic_algorithms,
    )
    # isort: on
    from pullback.runtime.derivatives.jacobians import hessian, jacfwd, jacobian, jacrev, wirtinger
    from pullback.runtime.derivatives.linear import linear_transpose, linearize
    from pullback.runtime.derivatives.products import gnvp, hvp, jvp, vjp
    from pullback.runtime.derivatives.series import jet, taylor
    from pullback.runtime.derivatives.trees import ravel, tree_flatten, tree_map, tree_unflatten
    from pullback.runtime.external import external
    from pullback.runtime.implicit import implicit
    from pullback.runtime.inspect.loaded import load_kernel
    from pullback.runtime.inspect.parsed import parse
    from pullback.runtime.interop.jax_calls import to_jax
    from pullback.runtime.interop.torch_calls import to_torch
    from pullback.runtime.nn.optimized import compile as compile
    from pullback.runtime.operators.registry import ops
    from pullback.runtime.operators.tags import Tag
    from pullback.runtime.rules import custom_formula, custom_jvp, custom_vjp, stop_gradient
    from pullback.runtime.sparse.operations import spmm
    from pullback.runtime.sparse.tensors import sparse_coo, sparse_coo_tensor, sparse_csr, sparse_csr_tensor
    from pullback.runtime.symbolic.lambdified import lambdify
    from pullback.runtime.symbolic.mechanics import equations_of_motion
    from pullback.runtime.symbolic.precision import precision
    from pullback.runtime.symbolic.primitive import primitive
    # isort: off
    from pullback.runtime.programs.inside.arrays import segment_reduce
    from pullback.runtime.programs.inside.futures import Future
    from pullback.runtime.programs.inside.scripts import ScriptFunction, ScriptModule, classes
    from pullback.runtime.programs.inside.settled import (
        AcceleratorError, OutOfMemoryError, get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype,
        get_device_module, is_autocast_cpu_enabled,
    )
    from pullback.runtime.programs.inside.sizes import (
        sym_float, sym_fresh_size, sym_int, sym_ite, sym_max, sym_min, sym_not, sym_sqrt, sym_sum,
    )
    from pullback.runtime.tensor.face.storages import TypedStorage, UntypedStorage, is_storage
    from pullback.runtime.programs.inside.layers import (
        conv_tbc, embedding_renorm_, gru, gru_cell, lstm, lstm_cell, max_pool1d_with_indices, native_batch_norm,
        native_channel_shuffle, native_group_norm, native_layer_norm, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell,
    )
    from pullback.runtime.programs.native import (
        adaptive_max_pool1d, affine_grid_generator, alpha_dropout, alpha_dropout_, batch_norm,
        binary_cross_entropy_with_logits, celu_, constant_pad_nd, convolution, cosine_embedding_loss, ctc_loss, dropout,
        dropout_, embedding, fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine, feature_alpha_dropout,
        feature_alpha_dropout_, feature_dropout, feature_dropout_, frobenius_norm, grid_sampler, grid_sampler_2d,
        grid_sampler_3d, group_norm, hinge_embedding_loss, instance_norm, kl_div, layer_norm, margin_ranking_loss,
        nuclear_norm, poisson_nll_loss, rrelu_, selu_, threshold_, triplet_margin_loss,
    )
    from pullback.runtime.tensor.face.complex_functions import (
        adjoint, angle, cdouble, cfloat, complex64, complex128, conj, conj_physical, imag, polar,
        real, resolve_conj, resolve_neg, view_as_complex, view_as_real,
    )
    from pullback.runtime.tensor.value.dtypes import (
        Size, bfloat16, bool_, chalf, complex32, device, float16, float32, float4_e2m1fn_x2, float64,
        float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, get_default_dtype, half,
        int1, int2, int3, int32, int4, int5, int6, int64, int7, qint32, qint8, quint2x4, quint4x2, quint8,
        uint1, uint2, uint3, uint4, uint5, uint6, uint7,
    )
    from pullback.runtime.tensor.reverse.modes import (
        enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled,
    )
    from pullback.runtime.tensor.face.older_names import (
        bartlett_window, blackman_window, cholesky, cholesky_inverse, cholesky_solve, cross, det, geqrf,
        hamming_window, hann_window, inverse, istft, kaiser_window, logdet, lu, lu_solve, lu_unpack,
        matrix_exp, matrix_power, orgqr, ormqr, pca_lowrank, pinverse, qr, slogdet, stft, svd, svd_lowrank,
        trace, triangular_solve,
    )
    # isort: on
    from pullback.runtime.tensor.trace.plans import explain
    # isort: off
    from pullback.runtime.tensor.face.special_functions import (
        digamma, erfc, erfinv, i0, igamma, igammac, lgamma, logit, mvlgamma, polygamma, sinc, xlogy,
    )
    # isort: on
    from pullback.runtime.check import check
    from pullback.runtime.compiled.threads import get_num_threads, set_num_threads
    from pullback.runtime.programs.scripting import jit
    from pullback.runtime.programs.standing_in import as_torch
    from pullback.runtime.transforms import grad, value_and_grad
    from pullback.runtime.utils.files import load, save
    from pullback.runtime.vmap import vmap
    # isort: off
    from pullback.runtime.nn.functional import (
        adaptive_avg_pool1d, avg_pool1d, bilinear, celu, channel_shuffle,
        conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, cosine_similarity,
        hardshrink, max_pool1d, max_pool2d, max_pool3d,
        pairwise_distance, pdist, pixel_shuffle, pixel_unshuffle, prelu, rms_norm, rrelu, selu, threshold,
    )
    from pullback.runtime.tensor.face.functions import (
        memory_format,
        BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, Generator, HalfTensor, IntTensor,
        LongTensor, ShortTensor, Tensor, absolute, acos, acosh, add, addbmm, addcdiv, addcmul, addmm, addmv, addr,
        alias_copy, allclose, amax, amin, aminmax, arange, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh,
        argmax, argmin, argsort, argwhere, as_strided, as_strided_copy, as_strided_scatter, as_tensor, asarray, asin,
        asinh, atan, atan2, atanh, atleast_1d, atleast_2d, atleast_3d, baddbmm, bernoulli, bincount, binomial,
        bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, block_diag, bmm,
        broadcast_shapes, broadcast_tensors, broadcast_to, bucketize, can_cast, cartesian_prod, cat, cdist, ceil,
        chain_matmul, channels_last, chunk, clamp, clamp_max, clamp_min, clip, clone, column_stack, combinations,
        concat, concatenate, contiguous_format, conv1d, conv2d, copysign, corrcoef, cos, cosh, count_nonzero, cov,
        cummax, cummin, cumprod, cumsum, cumulative_trapezoid, default_generator, deg2rad, detach, detach_, diag,
        diag_embed, diagflat, diagonal, diagonal_copy, diagonal_scatter, diff, dist, div, divide, dot, double, dsplit,
        dstack, dtype, e, einsum, empty, empty_like, empty_permuted, empty_strided, eq, equal, erf, exp, exp2,
        expand_copy, expm1, eye, fill, finfo, fix, flatten, flip, fliplr, flipud, float_power, floor, floor_divide,
        fmax, fmin, fmod, frac, frexp, from_dlpack, from_numpy, frombuffer, full, full_like, gather, gcd, ge, ger,
        get_device, get_rng_state, gradient, greater, greater_equal, gt, heaviside, histc, histogram, histogramdd,
        hsplit, hstack, hypot, iinfo, index_add, index_copy, index_fill, index_put, index_reduce, index_select, inf,
        initial_seed, inner, int8, int16, is_complex, is_conj, is_floating_point, is_inference, is_neg, is_nonzero,
        is_same_size, is_signed, is_tensor, isclose, isfinite, isin, isinf, isnan, isneginf, isposinf, isreal, kron,
        kthvalue, layout, lcm, ldexp, le, lerp, less, less_equal, linspace, log, log1p, log2, log10, log_softmax,
        logaddexp, logaddexp2, logcumsumexp, logical_and, logical_not, logical_or, logical_xor, logspace, logsumexp,
        long, lt, manual_seed, masked_fill, masked_scatter, masked_select, matmul, maximum, mean, median, meshgrid,
        minimum, mm, mode, moveaxis, movedim, msort, mul, multinomial, multiply, mv, nan, nan_to_num, nanmean,
        nanmedian, nanquantile, nansum, narrow, narrow_copy, ne, neg, negative, newaxis, nextafter, nonzero,
        nonzero_static, norm, normal, not_equal, numel, ones, ones_like, outer, permute, permute_copy, pi, poisson,
        positive, preserve_format, prod, promote_types, put, quantile, rad2deg, rand, rand_like, randint, randint_like,
        randn, randn_like, randperm, reciprocal, relu, remainder, renorm, repeat_interleave, reshape, resize_as_,
        result_type, roll, rot90, row_stack, rsqrt, rsub, scalar_tensor, scatter, scatter_add, scatter_reduce,
        searchsorted, seed, select, select_copy, select_scatter, set_default_dtype, set_printoptions, set_rng_state,
        sgn, short, sigmoid, sign, signbit, sin, sinh, slice_copy, slice_scatter, softmax, sort, split, split_copy,
        split_with_sizes, split_with_sizes_copy, sqrt, square, squeeze, squeeze_copy, stack, std, std_mean, strided,
        sub, subtract, swapaxes, swapdims, t, t_copy, take, take_along_dim, tan, tanh, tensor, tensor_split, tensordot,
        tile, topk, transpose, transpose_copy, trapezoid, trapz, tril, tril_indices, triu, triu_indices, true_divide,
        trunc, typename, uint8, uint16, uint32, uint64, unbind, unbind_copy, unflatten, unfold_copy, unique,
        unique_consecutive, unravel_index, unsafe_chunk, unsafe_split, unsafe_split_with_sizes, unsqueeze,
        unsqueeze_copy, vander, var, var_mean, vdot, view_copy, vsplit, vstack, where, zeros, zeros_like,
    )
    # Python's own names are not in __all__: after `import *` sum and range are still Python's.
    from pullback.runtime.tensor.face.complex_functions import complex as complex
    from pullback.runtime.tensor.face.functions import (
        abs as abs, all as all, any as any, bool as bool, float as float, int as int, max as max, min as min,
        pow as pow, range as range, round as round, sum as sum,
    )
    from pullback.runtime.tensor.face.in_place_names import (
        abs_, acos_, acosh_, addmv_, arccos_, arccosh_, arcsin_, arcsinh_, arctan_, arctanh_, asin_, asinh_,
        atan_, atanh_, ceil_, clamp_, clamp_max_, clamp_min_, clip_, cos_, cosh_, deg2rad_, erf_, erfc_, exp2_,
        exp_, expm1_, fill_, fix_, floor_, frac_, gcd_, i0_, index_put_, lcm_, ldexp_, log1p_, log2_, log10_,
        log_, logit_, nan_to_num_, neg_, negative_, rad2deg_, reciprocal_, relu_, round_, rsqrt_, sigmoid_,
        sin_, sinc_, sinh_, sqrt_, square_, tan_, tanh_, trunc_, xlogy_, zero_,
    )
    # isort: on

__all__ = [
    "AcceleratorError", "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
    "Future", "Generator", "GradScaler", "HalfTensor", "IntTensor", "KernelError", "LongTensor", "OutOfMemoryError",
    "ParseError", "ScriptFunction", "ScriptModule", "ShortTensor", "Size", "Tag", "Tensor", "TypedStorage",
    "UntypedStorage", "abs_", "absolute", "accelerator", "acos", "acos_", "acosh", "acosh_", "adaptive_avg_pool1d",
    "adaptive_max_pool1d", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addmv_", "addr", "adjoint",
    "affine_grid_generator", "alias_copy", "allclose", "alpha_dropout", "alpha_dropout_", "amax", "amin", "aminmax",
    "amp", "angle", "arange", "arccos", "arccos_", "arccosh", "arccosh_", "arcsin", "arcsin_", "arcsinh", "arcsinh_",
    "arctan", "arctan2", "arctan_", "arctanh", "arctanh_", "are_deterministic_algorithms_enabled", "argmax", "argmin",
    "argsort", "argwhere", "array_api", "as_strided", "as_strided_copy", "as_strided_scatter", "as_tensor", "as_torch",
    "asarray", "asin", "asin_", "asinh", "asinh_", "atan", "atan2", "atan_", "atanh", "atanh_", "atleast_1d",
    "atleast_2d", "atleast_3d", "autocast", "autograd", "avg_pool1d", "backends", "baddbmm", "bartlett_window",
    "batch_norm", "bernoulli", "bfloat16", "bilinear", "binary_cross_entropy_with_logits", "bincount", "binomial",
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "blackman_window", "block_diag", "bmm", "bool_", "broadcast_shapes", "broadcast_tensors", "broadcast_to",
    "bucketize", "build", "can_cast", "cartesian_prod", "cat", "cdist", "cdouble", "ceil", "ceil_", "celu", "celu_",
    "cfloat", "chain_matmul", "chalf", "channel_shuffle", "channels_last", "check", "checkpoint", "cholesky",
    "cholesky_inverse", "cholesky_solve", "chunk", "clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min",
    "clamp_min_", "classes", "clip", "clip_", "clone", "column_stack", "combinations", "compiler", "complex32",
    "complex64", "complex128", "concat", "concatenate", "cond", "conj", "conj_physical", "constant_pad_nd",
    "contiguous_format", "conv", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "convolution", "copysign", "corrcoef", "cos", "cos_", "cosh", "cosh_", "cosine_embedding_loss",
    "cosine_similarity", "count_nonzero", "cov", "cpu", "cross", "ctc_loss", "cuda", "cummax", "cummin", "cumprod",
    "cumsum", "cumulative_trapezoid", "custom_formula", "custom_jvp", "custom_vjp", "default_generator", "deg2rad",
    "deg2rad_", "det", "detach", "detach_", "device", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy",
    "diagonal_scatter", "diff", "digamma", "dist", "distributed", "distributions", "div", "divide", "dot", "double",
    "dropout", "dropout_", "dsplit", "dstack", "dtype", "e", "einsum", "embedding", "embedding_renorm_", "empty",
    "empty_like", "empty_permuted", "empty_strided", "enable_grad", "eq", "equal", "equations_of_motion", "erf",
    "erf_", "erfc", "erfc_", "erfinv", "exp", "exp2", "exp2_", "exp_", "expand_copy", "explain", "expm1", "expm1_",
    "external", "eye", "fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine", "feature_alpha_dropout",
    "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "fft", "fill", "fill_", "finfo", "fix", "fix_",
    "flatten", "flip", "fliplr", "flipud", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float16", "float32", "float64", "float_power", "floor", "floor_",
    "floor_divide", "fmax", "fmin", "fmod", "fori_loop", "frac", "frac_", "frexp", "frobenius_norm", "from_dlpack",
    "from_numpy", "frombuffer", "full", "full_like", "func", "futures", "fx", "gather", "gcd", "gcd_", "ge", "geqrf",
    "ger", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "get_default_device",
    "get_default_dtype", "get_deterministic_debug_mode", "get_device", "get_device_module",
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "get_rng_state", "gnvp", "grad",
    "gradient", "greater", "greater_equal", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "group_norm", "gru",
    "gru_cell", "gt", "half", "hamming_window", "hann_window", "hardshrink", "heaviside", "hessian",
    "hinge_embedding_loss", "histc", "histogram", "histogramdd", "hsplit", "hstack", "hub", "hvp", "hypot", "i0",
    "i0_", "igamma", "igammac", "iinfo", "imag", "implicit", "index_add", "index_copy", "index_fill", "index_put",
    "index_put_", "index_reduce", "index_select", "inf", "inference_mode", "initial_seed", "inner", "instance_norm",
    "int1", "int2", "int3", "int4", "int5", "int6", "int7", "int8", "int16", "int32", "int64", "inverse",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
    "is_complex", "is_conj", "is_deterministic_algorithms_warn_only_enabled", "is_floating_point", "is_grad_enabled",
    "is_inference", "is_inference_mode_enabled", "is_neg", "is_nonzero", "is_same_size", "is_signed", "is_storage",
    "is_tensor", "is_warn_always_enabled", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf",
    "isreal", "istft", "jacfwd", "jacobian", "jacrev", "jet", "jit", "jvp", "kaiser_window", "kl_div", "kron",
    "kthvalue", "lambdify", "layer_norm", "layout", "lcm", "lcm_", "ldexp", "ldexp_", "le", "lerp", "less",
    "less_equal", "lgamma", "library", "linalg", "linear_transpose", "linearize", "linspace", "load", "load_kernel",
    "log", "log1p", "log1p_", "log2", "log2_", "log10", "log10_", "log_", "log_softmax", "logaddexp", "logaddexp2",
    "logcumsumexp", "logdet", "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "logit_", "logspace",
    "logsumexp", "long", "lstm", "lstm_cell", "lt", "lu", "lu_solve", "lu_unpack", "manual_seed",
    "margin_ranking_loss", "masked", "masked_fill", "masked_scatter", "masked_select", "matmul", "matrix_exp",
    "matrix_power", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "maximum", "mean", "median",
    "memory_format", "meshgrid", "minimum", "mm", "mode", "moveaxis", "movedim", "mps", "msort", "mul", "multinomial",
    "multiply", "multiprocessing", "mv", "mvlgamma", "nan", "nan_to_num", "nan_to_num_", "nanmean", "nanmedian",
    "nanquantile", "nansum", "narrow", "narrow_copy", "native_batch_norm", "native_channel_shuffle",
    "native_group_norm", "native_layer_norm", "ne", "neg", "neg_", "negative", "negative_", "newaxis", "nextafter",
    "nn", "no_grad", "nonzero", "nonzero_static", "norm", "normal", "not_equal", "nuclear_norm", "numel", "ones",
    "ones_like", "onnx", "ops", "optim", "orgqr", "ormqr", "outer", "overrides", "pairwise_distance", "parse",
    "pca_lowrank", "pdist", "permute", "permute_copy", "pi", "pinverse", "pixel_shuffle", "pixel_unshuffle", "poisson",
    "poisson_nll_loss", "polar", "polygamma", "positive", "precision", "prelu", "preserve_format", "primitive", "prod",
    "profiler", "promote_types", "put", "qint8", "qint32", "qr", "quantile", "quasirandom", "quint2x4", "quint4x2",
    "quint8", "rad2deg", "rad2deg_", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random",
    "randperm", "ravel", "real", "reciprocal", "reciprocal_", "register", "relu", "relu_", "remainder", "renorm",
    "repeat_interleave", "reshape", "resize_as_", "resolve_conj", "resolve_neg", "result_type", "rms_norm", "rnn_relu",
    "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell", "roll", "rot90", "round_", "row_stack", "rrelu", "rrelu_", "rsqrt",
    "rsqrt_", "rsub", "save", "scalar_tensor", "scan", "scatter", "scatter_add", "scatter_reduce", "scipy",
    "searchsorted", "seed", "segment_reduce", "select", "select_copy", "select_scatter", "selu", "selu_",
    "serialization", "set_anomaly_enabled", "set_default_device", "set_default_dtype", "set_default_tensor_type",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal", "set_grad_enabled",
    "set_num_interop_threads", "set_num_threads", "set_printoptions", "set_rng_state", "set_warn_always", "sgn",
    "short", "sigmoid", "sigmoid_", "sign", "signal", "signbit", "sin", "sin_", "sinc", "sinc_", "sinh", "sinh_",
    "slice_copy", "slice_scatter", "slogdet", "softmax", "sort", "sparse", "sparse_coo", "sparse_coo_tensor",
    "sparse_csr", "sparse_csr_tensor", "special", "split", "split_copy", "split_with_sizes", "split_with_sizes_copy",
    "spmm", "sqrt", "sqrt_", "square", "square_", "squeeze", "squeeze_copy", "stack", "std", "std_mean", "stft",
    "stop_gradient", "storage", "strided", "sub", "subtract", "svd", "svd_lowrank", "swapaxes", "swapdims", "switch",
    "sym_float", "sym_fresh_size", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum", "t",
    "t_copy", "take", "take_along_dim", "tan", "tan_", "tanh", "tanh_", "taylor", "tensor", "tensor_split",
    "tensordot", "testing", "threshold", "threshold_", "tile", "to_jax", "to_torch", "topk", "trace", "transpose",
    "transpose_copy", "trapezoid", "trapz", "tree_flatten", "tree_map", "tree_unflatten", "triangular_solve", "tril",
    "tril_indices", "triplet_margin_loss", "triu", "triu_indices", "true_divide", "trunc", "trunc_", "typename",
    "types", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7", "uint8", "uint16", "uint32", "uint64",
    "unbind", "unbind_copy", "unflatten", "unfold_copy", "unique", "unique_consecutive", "unravel_index",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze", "unsqueeze_copy",
    "use_deterministic_algorithms", "utils", "value_and_grad", "vander", "var", "var_mean", "vdot", "version",
    "view_as_complex", "view_as_real", "view_copy", "vjp", "vmap", "vsplit", "vstack", "where", "while_loop",
    "wirtinger", "xlogy", "xlogy_", "xpu", "zero_", "zeros", "zeros_like",
]

if not TYPE_CHECKING:  # a module with __getattr__ has every name, to a type checker
    from pullback._where import NAMES_OF as _NAMES_OF
    from pullback._where import PARTS as _PARTS
    from pullback._where import PREFIXES as _PREFIXES

    _WHERE = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

    # A module of the face asks for its parts first of all, by `from pullback import _nn`: what loads them holds a lock,
    # and while it does nothing of the face is loaded, so that nobody who waits for it holds what is waited for.
    def _load(where):
        from pullback.compiler.later import load

        return load(f"{__name__}.{where}")

    def __getattr__(name):
        if name in _PARTS:
            return [_load(part) for part in _PARTS[name].split()]
        where = _WHERE.get(name) or next((m for prefix, m in _PREFIXES.items() if name.startswith(prefix)), None)
        if where is None:
            return _load("runtime.programs.refused").asked("torch", name)
        from importlib import import_module

        if where == __name__:
            return import_module(f"{where}.{name}")
        value = getattr(_load(where), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *_WHERE})
