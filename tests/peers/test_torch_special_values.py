"""PyTorch's values and gradients at special points: zeros, kinks, ties, ends, infinities, NaN; some second ones.

A derivative may be a number where PyTorch's is NaN though no argument is: there it is a limit or a convention.
What is not PyTorch's besides is listed, with the reason.
"""

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import pullback

UNARY: dict[str, str] = {
    "exp": "t.exp(x)",
    "exp2": "t.exp2(x)",
    "expm1": "t.expm1(x)",
    "log": "t.log(x)",
    "log2": "t.log2(x)",
    "log10": "t.log10(x)",
    "log1p": "t.log1p(x)",
    "sqrt": "t.sqrt(x)",
    "rsqrt": "t.rsqrt(x)",
    "reciprocal": "t.reciprocal(x)",
    "square": "t.square(x)",
    "sin": "t.sin(x)",
    "cos": "t.cos(x)",
    "tan": "t.tan(x)",
    "asin": "t.asin(x)",
    "acos": "t.acos(x)",
    "atan": "t.atan(x)",
    "sinh": "t.sinh(x)",
    "cosh": "t.cosh(x)",
    "tanh": "t.tanh(x)",
    "asinh": "t.asinh(x)",
    "acosh": "t.acosh(x)",
    "atanh": "t.atanh(x)",
    "sigmoid": "t.sigmoid(x)",
    "erf": "t.erf(x)",
    "erfc": "t.erfc(x)",
    "erfinv": "t.erfinv(x)",
    "abs": "t.abs(x)",
    "floor": "t.floor(x)",
    "ceil": "t.ceil(x)",
    "round": "t.round(x)",
    "trunc": "t.trunc(x)",
    "frac": "t.frac(x)",
    "sign": "t.sign(x)",
    "sgn": "t.sgn(x)",
    "relu": "t.relu(x)",
    "neg": "t.neg(x)",
    "deg2rad": "t.deg2rad(x)",
    "rad2deg": "t.rad2deg(x)",
    "nan_to_num": "t.nan_to_num(x, 1., 2., 3.)",
    "lgamma": "t.lgamma(x)",
    "digamma": "t.digamma(x)",
    "i0": "t.i0(x)",
    "sinc": "t.sinc(x)",
    "logit": "t.logit(x)",
    "special.expit": "t.special.expit(x)",
    "special.log_ndtr": "t.special.log_ndtr(x)",
    "special.ndtr": "t.special.ndtr(x)",
    "special.ndtri": "t.special.ndtri(x)",
    "special.entr": "t.special.entr(x)",
    "special.erfcx": "t.special.erfcx(x)",
    "special.i0e": "t.special.i0e(x)",
    "special.i1": "t.special.i1(x)",
    "special.i1e": "t.special.i1e(x)",
    "positive": "t.positive(x)",
    "angle": "t.angle(x)",
    "nn.functional.softplus": "t.nn.functional.softplus(x)",
    "nn.functional.logsigmoid": "t.nn.functional.logsigmoid(x)",
    "nn.functional.silu": "t.nn.functional.silu(x)",
    "nn.functional.gelu": "t.nn.functional.gelu(x)",
    "nn.functional.elu": "t.nn.functional.elu(x)",
    "nn.functional.selu": "t.nn.functional.selu(x)",
    "nn.functional.celu": "t.nn.functional.celu(x)",
    "nn.functional.relu6": "t.nn.functional.relu6(x)",
    "nn.functional.hardtanh": "t.nn.functional.hardtanh(x)",
    "nn.functional.hardswish": "t.nn.functional.hardswish(x)",
    "nn.functional.hardsigmoid": "t.nn.functional.hardsigmoid(x)",
    "nn.functional.leaky_relu": "t.nn.functional.leaky_relu(x)",
    "nn.functional.mish": "t.nn.functional.mish(x)",
    "nn.functional.softsign": "t.nn.functional.softsign(x)",
    "nn.functional.tanhshrink": "t.nn.functional.tanhshrink(x)",
    "nn.functional.hardshrink": "t.nn.functional.hardshrink(x)",
    "nn.functional.softshrink": "t.nn.functional.softshrink(x)",
    "gelu tanh": "t.nn.functional.gelu(x, approximate='tanh')",
    "elu .5": "t.nn.functional.elu(x, 0.5)",
    "celu 2": "t.nn.functional.celu(x, 2.)",
    "elu -1": "t.nn.functional.elu(x, -1.)",
    "softplus 2": "t.nn.functional.softplus(x, 2., 3.)",
    "threshold": "t.nn.functional.threshold(x, 0.5, 7.)",
    "hardshrink 1": "t.nn.functional.hardshrink(x, 1.)",
    "softshrink 1": "t.nn.functional.softshrink(x, 1.)",
    "leaky": "t.nn.functional.leaky_relu(x, 0.3)",
    "prelu": "t.nn.functional.prelu(x, t.tensor([0.25], dtype=x.dtype))",
    "clamp": "t.clamp(x, -1., 1.)",
    "clamp min": "t.clamp(x, min=0.)",
    "clamp max": "t.clamp(x, max=1.)",
    "clamp swapped": "t.clamp(x, 1., -1.)",
    "clamp nan": "t.clamp(x, float('nan'), 1.)",
    "clamp min tensor": "t.clamp(x, min=t.zeros_like(x))",
    "clamp tensors": "t.clamp(x, t.zeros_like(x)-1, t.ones_like(x))",
    "clamp_min": "t.clamp_min(x, 0.)",
    "clamp_max": "t.clamp_max(x, 0.)",
    "clamp inf": "t.clamp(x, -float('inf'), float('inf'))",
    "logit eps": "t.logit(x, 1e-2)",
    "xlogy": "t.xlogy(x, x)",
    "xlogy s": "t.xlogy(x, 0.)",
    "xlogy t": "t.xlogy(0., x)",
    "xlog1py": "t.special.xlog1py(x, x)",
    "polygamma1": "t.polygamma(1, x)",
    "mvlgamma": "t.mvlgamma(x, 2)",
    "rsub": "1 - x",
    "rdiv": "1 / x",
    "rdiv0": "0. / x",
    "div0": "x / 0.",
    "mulinf": "x * float('inf')",
    "fmod": "t.fmod(x, 1.)",
    "remainder": "t.remainder(x, 1.)",
    "fmod inf": "t.fmod(x, float('inf'))",
    "remainder inf": "t.remainder(x, float('inf'))",
    "remainder -1": "t.remainder(x, -1.)",
    "divtrunc": "t.div(x, 0.5, rounding_mode='trunc')",
    "x*sig": "x * t.sigmoid(x)",
    "naive": "1/(1+t.exp(-x))",
    "softmax": "t.softmax(t.stack([x, x*0+1]), 0)",
    "logsoftmax": "t.log_softmax(t.stack([x, t.ones_like(x)]), 0)",
    "lse": "t.logsumexp(t.stack([x, t.ones_like(x)]), 0)",
    "lse2": "t.logsumexp(t.stack([x, x]), 0)",
    "norm1": "t.linalg.vector_norm(x[:,None], 2, 1)",
    "norm1 1": "t.linalg.vector_norm(x[:,None], 1, 1)",
    "norm inf": "t.linalg.vector_norm(x[:,None], float('inf'), 1)",
    "norm3": "t.linalg.vector_norm(x[:,None], 3, 1)",
    "norm-inf": "t.linalg.vector_norm(x[:,None], -float('inf'), 1)",
    "norm.5": "t.linalg.vector_norm(x[:,None], .5, 1)",
    "norm0": "t.linalg.vector_norm(x[:,None], 0, 1)",
    "norm-1": "t.linalg.vector_norm(x[:,None], -1, 1)",
    "where": "t.where(x > 0, t.sqrt(x), x)",
    "masked_fill": "x.masked_fill(x > 0, 0.)",
    "copysign": "t.copysign(x, t.tensor(-1., dtype=x.dtype))",
    "copysign2": "t.copysign(t.ones_like(x), x)",
    "mse": "t.nn.functional.mse_loss(x, t.zeros_like(x), reduction='none')",
    "l1": "t.nn.functional.l1_loss(x, t.zeros_like(x), reduction='none')",
    "smooth_l1": "t.nn.functional.smooth_l1_loss(x, t.zeros_like(x), reduction='none')",
    "smooth_l1 b0": "t.nn.functional.smooth_l1_loss(x, t.zeros_like(x), reduction='none', beta=0.)",
    "smooth_l1 .5": "t.nn.functional.smooth_l1_loss(x, t.zeros_like(x), reduction='none', beta=.5)",
    "huber": "t.nn.functional.huber_loss(x, t.zeros_like(x), reduction='none')",
    "huber .5": "t.nn.functional.huber_loss(x, t.zeros_like(x), reduction='none', delta=.5)",
    "bcel 0": "t.nn.functional.binary_cross_entropy_with_logits(x, t.zeros_like(x), reduction='none')",
    "bcel 1": "t.nn.functional.binary_cross_entropy_with_logits(x, t.ones_like(x), reduction='none')",
    "soft_margin": "t.nn.functional.soft_margin_loss(x, t.ones_like(x), reduction='none')",
    "soft_margin -": "t.nn.functional.soft_margin_loss(x, -t.ones_like(x), reduction='none')",
    "hinge_emb": "t.nn.functional.hinge_embedding_loss(x, -t.ones_like(x), reduction='none')",
    "hinge_emb1": "t.nn.functional.hinge_embedding_loss(x, t.ones_like(x), reduction='none')",
    "kl_div": "t.nn.functional.kl_div(x, t.full_like(x, 0.5), reduction='none')",
    "kl_div target": "t.nn.functional.kl_div(t.full_like(x, .5), x, reduction='none')",
    "kl_div log": "t.nn.functional.kl_div(x, x, reduction='none', log_target=True)",
    "poisson": "t.nn.functional.poisson_nll_loss(x, t.ones_like(x), reduction='none')",
    "poisson nolog": "t.nn.functional.poisson_nll_loss(x, t.ones_like(x), log_input=False, reduction='none')",
    "gaussian_nll": "t.nn.functional.gaussian_nll_loss(x, t.zeros_like(x), t.ones_like(x), reduction='none')",
    "margin_ranking": "t.nn.functional.margin_ranking_loss(x, t.zeros_like(x), t.ones_like(x), reduction='none')",
    "margin_ranking m": "t.nn.functional.margin_ranking_loss(x, 0 * x, -t.ones_like(x), margin=1., reduction='none')",
    "cosine": "t.cosine_similarity(x[:,None], t.ones_like(x)[:,None], 1)",
    "normalize": "t.nn.functional.normalize(x[:,None], dim=1)[:,0]",
    "pdist": "t.nn.functional.pairwise_distance(x[:,None], t.zeros_like(x)[:,None])",
    "cdist": "t.cdist(x[None,:,None], t.zeros_like(x)[None,:1,None])[0,:,0]",
    "lerp": "t.lerp(x, t.ones_like(x), 0.5)",
    "addcdiv": "t.addcdiv(x, x, x)",
    "glu": "t.nn.functional.glu(t.stack([x, x], 1), 1)[:,0]",
    "softmin": "t.nn.functional.softmin(t.stack([x, x*0], 1), 1)",
    "x**0": "x ** (0)",
    "x**1": "x ** (1)",
    "x**2": "x ** (2)",
    "x**3": "x ** (3)",
    "x**4": "x ** (4)",
    "x**5": "x ** (5)",
    "x**7": "x ** (7)",
    "x**-1": "x ** (-1)",
    "x**-2": "x ** (-2)",
    "x**-3": "x ** (-3)",
    "x**-4": "x ** (-4)",
    "x**0.5": "x ** (0.5)",
    "x**-0.5": "x ** (-0.5)",
    "x**1.5": "x ** (1.5)",
    "x**-1.5": "x ** (-1.5)",
    "x**2.5": "x ** (2.5)",
    "x**0.25": "x ** (0.25)",
    "x**0.3333333333333333": "x ** (0.3333333333333333)",
    "x**-0.0": "x ** (-0.0)",
    "x**inf": "x ** (float('inf'))",
    "x**-inf": "x ** (-float('inf'))",
    "x**nan": "x ** (float('nan'))",
    "x**20": "x ** (20)",
    "0.0**x": "(0.0) ** x",
    "1.0**x": "(1.0) ** x",
    "2.0**x": "(2.0) ** x",
    "-1.0**x": "(-1.0) ** x",
    "-2.0**x": "(-2.0) ** x",
    "0.5**x": "(0.5) ** x",
    "inf**x": "(float('inf')) ** x",
    "-inf**x": "(-float('inf')) ** x",
}

BINARY: dict[str, str] = {
    "add": "t.add(x, y)",
    "sub": "t.sub(x, y)",
    "mul": "t.mul(x, y)",
    "div": "t.div(x, y)",
    "pow": "t.pow(x, y)",
    "atan2": "t.atan2(x, y)",
    "hypot": "t.hypot(x, y)",
    "maximum": "t.maximum(x, y)",
    "minimum": "t.minimum(x, y)",
    "fmax": "t.fmax(x, y)",
    "fmin": "t.fmin(x, y)",
    "max": "t.max(x, y)",
    "min": "t.min(x, y)",
    "fmod": "t.fmod(x, y)",
    "remainder": "t.remainder(x, y)",
    "logaddexp": "t.logaddexp(x, y)",
    "logaddexp2": "t.logaddexp2(x, y)",
    "xlogy": "t.xlogy(x, y)",
    "copysign": "t.copysign(x, y)",
    "nextafter": "t.nextafter(x, y)",
    "ldexp": "t.ldexp(x, y)",
    "special.xlog1py": "t.special.xlog1py(x, y)",
    "float_power": "t.float_power(x, y)",
    "smooth": "t.nn.functional.smooth_l1_loss(x, y, reduction='none')",
    "huber": "t.nn.functional.huber_loss(x, y, reduction='none')",
    "l1": "t.nn.functional.l1_loss(x, y, reduction='none')",
    "mse": "t.nn.functional.mse_loss(x, y, reduction='none')",
    "clamp_min t": "t.clamp(x, min=y)",
    "clamp_max t": "t.clamp(x, max=y)",
    "clamp both": "t.clamp(x, y, y + 1)",
    "clamp_min": "t.clamp_min(x, y)",
    "trunc": "t.div(x, y, rounding_mode='trunc')",
    "floor": "t.div(x, y, rounding_mode='floor')",
    "bcel": "t.nn.functional.binary_cross_entropy_with_logits(x, y, reduction='none')",
    "amax": "t.stack([x, y]).amax(0)",
    "amin": "t.stack([x, y]).amin(0)",
    "max dim": "t.stack([x, y]).max(0).values",
    "min dim": "t.stack([x, y]).min(0).values",
    "prod": "t.stack([x, y]).prod(0)",
    "prod3": "t.stack([x, y, x]).prod(0)",
    "sum": "t.stack([x, y]).sum(0)",
    "mean": "t.stack([x, y]).mean(0)",
    "var": "t.stack([x, y]).var(0)",
    "std": "t.stack([x, y]).std(0)",
    "std0": "t.stack([x, y, y]).std(0, correction=0)",
    "var3": "t.stack([x,y,y]).var(0)",
    "std_mean": "sum(t.std_mean(t.stack([x, y, y]), 0))",
    "var_mean": "sum(t.var_mean(t.stack([x, y, y]), 0))",
    "norm": "t.stack([x, y]).norm(dim=0)",
    "norm3": "t.stack([x,y]).norm(3, dim=0)",
    "norm1": "t.stack([x,y]).norm(1, dim=0)",
    "norminf": "t.stack([x,y]).norm(float('inf'), dim=0)",
    "norm-inf": "t.stack([x,y]).norm(-float('inf'), dim=0)",
    "norm0": "t.stack([x,y]).norm(0, dim=0)",
    "norm.5": "t.linalg.vector_norm(t.stack([x,y]), .5, 0)",
    "logsumexp": "t.stack([x,y]).logsumexp(0)",
    "softmax": "t.stack([x,y]).softmax(0)",
    "log_softmax": "t.stack([x,y]).log_softmax(0)",
    "median": "t.stack([x, y, x]).median(0).values",
    "median2": "t.stack([x, y]).median(0).values",
    "nanmedian": "t.stack([x,y,y]).nanmedian(0).values",
    "cummax": "t.stack([x,y]).cummax(0).values",
    "cummin": "t.stack([x,y]).cummin(0).values",
    "cumprod": "t.stack([x,y,x]).cumprod(0)",
    "cumsum": "t.stack([x,y]).cumsum(0)",
    "logcumsumexp": "t.stack([x,y]).logcumsumexp(0)",
    "nansum": "t.stack([x,y]).nansum(0)",
    "nanmean": "t.stack([x,y]).nanmean(0)",
    "sort": "t.stack([x,y]).sort(0).values",
    "topk": "t.stack([x,y]).topk(1, 0).values",
    "kthvalue": "t.stack([x,y,x]).kthvalue(2, 0).values",
    "quantile": "t.stack([x,y,x]).quantile(0.25, 0)",
    "aminmax": "sum(t.aminmax(t.stack([x,y]), dim=0))",
    "cosine": "t.cosine_similarity(t.stack([x,y]), t.stack([y, y]), 0)",
    "normalize": "t.nn.functional.normalize(t.stack([x,y]), dim=0)",
    "pairdist": "t.nn.functional.pairwise_distance(t.stack([x,y],1), t.stack([y,y],1))",
    "kl": "t.nn.functional.kl_div(x, y, reduction='none')",
    "poisson": "t.nn.functional.poisson_nll_loss(x, y, reduction='none')",
    "where": "t.where(x > y, x, y)",
    "lerp": "t.lerp(x, y, 0.25)",
    "lerp t": "t.lerp(x, y, y)",
    "addcmul": "t.addcmul(x, x, y)",
    "addcdiv": "t.addcdiv(x, x, y)",
    "gauss": "t.nn.functional.gaussian_nll_loss(x, y, t.ones_like(x), reduction='none')",
    "hinge": "t.nn.functional.hinge_embedding_loss(x, y.sign(), reduction='none')",
    "margin": "t.nn.functional.margin_ranking_loss(x, y, t.ones_like(x), reduction='none')",
    "x/y/y": "x/(y*y)",
    "cross_entropy": "t.nn.functional.cross_entropy(t.stack([x,y],1), t.zeros_like(x).long(), reduction='none')",
    "layer_norm": "t.nn.functional.layer_norm(t.stack([x,y],1), (2,))",
    "max_pool": "t.nn.functional.max_pool1d(t.stack([x,y],1)[None], 2)[0,:,0]",
    "avg_pool": "t.nn.functional.avg_pool1d(t.stack([x,y],1)[None], 2)[0,:,0]",
    "diff": "t.diff(t.stack([x,y]), dim=0)",
    "trapz": "t.trapezoid(t.stack([x,y]), dim=0)",
    "glu": "t.nn.functional.glu(t.stack([x,y],1),1)[:,0]",
}

INF, NAN = math.inf, math.nan
POINTS = [0.0, 1.0, 0.5, 2.0, 3.0, 6.0, 1 + 2**-23, 1 - 2**-23, 1.5, 20.0, 20.5, 100.0, 1000.0, 1e-45, 1.2e-38, 1e-10]
POINTS = [*POINTS, *(-p for p in POINTS), 1e10, -1e10, 3e38, -3e38, INF, -INF, NAN]
PAIRS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -3.0, 1e-45, 3e38, -3e38, INF, -INF, NAN]


#: what differs and why; the number tells from which order of derivative on
KNOWN: dict[str, tuple[int, str]] = {
    **dict.fromkeys(
        ["nn.functional.elu", "nn.functional.selu", "nn.functional.celu", "elu .5", "celu 2", "elu -1"],
        (2, "torch's second derivative at 0 is 0, though its first is the left one"),
    ),
    **dict.fromkeys(["softplus 2"], (2, "torch's second derivative at the threshold is 0")),
    **dict.fromkeys(["erfinv", "special.ndtri"], (2, "ours is NaN at the ends, where torch's is infinite")),
    **dict.fromkeys(["digamma", "mvlgamma"], (1, "torch loses the poles to rounding, or the sign of infinity at -0")),
    **dict.fromkeys(["lgamma"], (2, "torch loses the poles to rounding")),
    **dict.fromkeys(["polygamma1"], (0, "torch loses the poles to rounding")),
    **dict.fromkeys(["special.i1", "special.i1e"], (1, "the slope of i1 at NaN is NaN, torch's 1/2")),
    **dict.fromkeys(["i0"], (2, "the slope of i1 at NaN is NaN, torch's 1/2")),
    **dict.fromkeys(["special.i0e"], (2, "torch's second derivative at the kink is neither side's")),
    **dict.fromkeys(["sinc"], (0, "sinc at infinity is 0, torch's NaN")),
    **dict.fromkeys(["special.log_ndtr"], (1, "torch's derivative loses its digits far out")),
    **dict.fromkeys(["special.erfcx", "norm-1", "addcdiv"], (2, "torch's derivative loses its digits far out")),
    **dict.fromkeys(["logit eps", "norm1 1", "norm inf", "norm-inf"], (1, "NaN gives NaN, in torch 0")),
    **dict.fromkeys(
        ["logit", "norm.5", "smooth_l1", "smooth_l1 .5", "huber", "huber .5"],
        (2, "a third thing at NaN: the slope of the branch that is taken"),
    ),
    **dict.fromkeys(["acosh", "x**-0.5"], (1, "the sign of infinity at -0 and outside of the domain")),
    **dict.fromkeys(["x**0.5", "x**1.5"], (2, "the sign of infinity at -0 and outside of the domain")),
    **dict.fromkeys(
        ["norm1", "norm3", "cosine", "normalize", "pdist"], (0, "squares of 3e38 overflow in f32, torch's are in f64")
    ),
    **dict.fromkeys(["cdist"], (0, "torch's distance of infinities is NaN")),
    **dict.fromkeys(
        ["lerp", "lerp t of two", "trapz of two", "quantile of two"],
        (0, "torch joins the ends in another order where one is infinite"),
    ),
    **dict.fromkeys(["bcel 0", "bcel 1", "bcel of two"], (0, "0 times an infinite logit")),
    **dict.fromkeys(["copysign", "copysign of two"], (1, "the size of NaN has the slope of its sign bit")),
    **dict.fromkeys(["fmod of two"], (1, "y's slope at 0 and of infinite x")),
    **dict.fromkeys(["nextafter of two"], (1, "the neighbour of infinity is a constant")),
    **dict.fromkeys(
        ["var of two", "var3 of two", "var_mean of two", "norm.5 of two"],
        (1, "both are not finite where an element is infinite"),
    ),
    **dict.fromkeys(
        ["norm3 of two", "norm1 of two", "norminf of two", "norm-inf of two"],
        (1, "NaN gives NaN to all that it takes part in, in torch 0, or the other way round at 0"),
    ),
    **dict.fromkeys(["logcumsumexp of two"], (1, "3e38 is no infinity")),
    **dict.fromkeys(["cumprod of two"], (1, "the slope x + x**2 is x * (1 + x): where x is infinite, one of both")),
    **dict.fromkeys(["nanmean of two"], (1, "the mean of no numbers is a constant")),
    **dict.fromkeys(["kthvalue of two"], (1, "torch picks an equal element by its way of searching")),
}

Made = list[np.ndarray | None]


def run(t: Any, text: str, arrays: list[np.ndarray], dtype: str) -> Made:
    """The value, its gradients and their gradients."""
    xs = [t.tensor(a, dtype=getattr(t, dtype), requires_grad=True) for a in arrays]
    value = eval(text, {"t": t, "x": xs[0], "y": xs[-1]})
    if not value.requires_grad:
        return [plain(value)]
    grads = gradients(t, value, xs, True)
    made = [value, *grads]
    for g in grads if len(xs) == 1 else ():
        made += gradients(t, g, xs, False) if g is not None and g.requires_grad else [None] * len(xs)
    return [None if m is None else plain(m) for m in made]


def plain(x: Any) -> np.ndarray:
    return (x.detach() + 0).clone().numpy()


def gradients(t: Any, value: Any, xs: list[Any], create: bool) -> list[Any]:
    try:
        made = t.autograd.grad(value.sum(), xs, create_graph=create, retain_graph=True, allow_unused=True)
        return [None if m is None or getattr(m, "_is_zerotensor", bool)() else m for m in made]
    except (RuntimeError, NotImplementedError):  # without a derivative
        return [None] * len(xs)


def wrong(got: np.ndarray, want: np.ndarray, exact: np.ndarray, bad: np.ndarray, tol: float, order: int) -> np.ndarray:
    """Where a result is neither PyTorch's in this dtype nor in f64; `bad` tells where an argument is NaN."""
    with np.errstate(all="ignore"):
        near = np.zeros(got.shape, bool)
        for w in (want, exact.astype(got.dtype)):
            near |= np.isclose(got, w, rtol=tol, atol=1e-2 * tol, equal_nan=True)
    return ~near & ~(np.isnan(want) & ~bad) if order else ~near


@pytest.mark.parametrize("name", [*UNARY, *(f"{n} of two" for n in BINARY)])
def test_special_values_are_pytorchs(name: str) -> None:
    two = name.endswith(" of two")
    text, dtype, tol = (BINARY[name[:-7]], "float64", 1e-9) if two else (UNARY[name], "float32", 1e-4)
    with np.errstate(all="ignore"):
        line = np.array(PAIRS if two else POINTS, np.float32).astype(np.float64)
    arrays = [a.ravel() for a in np.meshgrid(line, line)] if two else [line]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = run(torch, text, arrays, dtype), run(pullback, text, arrays, dtype)
        exact = want if two else run(torch, text, arrays, "float64")
    bad = np.isnan(arrays).any(0)
    for k, (w, g, e) in enumerate(zip(want, got, exact, strict=True)):
        order = 0 if k == 0 else 1 if k <= len(arrays) else 2
        if order >= KNOWN.get(name, (3, ""))[0] or (w is None and g is None):
            continue
        filled = [np.zeros(arrays[0].shape, dtype) if a is None else a for a in (g, w, e)]
        off = wrong(*filled, bad if filled[0].ndim == 1 else np.True_ | bad.any(), tol, order)
        rows = [tuple(np.argwhere(off)[j]) for j in range(min(4, int(off.sum())))]
        told = [f"at {[a[r[-1]] for a in arrays]}: {filled[0][r]} and not {filled[1][r]}" for r in rows]
        assert not off.any(), f"{name}, result {k}, {int(off.sum())} points: {'; '.join(told)}"


COMPLEX = "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square sin cos tan asin acos atan sinh cosh tanh"
COMPLEX += " asinh acosh atanh sigmoid sgn abs angle"


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX.split())
def test_functions_of_complex_tensors(name: str, dtype: str) -> None:
    """Values and gradients in all quadrants, inside of the unit circle and far out."""
    angles = np.exp(1j * np.array([0.3, 1.2, 2.0, 2.9, -0.4, -1.3, -2.2, -3.0]))
    points = np.concatenate([0.4 * angles, 1.7 * angles, 20.0 * angles if name != "sigmoid" else angles])
    found = []
    for t in (torch, pullback):
        z = t.tensor(points.astype(dtype), requires_grad=True)
        made = getattr(t, name)(z)
        t.real(made * (0.5 - 1j)).sum().backward()
        found.append((made.detach().numpy(), z.grad.numpy()))
    for want, got in zip(*found, strict=True):
        assert want.dtype == got.dtype
        tolerance = {"rtol": 2e-3, "atol": 1e-5} if dtype == "complex64" else {"rtol": 1e-11, "atol": 1e-12}
        np.testing.assert_allclose(got, want, **tolerance)


@pytest.mark.parametrize("eps", [1e-8, 1.0, 5.0])
def test_cosines_of_lengths_below_the_bound_have_their_slope(eps: float) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4))

    def slopes(library: Any) -> np.ndarray:
        x, y = (library.tensor(v, requires_grad=True) for v in (a, b))
        library.nn.functional.cosine_similarity(x, y, dim=1, eps=eps).sum().backward()
        return np.array([x.grad.tolist(), y.grad.tolist()])

    np.testing.assert_allclose(slopes(pullback), slopes(torch), rtol=1e-12, atol=1e-14)
