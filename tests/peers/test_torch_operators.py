"""torch's own database of operators, run with both packages: values, gradients, second derivatives, errors.

`op_db` has for each of torch's operators samples of arguments, and bad arguments with the error that they raise. Every
operator that the face has is run on its float32 and float64 samples; what torch and pullback give must agree. The
samples that use what there is not (sparse tensors, memory formats, other dtypes) are left out, and of operators with
very many samples only some are taken, always the same.

    python -m tests.peers.test_torch_operators add nn.functional.relu     shows what differs for these
    python -m tests.peers.test_torch_operators                            one line for every operator
    python -m tests.peers.test_torch_operators --missing                  names of those that the face has not
    ... --names                                                           names of nodes are compared as well
    ... --all                                                             all samples are run
"""

import contextlib
import io
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import pullback
from pullback.compiler.settings import settings
from pullback.runtime.tensor.value.dtypes import DType

SAMPLES = {torch.float32: 12, torch.float64: 8}
if "--all" in sys.argv:
    SAMPLES = dict.fromkeys(SAMPLES, sys.maxsize)
"""How many samples of an operator are run at most, for each dtype."""

NATIVE = 2
"""How many of them are compiled; the others are run by the primitives' NumPy meanings, which is quicker."""

COMPILED = {"nn.functional.conv_transpose3d"}
"""Operators of which all are: NumPy's meaning of a dilated window in its gradient would need 26 GB."""

LARGE = 20_000
"""Samples with more elements are left out."""

TOLERANCE = {"float32": (2e-4, 4e-5), "float64": (1e-8, 1e-9)}
HALVES = {"float16": (5e-3, 5e-3), "bfloat16": (4e-2, 4e-2)}

KNOWN: dict[str, str] = {
    "nn.functional.linear_cross_entropy.chunked": "the options are torch's own objects, see test_torch_modules.py",
    "nn.functional.linear_cross_entropy.chunked_none": "the options are torch's own objects, see test_torch_modules.py",
    "as_strided.partial_views": "samples are views, whose memory the harness does not hand over",
    "as_strided_scatter": "torch gives the gradient to the elements that were replaced, not to those that stayed",
    "addbmm": "torch lets addbmm_ give a tensor of one element the shape of the result; we refuse",
    "nn.functional.ctc_loss": "float32 gradients agree in three digits, float64 ones in eight",
    "nn.functional.hardsigmoid": "torch's slope in float64 is 1/6 in single precision",
    "logcumsumexp": "torch's float32 gradient has three digits; ours agrees with the float64 one",
    "linalg.eig": "signs of eigenvectors are LAPACK's choice, and torch has another one",
    "linalg.eigh": "signs of eigenvectors are LAPACK's choice, and torch has another one",
    "linalg.svd": "signs of singular vectors are LAPACK's choice, and torch has another one",
    "linalg.pinv.hermitian": "the operator symmetrises its argument",
    "linalg.norm.subgradients_at_zero": "torch's second derivative at zero is NaN, ours 0",
    "linalg.lstsq.grad_oriented": "the operator is some of lstsq's results",
    "svd_lowrank": "the operator is svd_lowrank of a product of its arguments",
    "pca_lowrank": "the operator is pca_lowrank of a product of its arguments",
    "linalg.pinv.singular": "the operator is pinv of a product of its arguments",
    "special.bessel_j0": "torch has 8 digits beyond 5, ours agree with SciPy's in 13",
    "special.bessel_j1": "torch has 8 digits beyond 5, ours agree with SciPy's in 13",
    "special.bessel_y0": "torch has 8 digits beyond 5, ours agree with SciPy's in 13",
    "special.bessel_y1": "torch has 8 digits beyond 5, ours agree with SciPy's in 13",
    "slice_scatter": "where all is replaced nothing is left to differentiate; torch keeps a gradient of zeros",
}
"""Operators that are known to differ, and why."""

SHAPES_ONLY = {"empty", "empty_like", "new_empty", "empty_permuted", "empty_strided", "new_empty_strided"}
"""Operators of which only dtypes and shapes can be compared."""

RANDOM = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "uniform", "nn.functional.alpha_dropout", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.multi_head_attention_forward", "nn.functional.rrelu", "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d",
}  # fmt: skip
"""Operators that draw numbers: again only dtypes and shapes."""


SHOW_NAMES = "--names" in sys.argv
"""Whether names of nodes that differ are failures."""


class Unsupported(Exception):
    """A sample uses something that pullback has not."""


# ---- from torch's arguments to ours


def ours(value: Any, made: dict[int, Any]) -> Any:
    """Tensors, dtypes and containers of them as pullback's; `made` has the tensors that came before."""
    if isinstance(value, torch.Tensor):
        if id(value) not in made:
            made[id(value)] = _tensor(value)
        return made[id(value)]
    if isinstance(value, torch.dtype):
        return _dtype(value)
    if isinstance(value, (torch.memory_format, torch.layout, torch.Generator)):
        if value in (torch.strided, torch.contiguous_format):
            raise _Default
        raise Unsupported(value)
    if isinstance(value, torch.device):
        return "cpu"
    if isinstance(value, torch.Size):
        return pullback.Size(value)
    if type(value) in (list, tuple):
        return type(value)([ours(v, made) for v in value])
    if type(value) is dict:
        return _options(value, made)
    if callable(value):
        raise Unsupported(value)
    return value


class _Default(Exception):
    """A value that is what pullback does anyway."""


def _options(given: dict[str, Any], made: dict[int, Any]) -> dict[str, Any]:
    options = {}
    for name, value in given.items():
        with contextlib.suppress(_Default):
            options[name] = ours(value, made)
    return options


def _has_own_memory(out: Any) -> bool:
    """Whether results can be written there and take any shape, as in all of pullback's memory."""
    return all(
        t.untyped_storage().resizable() and t.untyped_storage().nbytes() == t.numel() * t.element_size()
        for t in tensors_in(out, torch)
    )


def _dtype(dtype: torch.dtype) -> Any:
    name = str(dtype).removeprefix("torch.")
    found = getattr(pullback, "bool_" if name == "bool" else name, None)
    if not isinstance(found, DType):
        raise Unsupported(dtype)
    return found


def _tensor(value: torch.Tensor) -> Any:
    if value.layout is not torch.strided or value.is_quantized or value.device.type != "cpu":
        raise Unsupported(value.layout)
    if value.dim() > 32:
        raise Unsupported("more dimensions than a graph's type has")
    dtype = _dtype(value.dtype)
    made = pullback.tensor(_array(value.detach().resolve_conj().resolve_neg().clone()), dtype=dtype)
    return made.requires_grad_() if value.requires_grad else made


ADAPTED: dict[str, Callable[..., Any]] = {
    "einsum": lambda tensors, equation: pullback.einsum(equation, *tensors),
    "where": lambda input, condition, other, **options: pullback.where(condition, input, other, **options),
    "nn.functional.embedding": lambda weight, input, **options: pullback.nn.functional.embedding(
        input, weight, **options
    ),
    "nn.functional.embedding_bag": lambda weight, input, **options: pullback.nn.functional.embedding_bag(
        input, weight, **options
    ),
    "normal.in_place": lambda input, *args, **options: input.clone().normal_(*args, **options),
    "slice": lambda input, dim=0, start=None, end=None, step=1: input.movedim(dim, 0)[start:end:step].movedim(0, dim),
}
"""What the database calls with other arguments than the face."""


def function_of(op: Any) -> Callable[..., Any] | None:
    """The face's function or method for an operator; if there is only one that writes in place, on a copy."""
    name = op.name
    if label(op) in ADAPTED or name in ADAPTED:
        return ADAPTED.get(label(op)) or ADAPTED[name]
    found: Any = pullback
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found) and "." not in name:
        found = getattr(pullback.Tensor, name, None)
        if isinstance(found, property):
            return found.fget
    if not callable(found) or (name.endswith("_") and not name.startswith("__")):
        writing = getattr(pullback.Tensor, f"{name.rstrip('_')}_", None)
        return writing and (lambda input, *args, **options: writing(input.clone(), *args, **options))
    return found


# ---- what a call gives


class Outcome(NamedTuple):
    """Results, gradients and second derivatives as NumPy arrays, or the error."""

    results: Any
    names: list[str]
    first: list[Any]
    second: list[Any]
    error: Exception | None


def tensors_in(value: Any, module: Any) -> list[Any]:
    """The tensors of nested containers."""
    if isinstance(value, module.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_in(v, module)]
    return []


def plain(value: Any, module: Any) -> Any:
    """Tensors as arrays, containers as lists."""
    if isinstance(value, module.Tensor):
        return str(value.dtype), _array(value.detach().resolve_conj())
    if isinstance(value, (list, tuple)):
        return [plain(v, module) for v in value]
    if isinstance(value, dict):
        return {k: plain(v, module) for k, v in value.items()}
    return str(value) if isinstance(value, (torch.dtype, DType)) else value


def run(module: Any, call: Callable[[], Any], inputs: list[Any], process: Any, order: int) -> Outcome:
    """Call, and pull cotangents back through what comes out, `order` times."""
    try:
        made = call()
        results = plain(made, module)
    except Exception as error:
        return Outcome(None, [], [], [], error)
    names = [t.grad_fn.name().rpartition("::")[2] if t.grad_fn else "" for t in tensors_in(made, module)]
    leaves = [t for t in inputs if t.requires_grad]
    if not order or not leaves:
        return Outcome(results, names, [], [], None)
    try:
        first, second = _gradients(module, process(made) if process else made, leaves, order)
    except Exception as error:
        return Outcome(results, names, [], [], error)
    return Outcome(results, names, first, second, None)


def _gradients(module: Any, made: Any, leaves: list[Any], order: int) -> tuple[list[Any], list[Any]]:
    outs = [t for t in tensors_in(made, module) if t.requires_grad]
    if not outs:
        return [], []
    rng = np.random.default_rng(1)
    cts = [_weights(module, t, rng) for t in outs]
    for ct in cts:
        ct.requires_grad_(order > 1)
    first = module.autograd.grad(outs, leaves, cts, create_graph=order > 1, allow_unused=True)
    parts = [g for g in first if g is not None and g.requires_grad]
    if order < 2 or not parts:
        return [_array(g) for g in first], []
    weights = [_weights(module, g, rng) for g in parts]
    second = module.autograd.grad(parts, [*leaves, *cts], weights, allow_unused=True)
    return [_array(g) for g in first], [_array(g) for g in second]


def _weights(module: Any, like: Any, rng: np.random.Generator) -> Any:
    dtype = str(like.dtype).removeprefix("torch.").replace("bfloat16", "float32")
    drawn = rng.uniform(0.5, 1.5, tuple(like.shape))
    if dtype.startswith("complex"):
        drawn = drawn + 1j * rng.uniform(0.5, 1.5, tuple(like.shape))
    return module.tensor(drawn.astype(dtype), dtype=like.dtype)


def _array(tensor: Any) -> Any:
    if tensor is None:
        return None
    if str(tensor.dtype) == "torch.bfloat16":
        return tensor.detach().float().numpy().astype(ml_dtypes.bfloat16)
    return np.array(tensor.detach().numpy())


# ---- what differs


def difference(mine: Any, theirs: Any, where: str, shapes_only: bool = False) -> str | None:
    """What is wrong with results, or None."""
    if isinstance(theirs, tuple) and len(theirs) == 2 and isinstance(theirs[1], np.ndarray):
        if not isinstance(mine, tuple):
            return f"{where}: {mine!r} instead of {theirs!r}"
        if mine[0] != theirs[0]:
            return f"{where}: dtype {mine[0]} instead of {theirs[0]}"
        return unlike(mine[1], theirs[1], where, shapes_only)
    if isinstance(theirs, (list, dict)):
        if type(mine) is not type(theirs) or len(mine) != len(theirs):
            return f"{where}: {mine!r} instead of {theirs!r}"
        pairs = enumerate(theirs) if isinstance(theirs, list) else theirs.items()
        return next((d for k, v in pairs if (d := difference(mine[k], v, f"{where}[{k}]", shapes_only))), None)
    if isinstance(theirs, float) and isinstance(mine, float):
        return unlike(np.float32(mine), np.float32(theirs), where, shapes_only)
    if shapes_only and type(mine) is type(theirs):
        return None
    return None if mine == theirs else f"{where}: {mine!r} instead of {theirs!r}"


def unlike(mine: Any, theirs: Any, where: str, shapes_only: bool = False) -> str | None:
    """What is wrong with an array; a gradient that is missing is as good as zeros."""
    if mine is None or theirs is None:
        other = mine if theirs is None else theirs
        nothing = other is None or float(np.abs(other).max(initial=0)) < 1e-9
        return None if nothing else f"{where}: {mine!r} instead of {theirs!r}"
    if mine.shape != theirs.shape:
        return f"{where}: shape {list(mine.shape)} instead of {list(theirs.shape)}"
    if shapes_only or not theirs.size:
        return None
    if str(theirs.dtype) in HALVES:
        mine, theirs, tolerance = mine.astype(np.float32), theirs.astype(np.float32), HALVES[str(theirs.dtype)]
    else:
        tolerance = TOLERANCE["float32" if theirs.dtype.char in "fF" else "float64"]
    if theirs.dtype.kind not in "fc":
        return None if np.array_equal(mine, theirs) else f"{where}: {_short(mine)} instead of {_short(theirs)}"
    relative, floor = tolerance
    finite = theirs[np.isfinite(theirs)]
    scale = float(np.abs(finite).max(initial=1.0)) if finite.size else 1.0
    with np.errstate(all="ignore"):
        close = np.isclose(mine, theirs, relative, floor * scale, equal_nan=True)
    if close.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~close)[0])
    return f"{where}: {mine[at]} instead of {theirs[at]} at {list(at)}, of shape {list(theirs.shape)}"


def _short(array: np.ndarray) -> str:
    return np.array2string(array, threshold=20, edgeitems=3).replace("\n", "")


def compared(mine: Outcome, theirs: Outcome, shapes_only: bool) -> str | None:
    """What is wrong with what our call gave."""
    if theirs.error is not None:
        if theirs.results is not None:  # the samples' own processing, or torch's second derivative, is at fault
            return difference(mine.results, theirs.results, "result", shapes_only)
        if mine.error is None:
            return f"error: none instead of {theirs.error!r}"
        same = type(mine.error).__name__ == type(theirs.error).__name__
        return None if same else f"error: {mine.error!r} instead of {theirs.error!r}"
    if mine.error is not None:
        return f"{'value' if mine.results is None else 'gradient'}: raised {mine.error!r}"[:600]
    wrong = difference(mine.results, theirs.results, "result", shapes_only)
    if wrong or shapes_only:
        return wrong
    if mine.names != theirs.names and SHOW_NAMES:
        return f"names: {mine.names[:3]} instead of {theirs.names[:3]}"
    for name in ("first", "second"):
        pairs = zip_longest(getattr(mine, name), getattr(theirs, name))
        for k, (a, b) in enumerate(pairs):
            wrong = unlike(a, b, f"{name} derivative {k}")
            if wrong:
                return wrong
    return None


# ---- the operators


def label(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def _chosen(samples: Iterator[Any], name: str, most: int) -> list[Any]:
    """The first few, and of the others some, always the same."""
    fitting = [s for s in samples if sum(t.numel() for t in _tensors_of(s)) <= LARGE]
    if len(fitting) <= most:
        return fitting
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rest = rng.choice(np.arange(4, len(fitting)), most - 4, replace=False)
    return [*fitting[:4], *(fitting[k] for k in sorted(rest))]


def _tensors_of(sample: Any) -> list[Any]:
    return tensors_in([sample.input, sample.args, sample.kwargs], torch)


def sample_outcomes(op: Any, sample: Any, order: int) -> tuple[Outcome, Outcome]:
    """Ours and torch's for one sample; Unsupported if it cannot be."""
    function = function_of(op)
    assert function is not None
    if sample.kwargs.get("dropout_p"):
        raise Unsupported("random numbers")
    if not _has_own_memory(sample.kwargs.get("out")):
        raise Unsupported("memory that has no counterpart")
    made: dict[int, Any] = {}
    given = [ours(sample.input, made), ours(list(sample.args), made), _options(sample.kwargs, made)]
    process = getattr(sample, "output_process_fn_grad", None)
    theirs = run(
        torch, lambda: op.op(sample.input, *sample.args, **sample.kwargs), _tensors_of(sample), process, order
    )
    mine = run(
        pullback, lambda: function(given[0], *given[1], **given[2]), tensors_in(given, pullback), process, order
    )
    return mine, theirs


def variants(op: Any, sample: Any) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """The method, the method that writes in place, and `out`, where torch has them: their call and ours."""
    if "nn.functional" in op.name or label(op) in ADAPTED:
        return
    function, made = function_of(op), {}
    input, args, options = ours(sample.input, made), ours(list(sample.args), made), _options(sample.kwargs, made)
    if isinstance(sample.input, torch.Tensor) and op.method_variant is not None:
        method = getattr(pullback.Tensor, op.name, None)
        yield (
            "method",
            lambda: op.method_variant(sample.input, *sample.args, **sample.kwargs),
            lambda: method(input, *args, **options),
        )
    if isinstance(sample.input, torch.Tensor) and op.inplace_variant is not None and not op.name.endswith("_"):
        writing = getattr(pullback.Tensor, f"{op.name}_", None)
        yield (
            "in place",
            lambda: op.inplace_variant(sample.input.clone(), *sample.args, **sample.kwargs),
            lambda: writing(input.clone(), *args, **options),
        )
    if op.supports_out and function is not None:
        wanted = op.op(sample.input, *sample.args, **sample.kwargs)
        parts = wanted if isinstance(wanted, tuple) else (wanted,)
        if parts and all(isinstance(p, torch.Tensor) for p in parts):
            outs = tuple([torch.empty_like(p) for p in parts])
            mine = tuple([_tensor(torch.zeros_like(p)) for p in parts])
            one = not isinstance(wanted, tuple)
            yield (
                "out",
                lambda: (op.op(sample.input, *sample.args, **sample.kwargs, out=outs[0] if one else outs), outs)[1],
                lambda: (function(input, *args, **options, out=mine[0] if one else mine), mine)[1],
            )


def check_variants(op: Any, sample: Any) -> Iterator[str]:
    """What is wrong with the other ways to call an operator."""
    shapes_only = op.name in SHAPES_ONLY or op.name in RANDOM
    with torch.no_grad(), pullback.no_grad():
        for name, theirs, mine in variants(op, sample):
            found = compared(run(pullback, mine, [], None, 0), run(torch, theirs, [], None, 0), shapes_only)
            if found:
                yield f"{name} {_described(sample)}: {found}"


class Report(NamedTuple):
    """How many samples were run and left out, and what was wrong."""

    run: int
    left: int
    wrong: list[str]


def check(op: Any) -> Report:
    """Run an operator's samples and bad arguments."""
    count, left, wrong = 0, 0, []
    shapes_only = op.name in SHAPES_ONLY or op.name in RANDOM
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for where, sample, order, native in _samples(op):
            try:
                with settings.override(reference=not native):
                    mine, theirs = sample_outcomes(op, sample, order)
            except (Unsupported, _Default):
                left += 1
                continue
            count += 1
            found = compared(mine, theirs, shapes_only)
            if found:
                wrong.append(f"{where} {_described(sample)}: {found}")
            if native and "float32" in where:
                wrong += check_variants(op, sample)
        for sample in _bad(op):
            try:
                mine, theirs = sample_outcomes(op, sample, 0)
            except (Unsupported, _Default):
                left += 1
                continue
            count += 1
            found = compared(mine, theirs, shapes_only)
            if found:
                wrong.append(f"bad arguments {_described(sample)}: {found}")
    return Report(count, left, wrong)


def _samples(op: Any) -> Iterator[tuple[str, Any, int, bool]]:
    for dtype, most in SAMPLES.items():
        if dtype not in op.dtypes:
            continue
        order = 0 if not op.supports_autograd else 2 if op.supports_gradgrad and dtype is torch.float64 else 1
        torch.manual_seed(0)
        made = op.sample_inputs("cpu", dtype, requires_grad=bool(order))
        for k, sample in enumerate(_chosen(made, label(op), most)):
            yield f"{dtype} sample {k}", sample, order, k < NATIVE or label(op) in COMPILED


def _bad(op: Any) -> Iterator[Any]:
    if op.error_inputs_func is not None:
        for bad in op.error_inputs("cpu"):
            if not op.name.startswith("__") or isinstance(bad.sample_input.input, torch.Tensor):
                yield bad.sample_input


def _described(sample: Any) -> str:
    parts = [_text(v) for v in (sample.input, *sample.args)]
    parts += [f"{k}={_text(v)}" for k, v in sample.kwargs.items()]
    return f"({', '.join(parts)})"[:300]


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)


LEFT_OUT = ("torch.", "jiterator", "sparse.", "to_sparse", "masked.", "_")
"""What is torch's own or of other devices, or gives what is no array, see test_torch_sparse.py."""

NARROW = ("half", "bfloat16", "chalf")
"""Conversions to dtypes that there are not."""

OPERATORS = [
    op for op in op_db
    if op.name not in NARROW and (not op.name.startswith(LEFT_OUT) or op.name.startswith("__"))
]  # fmt: skip
HERE = [op for op in OPERATORS if function_of(op) is not None]


@pytest.mark.parametrize("op", HERE, ids=label)
def test_operator(op: Any) -> None:
    report = check(op)
    if label(op) in KNOWN:
        assert report.wrong, f"{label(op)} agrees: strike it from KNOWN"
    else:
        assert not report.wrong, f"{len(report.wrong)} of {report.run}:\n" + "\n".join(report.wrong[:5])


def main(names: list[str]) -> None:
    """Print what agrees and what does not."""
    names = [n for n in names if n not in ("--names", "--all")]
    if names == ["--missing"]:
        print("\n".join(sorted({op.name for op in OPERATORS} - {op.name for op in HERE})))
        return
    wanted = [op for op in OPERATORS if not names or op.name in names or label(op) in names]
    for op in wanted:
        started = time.perf_counter()
        if function_of(op) is None:
            print(f"missing  {label(op)}")
            continue
        report = check(op)
        took = time.perf_counter() - started
        good = report.run - len(report.wrong)
        verdict = ("known" if label(op) in KNOWN else "FAIL") if report.wrong else "ok"
        print(f"{verdict:8} {label(op)}: {good} of {report.run}, {report.left} left out, {took:.1f} s", flush=True)
        for line in report.wrong[: 12 if names else 1]:
            print(f"         {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
