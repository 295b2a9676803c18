"""What the comparisons of optimisers and schedulers share."""

import warnings
from typing import Any

import numpy as np

STEPS = 20


def parameters(module: Any, dtype: str) -> list[Any]:
    rng = np.random.default_rng(0)
    made = [module.from_numpy(rng.normal(size=size).astype(dtype)) for size in ((3, 4), (4,), ())]
    return [p.requires_grad_() for p in made]


def error_of(module: Any, text: str) -> str:
    """The class of the error that a line raises."""
    p, q = (module.ones(2, requires_grad=True) for _ in range(2))
    names = {"torch": module, "optim": module.optim, "lr": module.optim.lr_scheduler, "p": p, "q": q}
    names["sgd"] = module.optim.SGD([p], lr=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(text, names)
        except Exception as error:
            return type(error).__name__
    return "no error"
