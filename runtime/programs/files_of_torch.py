"""Modules that are files of PyTorch's and none of ours: where their names are, or why they are refused."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from sys import modules
from types import ModuleType
from typing import Any

from .reasons import DEVICE, EXPORT, FETCHED, GRAPHS, INSIDE, MANY, MASKED, MEASURED, QUANTISED, SCRIPT, SPARSE

HANDED_ON = {
    "": "_tensor functional return_types torch_version",
    "_dynamo": "eval_frame",
    "amp": "autocast_mode grad_scaler",
    "autograd": "anomaly_mode gradcheck profiler_legacy profiler_util",
    "cuda": "comm graphs memory nccl nvtx random streams",
    "cuda.amp": "autocast_mode common grad_scaler",
    "distributed": "constants distributed_c10d device_mesh rendezvous utils",
    "distributed.nn": "functional",
    "distributions": "cauchy chi2 continuous_bernoulli exp_family fishersnedecor generalized_pareto geometric gumbel"
    " half_cauchy half_normal inverse_gamma kumaraswamy lkj_cholesky log_normal logistic_normal"
    " lowrank_multivariate_normal multinomial negative_binomial pareto relaxed_bernoulli relaxed_categorical studentT"
    " von_mises weibull wishart",
    "fx": "graph graph_module interpreter node proxy subgraph_rewriter",
    "jit": "annotations frontend",
    "nn.parallel": "comm parallel_apply replicate scatter_gather",
    "onnx": "errors operators symbolic_helper utils verification",
    "optim": "sparse_adam",
    "profiler": "profiler",
}
"""By the package whose names they have."""

FUNCTIONS = {"nn.parallel": "parallel_apply replicate"}
"""Those whose names functions of the package have, which are found instead where nothing is imported."""

SOURCES = {
    "torch_version": "pullback.runtime.programs.version",
}
"""The few whose names are not their package's."""

NESTED = "tensors have one shape each; nn.utils.rnn.pad_sequence and masks serve sequences of several lengths"
COMPILED = "nothing in C++ or CUDA is compiled or loaded; pullback.external takes functions of other libraries"

REFUSED: dict[str, str] = {
    QUANTISED: "ao quantization nn.intrinsic nn.qat nn.quantizable nn.quantized",
    EXPORT: "export package utils.mobile_optimizer utils.bundled_inputs utils.model_dump",
    FETCHED: "utils.model_zoo",
    NESTED: "nested",
    MASKED: "masked.maskedtensor",
    COMPILED: "utils.cpp_extension utils.hipify",
    GRAPHS: "fx.passes fx.traceback _inductor",
    DEVICE: "mtia backends.miopen backends.xnnpack backends.quantized",
    MANY: "distributed.algorithms distributed.checkpoint distributed.elastic distributed.fsdp distributed.optim"
    " distributed.pipelining distributed.rpc distributed.tensor distributed._tensor distributed._composable",
    SPARSE: "sparse.semi_structured",
    SCRIPT: "jit.mobile",
    MEASURED: "monitor utils.benchmark utils.flop_counter profiler.itt",
    INSIDE: "nn.attention.flex_attention nn.attention.bias utils._python_dispatch",
}
"""Reasons, and the modules which are refused for them with all that is within."""

_REASONS = {module: reason for reason, modules in REFUSED.items() for module in modules.split()}


def refused_module(name: str) -> str | None:
    """Why a module `torch.…` is refused; None if it is not."""
    parts = name.split(".")[1:]
    return next((_REASONS[m] for k in range(len(parts)) if (m := ".".join(parts[: k + 1])) in _REASONS), None)


class _HandedOn(ModuleType):
    """A module all of whose names are those of another: of the package that it stands in, mostly."""

    def __init__(self, name: str, source: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._source), name)


@cache
def handed_on(path: str, package: str) -> ModuleType:
    """The module `torch.path` whose names a package has."""
    return _HandedOn(f"torch.{path}", SOURCES.get(path, package))


def file_within(module: str, name: str) -> ModuleType | None:
    """A file of a package that nobody has imported: PyTorch imports its own with their package, so that programs find
    `torch.distributions.normal` there."""
    inner = module.removeprefix("torch")
    ours = f"{__name__.partition('.')[0]}{inner}"
    if name in FUNCTIONS.get(inner.removeprefix("."), "").split():
        return None
    if name in HANDED_ON.get(inner.removeprefix("."), "").split():
        return handed_on(f"{inner}.{name}".removeprefix("."), ours)
    held = modules.get(ours)
    if not inner or name.startswith("_") or held is None or "__path__" not in vars(held):  # which is no package
        return None
    if importlib.util.find_spec(f"{ours}.{name}") is None:
        return None
    return importlib.import_module(f"{ours}.{name}")
