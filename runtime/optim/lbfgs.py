"""L-BFGS (Nocedal, 1980): Newton's direction by the differences of the last gradients, and a search along it.

The search looks for a step after which the loss has fallen enough and its slope has flattened enough, which are
Wolfe's strong conditions, as in Nocedal and Wright's algorithms 3.5 and 3.6, by cubic interpolation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tensor.reverse.modes import enable_grad, no_grad
from ..tensor.value.cells import cell_of
from ..tensor.value.core import Core, wrap
from ..tensor.value.writing import assign
from .optimizer import Optimizer, not_negative, plain

FALL, FLATTEN = 1e-4, 0.9
"""The shares of the first slope by which the loss must fall, and to which the slope must flatten."""


@dataclass(frozen=True)
class Point:
    """A point of a search: the step, the loss, its gradient, and its slope along the direction."""

    t: Any
    loss: float
    gradient: np.ndarray
    slope: Any


def lowest(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The step, within bounds, at which the cubic through two points and their slopes is least."""
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    first = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = first**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root = np.sqrt(square)
    left, right = (a, b) if a.t <= b.t else (b, a)
    share = (right.slope + root - first) / (right.slope - left.slope + 2 * root)
    return min(max(right.t - (right.t - left.t) * share, low), high)


def search(look: Callable[[Any], Point], start: Point, t: Any, most: int, size: Any, tolerance: float) -> Any:
    """A point that meets the conditions, or the best found, and how many points were looked at.

    `look` evaluates the loss at a step; `size` is that of the direction's largest element.
    """

    def fell(p: Point) -> bool:
        return not p.loss > start.loss + FALL * p.t * start.slope

    def flat(p: Point) -> bool:
        return abs(p.slope) <= -FLATTEN * start.slope

    before, here, rounds = start, look(t), 0
    while rounds < most:  # until two points have one that meets the conditions between them
        if not fell(here) or (rounds > 1 and here.loss >= before.loss):
            break
        if flat(here):
            return here, rounds + 1
        if here.slope >= 0:
            break
        t = lowest(before, here, (here.t + 0.01 * (here.t - before.t), here.t * 10))
        before, here, rounds = here, look(t), rounds + 1
    ends = [before if rounds < most else start, here]
    low = 0 if ends[0].loss <= ends[1].loss else 1
    stuck = False
    while rounds < most and not abs(ends[1].t - ends[0].t) * size < tolerance:
        t, stuck = _inside(ends, stuck)
        here, rounds = look(t), rounds + 1
        if not fell(here) or here.loss >= ends[low].loss:
            ends[1 - low] = here
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        if flat(here):
            return here, rounds + 1
        if here.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = here
    return ends[low], rounds + 1


def _inside(ends: list[Point], stuck: bool) -> tuple[Any, bool]:
    """The next step to look at, and whether it is near an end; a second such step is moved a tenth inwards."""
    t = lowest(ends[0], ends[1])
    left, right = min(p.t for p in ends), max(p.t for p in ends)
    margin = 0.1 * (right - left)
    if not min(right - t, t - left) < margin:
        return t, False
    if stuck or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True


def _flat(array: np.ndarray) -> np.ndarray:
    """All elements in one row; complex ones are two each."""
    row = np.ascontiguousarray(array).ravel()
    return row.view(np.real(row).dtype) if np.iscomplexobj(row) else row


class LBFGS(Optimizer):
    """Minimise by `step(closure)`, which evaluates the loss many times.  There is one group of parameters."""

    scalars = ()

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        not_negative(lr=lr)
        settings = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    # ---- parameters as one vector

    @property
    def _params(self) -> list[Any]:
        """The parameters."""
        return self.param_groups[0]["params"]

    def _numel(self) -> int:
        """How many elements they have, complex ones twice."""
        return sum(p.numel() * (1 + p.is_complex()) for p in self._params)

    def _gradient(self) -> np.ndarray:
        parts = []
        for p in self.param_groups[0]["params"]:
            array = p._array()
            parts.append(_flat(np.zeros(array.shape, array.dtype) if p._grad is None else p._grad._array()))
        return np.concatenate(parts)

    def _place(self, starts: list[np.ndarray], t: Any, direction: np.ndarray) -> None:
        """Put the parameters where a step leads from `starts`."""
        first = 0
        for p, start in zip(self.param_groups[0]["params"], starts, strict=True):
            flat = _flat(start)
            part = direction[first : first + flat.size]
            moved = np.ascontiguousarray(flat + t * part, flat.dtype)
            assign(p, cell_of(moved.view(start.dtype).reshape(start.shape)))
            first += flat.size

    # ---- the step

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Minimise for up to `max_iter` directions; `closure` forgets the gradients, computes the loss and pulls back.

        Returns the first loss.
        """
        with no_grad():
            return self._minimise(enable_grad()(closure), self.param_groups[0])

    def _minimise(self, closure: Callable[[], Any], group: dict[str, Any]) -> Any:
        params = group["params"]
        state = self.state[params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        memory = _Memory(state, group["history_size"])
        first = closure()
        loss, gradient, evaluated = float(first), self._gradient(), 1
        state["func_evals"] += 1
        if np.abs(gradient).max() <= group["tolerance_grad"]:
            return first
        for turn in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            rate = plain(group["lr"])
            if state["n_iter"] == 1:
                memory.forget(gradient)
                t = min(1.0, 1.0 / np.abs(gradient).sum()) * rate
            else:
                memory.learn(gradient)
                t = rate
            memory.gradient, memory.loss, memory.t = gradient, loss, t
            direction, before = memory.direction, loss
            slope = gradient @ direction
            if slope > -group["tolerance_change"]:
                break
            last = turn == group["max_iter"]
            loss, gradient, t, more = self._walk(closure, group, loss, gradient, t, slope, direction, evaluated, last)
            memory.t, evaluated = t, evaluated + more
            state["func_evals"] += more
            if last or evaluated >= group["max_eval"] or np.abs(gradient).max() <= group["tolerance_grad"]:
                break
            change = group["tolerance_change"]
            if np.abs(direction * t).max() <= change or abs(loss - before) < change:
                break
        memory.save(state)
        return first

    def _walk(
        self,
        closure: Callable[[], Any],
        group: dict[str, Any],
        loss: float,
        gradient: np.ndarray,
        t: Any,
        slope: Any,
        direction: np.ndarray,
        evaluated: int,
        last: bool,
    ) -> tuple[float, np.ndarray, Any, int]:
        """Go along a direction: the loss and gradient there, the step, and how often the loss was evaluated."""
        starts = [p._array() for p in group["params"]]
        if group["line_search_fn"] is None:
            self._place(starts, t, direction)
            if last:  # nobody would look at the loss
                return loss, gradient, t, 0
            return float(closure()), self._gradient(), t, 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError(f"only 'strong_wolfe' is supported, got line_search_fn={group['line_search_fn']!r}")

        def look(t: Any) -> Point:
            self._place(starts, t, direction)
            loss = float(closure())
            gradient = self._gradient()
            return Point(t, loss, gradient, gradient @ direction)

        start = Point(0, loss, gradient, slope)
        most, size = group["max_eval"] - evaluated, np.abs(direction).max()
        found, count = search(look, start, t, most, size, group["tolerance_change"])
        self._place(starts, found.t, direction)
        return found.loss, found.gradient, found.t, count


class _Memory:
    """What is known of the curvature: differences of gradients and of parameters, the inverses of their products."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.size = size
        self.turned, self.moved, self.inverse = (_arrays(state.get(k, [])) for k in ("old_dirs", "old_stps", "ro"))
        self.scale, self.direction = _array(state.get("H_diag", 1)), _array(state.get("d"))
        self.gradient: Any = _array(state.get("prev_flat_grad"))
        self.shares = _arrays(state["al"]) if "al" in state else None
        self.loss: Any = state.get("prev_loss")
        self.t: Any = _array(state.get("t"))

    def forget(self, gradient: np.ndarray) -> None:
        """Begin with the direction of steepest descent."""
        self.turned, self.moved, self.inverse, self.scale, self.direction = [], [], [], 1, -gradient

    def learn(self, gradient: np.ndarray) -> None:
        """Note what the last step has shown, and find the next direction by the two loops over the memory."""
        turned, moved = gradient - self.gradient, self.direction * self.t
        product = turned @ moved
        if product > 1e-10:
            if len(self.turned) == self.size:
                for kept in (self.turned, self.moved, self.inverse):
                    kept.pop(0)
            self.turned.append(turned)
            self.moved.append(moved)
            self.inverse.append(1.0 / product)
            self.scale = product / (turned @ turned)
        d, shares = -gradient, []
        for y, s, r in zip(reversed(self.turned), reversed(self.moved), reversed(self.inverse), strict=True):
            shares.append((s @ d) * r)
            d = d - shares[-1] * y
        kept = self.shares or [None] * self.size
        self.shares = [*reversed(shares), *kept[len(shares) :]]
        d = d * self.scale
        for y, s, r, share in zip(self.turned, self.moved, self.inverse, reversed(shares), strict=True):
            d = d + (share - (y @ d) * r) * s
        self.direction = d

    def save(self, state: dict[str, Any]) -> None:
        if self.shares is not None:
            state["al"] = [_tensor(a) for a in self.shares]
        state.update(d=_tensor(self.direction), t=_tensor(self.t))
        for name, arrays in (("old_dirs", self.turned), ("old_stps", self.moved), ("ro", self.inverse)):
            state[name] = [_tensor(a) for a in arrays]
        state.update(H_diag=_tensor(self.scale), prev_flat_grad=_tensor(self.gradient), prev_loss=self.loss)


def _array(value: Any) -> Any:
    return value._array()[()] if isinstance(value, Core) else value


def _arrays(values: list[Any]) -> list[Any]:
    return [_array(v) for v in values]


def _tensor(value: Any) -> Any:
    return wrap(cell_of(np.asarray(value))) if isinstance(value, (np.ndarray, np.generic)) else value


__all__ = ["LBFGS"]
