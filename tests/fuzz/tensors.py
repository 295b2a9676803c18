"""Random programs of Tensors, the same for every module with PyTorch's face, and what can be seen of them.

    lines of t0, t1, ... : operations, views, writes in place, hooks, modes, threads, backward, optimisers, errors
    seen                 what hooks and looks have noted, in order
    rounds of the same   so that what is recorded comes again

Every statement at the outer level ends by itself: with an error of the same class in both, or in none. Where torch
finds that a saved value was written over and we, who did not save that one, don't, the gradient is right all the same,
and the program is compared up to there.
"""

from __future__ import annotations

import ast
import math
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from types import ModuleType
from typing import Any

from tests.fuzz.choices import Choices
from tests.fuzz.compositions import Difference
from tests.semantics import plain

VALUES = (
    "{a} * {b}", "{a} + {b}", "{a}.sin()", "{a} * 2", "{a}.tanh()", "{a}.clone()", "{a} * {a}", "{a}.exp() * 0.1",
    "{a}.sigmoid() + {b}.detach()", "{a} / ({b} * {b} + 2)", "{a}.relu()", "{a}.cumsum(0)", "torch.mm({a}, {b}.t())",
    "torch.where({a} > 0.1, {a}, {b})", "{a}.softmax(-1)", "{a} - {b}.mean()", "torch.cat([{a}, {b}])[:2]",
    "{a}.abs()",
    "{a} * {b}.sum()", "torch.stack([{a}, {a}])[0]", "layer({a}.reshape(-1, 3))", "{a}.sum(0)",
    "{a} * 0.5 + {a}", "{a}.max()",
    "{a}.double() * 2",
    "Cube.apply({a})", "torch.mm({a}, w)", "torch.maximum({a}, {b})", "F.layer_norm({a}, (3,))",
    "F.dropout({a}, 0.5, False)",
)  # fmt: skip
VIEWS = (
    "{a}[0]", "{a}[1:]", "{a}.view(-1)", "{a}.unsqueeze(0)", "{a}.detach()", "{a}.reshape(-1)", "{a}.unbind()[0]",
    "{a}.diagonal()", "{a}[:, 1]", "{a}[..., -1]", "{a}.view(3, 2)", "{a}.flatten()[::2]", "{a}.t()",
    "{a}.expand_as({b})",
    "{a}.narrow(0, 0, 1)", "{a}.data", "{a}.contiguous()", "{a}.view_as({b})", "{a}.split(1)[1]",
)  # fmt: skip
WRITES = (
    "{a}.mul_(2)", "{a}.add_({b})", "{a}.mul_({b})", "{a}.sin_()", "{a}.tanh_()", "{a}.zero_()", "{a}[0] = 0.5",
    "{a}[0] = {b}", "{a}.copy_({b})", "{a}[{a} > 0.5] = 1", "{a} += {b}", "{a}.fill_(0.25)", "{a}.sub_({a})",
    "{a}.div_({b} * {b} + 2)", "{a}[1:].add_({b})", "{a}.sigmoid_()", "{a}.clamp_(-0.6, 0.9)",
    "{a}[torch.tensor([1])] = {b}", "{a}.requires_grad_()", "{a}.exp_()", "{a}.neg_()",
)  # fmt: skip
HOOKS = (
    "hook({a}, lambda g: g * 0.5)", "hook({a}, lambda g: seen.append(g.sum().item()))",
    "{a}.retain_grad()",
    "hook({a}, lambda g: seen.append(None if {c}.grad is None else {c}.grad.sum().item()))",
    "hook({a}, refuse)", "h = hook({a}, lambda g: g * 3)", "h.remove()",
    "{c}.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.sum().item()))",
    "hook({a}, lambda g: (g * {a}.detach()))",
)  # fmt: skip
BACKWARDS = (
    "{a}.sum().backward()", "({a} * {a}).sum().backward(retain_graph=True)", "{a}.sum().backward(retain_graph=True)",
    "({a}.tanh() + {b}).sum().backward()", "{a}.backward(torch.ones_like({a}))", "{a}.mean().backward(inputs=[{c}])",
    "seen.append([None if g is None else g.sum().item() for g in "
    "torch.autograd.grad(({a} * {b}).sum(), [{c}, t1], retain_graph=True, allow_unused=True)])",
    "{n} = torch.autograd.grad(({a} ** 3).sum(), {c}, create_graph=True, allow_unused=True)[0]",
    "torch.autograd.grad({a}.sum(), {c})",
    "torch.autograd.grad({a}.sum(), {c}, is_grads_batched=False, retain_graph=True)",
    "sum(p.sum() for p in [{a}, {b}, {c}]).backward(retain_graph=True)",
)  # fmt: skip
TRAINING = (
    "sgd.step()", "sgd.zero_grad()", "adam.step()", "sgd.zero_grad(set_to_none=False)", "{c}.grad = None",
    "F.mse_loss(layer({a}.reshape(-1, 3)), {b}).backward()", "layer.weight.grad = None",
    "torch.nn.utils.clip_grad_norm_([t0, t1], 0.5)",
    "adam.zero_grad()",
)  # fmt: skip
LOOKS = (
    "seen.append({a}.sum().item())", "seen.append(type({a}.grad_fn).__name__)", "seen.append({a}._version)",
    "seen.append({a}.requires_grad)", "seen.append({a}.is_leaf)", "seen.append({c}.grad is None)",
    "seen.append({a}.tolist())",
    "seen.append(torch.is_grad_enabled())", "seen.append({a}.shape)", "del {a}", "repr({a})",
)  # fmt: skip
ERRORS = (
    "{a} @ torch.ones(7, 7)", "{a}[9]", "{a}.view(17)", "torch.cat([{a}, torch.ones(4, 4, 4)])",
    "{a}.add_(torch.ones(5, 5))",
    "refuse({a})", "{a}.sum().backward(torch.ones(9))",
)  # fmt: skip
MODES = (
    "with torch.no_grad():", "with torch.enable_grad():", "with torch.set_grad_enabled(False):",
    "for k in range(2):", "@threaded", "with torch.no_grad(), torch.enable_grad():", "@threaded",
)  # fmt: skip
KINDS = {
    "value": (VALUES, 34), "view": (VIEWS, 16), "write": (WRITES, 16), "hook": (HOOKS, 7), "backward": (BACKWARDS, 11),
    "train": (TRAINING, 8), "look": (LOOKS, 6), "error": (ERRORS, 2),
}  # fmt: skip


PREFACE = """
t0 = torch.tensor([[0.5, -0.25, 1.5], [0.75, 0.125, -1.0]], requires_grad=True)
t1 = torch.tensor([[0.3, -1.2, 0.7], [-0.4, 0.9, 0.2]], requires_grad=True)
w = torch.tensor([[0.5, 0.1, -0.3], [0.2, -0.6, 0.4], [0.8, 0.3, 0.1]], requires_grad=True)
layer = torch.nn.Linear(3, 3)
with torch.no_grad():
    layer.weight.copy_(w)
    layer.bias.zero_()
sgd = torch.optim.SGD([t0, t1, w], lr=0.1, momentum=0.5)
adam = torch.optim.Adam([t0, layer.weight], lr=0.01)
t2 = t0 * t1
"""


class Writer:
    """The text of a program, which follows the preface."""

    def __init__(self, choices: Choices) -> None:
        self.c, self.count = choices, 2

    def line(self, kinds: Iterable[str] = tuple(KINDS)) -> str:
        """One statement; what is new gets a name."""
        c = self.c
        kind = c.weighted({name: KINDS[name][1] for name in kinds})
        names = [f"t{k}" for k in range(self.count + 1)]
        late = names[-4:] if c.chance(60) else names
        new = f"t{self.count + 1}"
        text = c.pick(*KINDS[kind][0])
        line = text.format(a=c.pick(*late), b=c.pick(*names), c=c.pick("t0", "t1", "w"), n=new)
        if kind in ("value", "view") or "{n}" in text:
            self.count += 1
        return f"{new} = {line}" if kind in ("value", "view") else line

    def statement(self) -> str:
        if not self.c.chance(22):
            return self.line()
        mode = self.c.pick(*MODES)
        kinds = [k for k in KINDS if k != "hook" or mode != "@threaded"]  # torch's own hooks on views crash in threads
        inside = [f"    {self.line(kinds)}" for _ in range(1 + self.c.below(3))]
        if mode == "@threaded":
            names = ", ".join(f"t{k}" for k in range(self.count + 1))
            return "\n".join([mode, "def elsewhere():", f"    global {names}, h", *inside])
        return "\n".join([mode, *inside])

    def program(self) -> str:
        body = [self.statement() for _ in range(3 + self.c.below(9))]
        rounds = self.c.pick(1, 1, 3)
        return "\n".join(body * rounds)


def source(number: int) -> str:
    return Writer(Choices(number)).program()


UNFIT = ("TypeError", "AttributeError")
"""Errors about None where a tensor is expected: what is looked at first differs."""


class Refused(Exception):
    """What hooks of the programs raise."""


def refuse(_: Any) -> None:
    raise Refused


def hook(t: Any, f: Callable[[Any], Any]) -> Any:
    """Register a hook; torch dies at that of a view whose base was written to, until somebody asks for its node."""
    seen = t.grad_fn
    return t.register_hook(f) if seen is None or seen else None


def threaded(f: Callable[[], None], within: Any = nullcontext) -> None:
    """Run a function in a thread of its own, to its end; its error is raised here."""
    errors: list[Exception] = []

    def run() -> None:
        try:
            with within():
                f()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def cube(module: Any) -> Any:
    """A function with a backward of its own."""

    class Cube(module.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    return Cube


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        text = str(error)
        return "overlap" if "single memory" in text else "ambiguous" if "ambiguous" in text else type(error).__name__


def ran(module: Any, text: str, within: Any = nullcontext) -> list[list[Any]]:
    """For each statement how it ended and what was noted; then what is left of every tensor."""
    seen: list[Any] = []
    names: dict[str, Any] = {
        "torch": module, "F": module.nn.functional, "seen": seen, "refuse": refuse, "hook": hook,
        "threaded": partial(threaded, within=within), "Cube": cube(module),
    }  # fmt: skip
    told: list[list[Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with within():
            exec(PREFACE, names)
        for statement in ast.parse(text).body:
            code = compile(ast.Module([statement], []), "<tensors>", "exec")
            before = len(seen)
            with within():
                error = outcome(lambda code=code: exec(code, names))
            told.append([ast.unparse(statement), error, [noted(x) for x in seen[before:]]])
        told.append(["grad mode", outcome(module.is_grad_enabled), []])
        for name in sorted(n for n in names if n == "w" or (n[0] == "t" and n[1:].isdigit())):
            told.append([name, *outcome_of(names[name])])
        layer = names.get("layer")
        if layer is not None:
            told.append(["layer", *outcome_of(layer.weight)])
    module.set_grad_enabled(True)
    return told


def noted(x: Any) -> Any:
    """As plain data; of a module, which a program made small may note, that it is one."""
    if isinstance(x, list):
        return [noted(each) for each in x]
    return plain(x, False) if hasattr(x, "dim") else "a module" if isinstance(x, ModuleType) else x


def outcome_of(t: Any) -> list[Any]:
    return [
        outcome(lambda: [plain(t, True), t._version, t.is_leaf]),
        outcome(lambda: None if t.grad is None else plain(t.grad, False)),
    ]


def plainly(torch: Any) -> Any:
    """A context in which torch means what is written where it means something else because of how it works.

    What is written to is asked for its node before: a view whose base was written to counts as a leaf until then.
    What is read beside is copied if it lies in the same memory: else it depends on the order of the elements, where
    torch does not see the overlap. What is saved is copied, which `data` can write to without backward knowing.
    """

    class Apart(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if args and isinstance(args[0], torch.Tensor) and getattr(function, "__name__", "").endswith("_"):
                written, *rest = args
                _, memory = written.is_leaf, written.untyped_storage().data_ptr()
                args = written, *(
                    a.clone() if isinstance(a, torch.Tensor) and a.untyped_storage().data_ptr() == memory else a
                    for a in rest
                )
            return function(*args, **(kwargs or {}))

    def unpacked(kept: Any) -> Any:
        copy, saved, version = kept
        if saved._version != version:
            raise RuntimeError("modified by an inplace operation")
        return copy

    @contextmanager
    def within() -> Iterator[None]:
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: (t.clone(), t, t._version), unpacked)
        with Apart(), hooks:
            yield

    return within


def examine(ours: Any, theirs: Any, text: str) -> str:
    """The verdict on a program."""
    have = ran(ours, text)
    try:
        return compared(have, ran(theirs, text))
    except Difference:
        with suppress(Difference):
            compared(have, ran(theirs, text, plainly(theirs)))
            return "lenient"
        raise


def compared(have: list[list[Any]], want: list[list[Any]]) -> str:
    """The verdict on what was seen of a program."""
    failed, classes = False, {"overlap": "RuntimeError", "ambiguous": "RuntimeError"}
    for (line, *a), (_, *b) in zip(have, want, strict=True):
        back = "backward" in line or "grad(" in line
        if back and b[0] is not None and (a[0] is None or failed):
            return "lenient"
        failed = failed or (back and b[0] is not None)
        if a == b or (b[0] in UNFIT and isinstance(a[0], str)):
            continue
        if b[0] == "ambiguous" and isinstance(a[0], str):
            continue  # a wrong axis is another error of the same call
        a, refused = [classes.get(x, x) if isinstance(x, str) else x for x in a], b[0] == "overlap"
        if refused and a[0] in (None, "RuntimeError"):
            return "lenient"  # torch refuses some of the copies within a tensor, and others not
        b = [classes.get(x, x) if isinstance(x, str) else x for x in b]
        if failed and isinstance(b[0], list):
            a, b = [a[0], None], [b[0], None]  # how far backward came before its error does not matter
        if failed and not isinstance(b[0], (list, str)) and b[0] is None and a[0] is None:
            return "lenient"
        if not alike(a, b):
            raise Difference(f"{what_differs(a, b)}: at {line!r}: {a}, torch {b}")
    return "equal"


def what_differs(a: Any, b: Any) -> str:
    """A word on it that stays the same while a program is made small."""
    if not isinstance(a[0], list) or not isinstance(b[0], list):
        return "what was noted" if a[0] == b[0] else f"ends with {a[0]} instead of {b[0]}"
    if isinstance(a[0][0], str) or not alike(a[1], b[1]):
        return "gradient"
    if a[0][1:] != b[0][1:]:
        return "version or is_leaf"
    return next((key for key in a[0][0] if not alike(a[0][0][key], b[0][0].get(key))), "keys")


def alike(a: Any, b: Any) -> bool:
    """The same plain data, up to the rounding of f32."""
    if isinstance(a, str) and ("BackwardBackward" in a or a == "ToCopyBackward0"):
        return isinstance(b, str)  # ours are named after what they are the derivative of, or after the last step
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-3 * abs(b) + 1e-3
    return type(a) is type(b) and (a == b or type(a).__name__ == "Size")
