"""A tensor's place in the gradient graph: what it requires, its gradient, hooks, and tensors without a past."""

from __future__ import annotations

import warnings
from functools import partial
from sys import getrefcount
from typing import Any
from weakref import ref

from ..calls import repeat  # noqa: F401  # gives tapes what they catch up with
from ..calls.apart import ASKED, apart
from ..calls.calls import recorded
from ..face.operators import Operators
from ..reverse.backward import backward
from ..reverse.hooks import Hook, RemovableHandle, attach
from ..reverse.in_parts import back_in_parts, note_hooks, watch_result
from ..reverse.known_backward import follow_back
from ..reverse.modes import mode, watch
from ..reverse.nodes import AccumulateGrad, Edge, Node
from ..trace import records  # noqa: F401 - gives tapes what they remember
from ..trace.crowd import crowd
from ..trace.locks import visited, wait_for
from ..trace.opened import tape_of
from ..trace.tape import compute, tapes
from ..trace.undo import note
from .aliases import may_wait, replaced, tell_alias, waiting
from .cells import Cell, DualCell, Home
from .core import LOST, NO_GRAD, OWN, Core, requires, wrap
from .memory import has_history, leave, may_change, settle
from .promotion import c_name
from .slots import HISTORY, LEAF, PART, SPECIAL, VIEWED
from .storage import Swapped
from .taken import write_taken_up
from .views import alias
from .writing import check_gradient, check_writable, overwrite_whole

UNREAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be"
    " populated during backward(). If you want it for a non-leaf Tensor, use .retain_grad() on it; if you access it by"
    " mistake, make sure you access the leaf Tensor instead."
)


def _presented(cell: Cell, edge: Edge | None) -> Core:
    """A saved value as a tensor: the leaf itself, if it is one."""
    if edge is None or not isinstance(edge[0], AccumulateGrad):
        return wrap(cell) if edge is None else wrap(cell, *edge)
    leaf = edge[0].variable
    return leaf if leaf._cell is cell else wrap(cell)


Node.present = staticmethod(_presented)


def _still(made: Any) -> Any:
    """A tensor without the tangents of forward mode."""
    while watch.duals and type(made._cell) is DualCell:
        made._cell, made._serial = made._cell.primal, 0
    return made


def _uncounted(x: Any) -> Any:
    return _still(alias(x, counted=False))


_unseen = recorded(_uncounted)
"""The same of what is still to be computed, which makes no nodes where nobody holds the result when the trace ends."""


class History(Operators):
    """The gradient side of a tensor."""

    _write_through, _write_taken_up = overwrite_whole, write_taken_up

    # ---- what it requires

    @property
    def requires_grad(self) -> bool:
        return requires(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        if self._is_late:  # leaves are known
            if requires_grad and self._flags & HISTORY:
                return self
            compute(self._serial)
        if self._flags & PART:
            self._tell()
        self._read()
        if self._node is not None:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a"
                " subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and not self._kind_of().is_float:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self._inference and not mode.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if self._origin == NO_GRAD and requires_grad:
            self._moved()
            self._origin, self._requires = OWN, True
        elif self._requires != bool(requires_grad) and self._origin != LOST:
            tell_alias(self)
            self._moved()
            self._requires = bool(requires_grad)
        if requires_grad and self._counter is not None:  # what saves a leaf must know of each writing to it
            for t in (self, self._base) if self._base is not None else (self,):
                t._version_before, t._counter = t._times_written() - t._shared().version, None
        return self

    def _moved(self) -> None:
        """From now on the tensor is another one to the tape, if it stands there."""
        tape, known = tapes.tape, not (self._is_late or crowd.on)
        stands = not known or tape_of(self._serial) is not None or tape.number_of(self._cell) is not None
        if stands and tape.caught is not tape.state:
            tape.catch_up()
        self._serial = 0

    @property
    def is_leaf(self) -> bool:
        self._read()
        self._check_known()
        return self._node is None

    @property
    def grad_fn(self) -> Node | None:
        self._read()
        self._check_known()
        return self._open()

    @property
    def output_nr(self) -> int:
        return 0 if self._open() is None else self._index

    @property
    def grad(self) -> Any:
        if visited:
            wait_for(tapes.tape)
        if self._grad is None and self._node is not None and not self._retains:
            warnings.warn(UNREAD, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if not isinstance(value, Core):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value)}")
            check_gradient(self._kind_of(), value)
        if visited:
            wait_for(tapes.tape)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def retain_grad(self) -> None:
        """Keep the gradient of this tensor too, though it is no leaf."""
        if not requires(self):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        self._check_known()
        watched = watch_result(self) if has_history(self) else None
        if watched is not None:
            self._retains, watched.retained = True, ref(self)
        elif (node := self._open()) is not None:
            self._retains = True
            node.hooked().retained[self._index] = ref(self)

    @property
    def retains_grad(self) -> bool:
        return self._retains

    # ---- hooks

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(grad)` when the gradient of this tensor is known; what it returns, if anything, replaces it."""
        if not requires(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        self._check_known()
        watched = watch_result(self) if has_history(self) else None
        if watched is not None:
            return attach(watched.hooks, hook)
        node = self._open()
        if node is not None:
            hooks = node.hooked()
            known = hooks.watched.get(self._index)
            return attach(hooks.tensors.setdefault(self._index, {}) if known is None else known.hooks, hook)
        tapes.tape.catch_up()
        if self._hooks is None:
            self._hooks = {}
        handle = attach(self._hooks, hook)
        note_hooks(self, handle)
        return handle

    def register_post_accumulate_grad_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(self)` each time that something has been added to the `grad` of this leaf."""
        if not requires(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        tapes.tape.catch_up()  # no backward that has been called before calls it
        if self._posts is None:
            self._posts = {}
        handle = attach(self._posts, hook)
        note_hooks(self, handle)
        return handle

    # ---- backward

    @partial(recorded, exact=True, ahead=follow_back, parts=back_in_parts)
    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add to the `grad` of the leaves the gradients of this tensor, weighted with `gradient`."""
        wanted = [inputs] if isinstance(inputs, Core) else inputs
        backward([self], [gradient], retain_graph, create_graph, wanted)

    # ---- the same memory without history

    def detach(self) -> Any:
        """The same memory, of which no gradient is known."""
        tape = tapes.tape
        if tape.depth or tape.mode > 1 or self._is_late or self._cell.array is None or crowd.on:
            if tape.mode & ASKED and (made := apart.asked(type(self).detach, (self,), {})) is not NotImplemented:
                return made
            return self._detached()
        settle(self)
        if not tape.count and may_wait(self):
            return waiting(self, counted=True)
        shared = self._storage is not None and tape.number_of(self._cell) is None
        return _still(alias(self)) if shared else self._detached()

    @recorded
    def _detached(self) -> Any:
        return _still(alias(self))

    def detach_(self) -> Any:
        """Forget the history: a leaf that requires no gradient."""
        if not (self._flags & (LEAF | PART | SPECIAL) or has_history(self)) and self._base is None:
            return self
        self._read()
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._moved()
        self._node, self._requires, self._index = None, False, 0
        self._flags &= ~HISTORY
        return self

    @property
    def data(self) -> Any:
        """The same memory, of which no gradient is known; backward reads what is written to it, and counts no write."""
        if self._flags & VIEWED:
            leave(self, tapes.tape)
        if may_wait(self):
            return waiting(self)
        return self._late_alias(self) if self._is_late and not self._flags & (SPECIAL | VIEWED) else _uncounted(self)

    def _late_alias(self, owner: Any) -> Any:
        """The `data` of a tensor that is late, a late view."""
        return _unseen(owner)

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, Core):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        storage = self._storage
        if value is self or value._owner is self:
            return  # `p.data -= x` gives it the memory that it has
        if storage is not None and value._storage is storage and value._path == self._path:
            return
        if requires(self) and not value._kind_of().is_float:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        tape = tapes.tape  # the references are: the caller's, this variable's and the call's, and the tape's
        alone = getrefcount(value) <= 3 + (value._serial == tape.serial)
        if not (alone and may_wait(self) and replaced(self, value, tape)):
            self._be(value)

    def set_(self, source: Any) -> Any:
        """Be the memory of another tensor from now on."""
        if not isinstance(source, Core):
            raise TypeError(f"set_(): argument 'source' must be Tensor, not {type(source).__name__}")
        check_writable(self)
        have, kind = self._kind_of(), source._kind_of()
        if have.dtype != kind.dtype:
            raise RuntimeError(f"Could not set tensor of type {c_name(kind.dtype)} to a tensor of type"
                               f" {c_name(have.dtype)}")
        if self._base is not None or (mode.enabled and (requires(self) or requires(source))):
            raise NotImplementedError("set_(): tensors that are views, or that gradients flow through, stay what they"
                                      " are; give the other tensor a name instead")
        if source is not self:
            self._be(source)
            self._version_before += 1
        return self

    def _be(self, other: Core) -> None:
        """Have the memory of another tensor; who saved this one reads that."""
        tell_alias(self)
        tape, hidden = tapes.tape, self._is_late or has_history(self)
        # by calls that may run again, and would write to what it is from now on; unseen writes are not counted
        written = may_change(self) or not (self._is_late or self._cell.array is not None)
        if hidden or written or self._flags & (PART | SPECIAL) or other._kind_of() is not self._kind_of() or crowd.on:
            self._moved()
        self._serial = 0  # calls of before find what it was then on the tape
        old, count, new = self._read(), self._times_written(), other._read()
        if not tape.count and type(new.home) is Swapped and new.home.tensor() is self and new.home.count == count:
            other._storage.left = tuple([s for s in other._storage.left if s is not new.home])  # type: ignore
            new.home = new.home.before  # it is back where it was, and nobody wrote to it meanwhile
        if hidden:
            tape.blur()  # what is no leaf, backward does not look at again
        note(tape, new, self, "_cell", "_storage", "_steps", "_whole", "_seen", "_version_before")
        note(tape, new, old, "home", "version")
        if old.home is None:
            old.home = Home(self._written) if self._storage is None else self._storage
            old.version = old.home.version
        old.home = swapped = Swapped(old.home, self, count)
        if self._storage is not None:
            self._storage.leave(swapped)  # what was read of it before a writing unseen has another cell
        self._have_memory_of(other)
        self._version_before += count - self._times_written()

    def _times_written(self) -> int:
        """How often it was written to as backward counts that, whichever memory it had then."""
        if self._counter is not None:
            return self._counter.written
        return self._version_before + (self._written if self._storage is None else self._storage.version)

    @property
    def _version(self) -> int:
        self._read()
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._times_written()

    def is_inference(self) -> bool:
        """Whether it was made in an inference mode, so that no backward may read it."""
        return self._inference
