"""Optimisers as functions of lists: parameters, gradients and what is remembered in, their new values written to them.

    adam(params, grads, exp_avgs, exp_avg_sqs, [], steps, amsgrad=False, beta1=0.9, beta2=0.999, lr=1e-3,
         weight_decay=0.0, eps=1e-8, maximize=False)

They have the parameters of PyTorch's, by place and by name; the numbers of steps are counted up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from ..tensor.reverse.modes import no_grad
from ..tensor.value.core import Core
from .adam import Adam, AdamW
from .adaptive import Adadelta, Adagrad, RMSprop
from .averaged import ASGD, Rprop
from .moments import Adamax, NAdam, RAdam
from .optimizer import Optimizer
from .sgd import SGD

DEFAULTS = {"foreach": None, "fused": None, "grad_scale": None, "found_inf": None}
"""Options whose default is not False."""

PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}
"""Settings of groups that are two arguments here."""

COUNTED = ("step", "mu_product", "mu", "eta")
"""What the states of our optimisers hold as numbers, and these lists as tensors."""


def _signature(lists: Sequence[str], options: Sequence[str], settings: Sequence[str]) -> Signature:
    places = [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in lists]
    places += [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD, default=DEFAULTS.get(n, False)) for n in options]
    return Signature([*places, *[Parameter(n, Parameter.KEYWORD_ONLY) for n in settings]])


def _number(key: str, held: Any) -> Any:
    """What a list holds, as a state has it."""
    if key == "step":
        return int(held)
    if key not in COUNTED:
        return held
    number = held.item() if isinstance(held, Core) else held  # type: ignore[attr-defined]
    wide = isinstance(held, Core) and held._kind_of().dtype == "f64"
    return (np.float64 if wide else np.float32)(number)


def _keep(held: list[Any], k: int, value: Any) -> None:
    """Put what a state has after the step into its list."""
    if isinstance(held[k], Core) and not isinstance(value, Core):
        held[k].fill_(float(value))  # type: ignore[attr-defined]
    else:
        held[k] = value


def _function(
    cls: type[Optimizer], name: str, lists: str, options: str, settings: str, fixed: Any = ()
) -> Callable[..., None]:
    """The function of an optimiser's class; `lists` are pairs of a parameter and the name of what its state holds."""
    keys = dict(pair.split("=") for pair in lists.split())
    grads_name = "d_p_list" if cls is SGD else "grads"
    signature = _signature(["params", grads_name, *keys], options.split(), settings.split())

    def step(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        if given.get("grad_scale") is not None or given.get("found_inf") is not None:
            raise NotImplementedError(f"{name}(grad_scale=, found_inf=): scale gradients by amp.GradScaler instead")
        _step(cls, dict(given), keys, grads_name, dict(fixed))

    step.__name__ = step.__qualname__ = name
    step.__doc__ = f"One step of {cls.__name__} for lists of parameters, gradients and what is remembered of each."
    step.__signature__ = signature  # type: ignore[attr-defined]
    return step


def _step(cls: type[Optimizer], given: dict[str, Any], keys: dict[str, str], grads_name: str, fixed: Any) -> None:
    params, grads = list(given["params"]), list(given[grads_name])
    optimizer: Any = object.__new__(cls)
    group = {"maximize": False, "weight_decay": 0.0, "lr": 0.0, **given, **fixed}
    group |= {both: (given[a], given[b]) for both, (a, b) in PAIRS.items() if a in given}
    optimizer.state, optimizer.param_groups, optimizer._undo = defaultdict(dict), [group], []
    optimizer.given = {id(p): g for p, g in zip(params, grads, strict=True)}
    for k, p in enumerate(params):
        held = {key: given[n][k] for n, key in keys.items() if k < len(given[n])}
        optimizer.state[p] = {"step": 0} | {key: _number(key, value) for key, value in held.items()}
    with no_grad():
        optimizer._step(group, params, grads)
        for k, p in enumerate(params):
            state = optimizer.state[p]
            for n, key in keys.items():
                if k < len(given[n]):
                    _keep(given[n], k, state[key])


MOMENTS = "exp_avgs=exp_avg exp_avg_sqs=exp_avg_sq"
SCALED = "foreach capturable differentiable fused grad_scale found_inf has_complex"
ADAM = f"{MOMENTS} max_exp_avg_sqs=max_exp_avg_sq state_steps=step"

adam = _function(
    Adam, "adam", ADAM, f"{SCALED} decoupled_weight_decay", "amsgrad beta1 beta2 lr weight_decay eps maximize"
)
adamw = _function(
    AdamW, "adamw", ADAM, SCALED, "amsgrad beta1 beta2 lr weight_decay eps maximize", {"decoupled_weight_decay": True}
)
sgd = _function(
    SGD, "sgd", "momentum_buffer_list=momentum_buffer", "has_sparse_grad foreach fused grad_scale found_inf",
    "weight_decay momentum lr dampening nesterov maximize",
)  # fmt: skip
adagrad = _function(
    Adagrad, "adagrad", "state_sums=sum state_steps=step",
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)  # fmt: skip
rmsprop = _function(
    RMSprop, "rmsprop",
    "square_avgs=square_avg grad_avgs=grad_avg momentum_buffer_list=momentum_buffer state_steps=step",
    "foreach maximize differentiable capturable has_complex", "lr alpha eps weight_decay momentum centered",
)  # fmt: skip
adadelta = _function(
    Adadelta, "adadelta", "square_avgs=square_avg acc_deltas=acc_delta state_steps=step",
    "capturable foreach differentiable has_complex", "lr rho eps weight_decay maximize",
)  # fmt: skip
adamax = _function(
    Adamax, "adamax", "exp_avgs=exp_avg exp_infs=exp_inf state_steps=step",
    "foreach maximize differentiable capturable has_complex", "eps beta1 beta2 lr weight_decay",
)  # fmt: skip
nadam = _function(
    NAdam, "nadam", f"{MOMENTS} mu_products=mu_product state_steps=step",
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)  # fmt: skip
radam = _function(
    RAdam, "radam", f"{MOMENTS} state_steps=step",
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize", "beta1 beta2 lr weight_decay eps",
)  # fmt: skip
rprop = _function(
    Rprop, "rprop", "prevs=prev step_sizes=step_size state_steps=step",
    "foreach capturable maximize differentiable has_complex", "step_size_min step_size_max etaminus etaplus",
)  # fmt: skip
asgd = _function(
    ASGD, "asgd", "axs=ax mus=mu etas=eta state_steps=step",
    "foreach maximize differentiable capturable has_complex", "lambd lr t0 alpha weight_decay",
)  # fmt: skip

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd",
]  # fmt: skip
