"""`torch.distributed` for one process: a group of one, whose collectives leave tensors as they are.

Programs that may be started on many machines ask first; `init_process_group` is accepted where the launcher or the
program says that there is one process, and refused where it says that there are more.
"""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any

from ...compiler.settings import settings

MISSING = "Default process group has not been initialized, please make sure to call init_process_group."
ALONE = "there is one process; start it once, or use another package for work on many"


class ReduceOp(Enum):
    """How a collective joins the tensors of processes: of one process, all of them give its tensor."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class ProcessGroup:
    """A group of processes, which is this one."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def rank(self) -> int:
        """The number of this process: 0."""
        return 0

    def size(self) -> int:
        """How many there are: 1."""
        return 1


class _World:
    group: ProcessGroup | None = None


class GroupMember:
    """What stands for a group: the one of all, or none."""

    WORLD = None
    NON_GROUP_MEMBER = -100


group = GroupMember


class Work:
    """A collective that runs beside the program: it is done."""

    def wait(self, timeout: Any = None) -> bool:
        """Nothing is left to wait for."""
        return True

    def is_completed(self) -> bool:
        """Yes."""
        return True


default_pg_timeout = timedelta(minutes=30)


def is_available() -> bool:
    """Whether a process group can be made: yes, one of this process."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return _World.group is not None


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process: it is not asked."""
    return False


def is_gloo_available() -> bool:
    """Whether the backend "gloo" is there: a group of one needs none, so its name is accepted."""
    return True


def is_backend_available(backend: str) -> bool:
    """Whether a backend is there: a group of one needs none, so "gloo" is accepted."""
    return backend.lower() == "gloo"


def no_backend() -> bool:
    """Whether this library of communication is there: no."""
    return False


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Make a group of this process. More processes, told here or by the launcher in WORLD_SIZE, are refused."""
    if _World.group is not None:
        raise ValueError("trying to initialize the default process group twice!")
    told_rank, told = settings.launched
    size, number = (told if world_size < 0 else world_size), (told_rank if rank < 0 else rank)
    if size > 1 or number > 0:
        raise NotImplementedError(f"torch.distributed: a group of {size} processes is not supported: {ALONE}")
    _World.group = ProcessGroup(backend or "gloo")
    GroupMember.WORLD = _World.group  # type: ignore[assignment]


def destroy_process_group(group: Any = None) -> None:
    """Forget the group."""
    if _World.group is None:
        raise AssertionError("Process group cannot be None")
    _World.group = GroupMember.WORLD = None


def _group(given: Any = None) -> ProcessGroup:
    if _World.group is None:
        raise ValueError(MISSING)
    return given or _World.group


def get_rank(group: Any = None) -> int:
    """The number of this process in the group: 0."""
    return _group(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many processes the group has: 1."""
    return _group(group).size()


def get_backend(group: Any = None) -> str:
    """The name that `init_process_group` was given."""
    return _group(group)._backend


def new_group(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any) -> ProcessGroup:
    """A group of this process."""
    if ranks is not None and list(ranks) != [0]:
        raise ValueError("the new group's rank should be within the world_size set by `init_process_group`")
    return ProcessGroup(backend or get_backend())


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The numbers of all processes."""
    return [_group(group).rank()]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on this machine: 0."""
    return 0


# ---- collectives of one


def _done(group: Any, async_op: bool) -> Work | None:
    _group(group)
    return Work() if async_op else None


def _own(rank: int | None) -> None:
    if rank not in (0, None):
        raise ValueError(f"Global rank {rank} is not part of group")


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait for all processes, which are this one."""
    return _done(group, async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait for all processes, which are this one."""
    _group(group)


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Join the tensors of all processes: it stays as it is."""
    return _done(group, async_op)


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give every process the tensor of one: it stays as it is."""
    made = _done(group, async_op)
    _own(src if src is not None else group_src)
    return made


def reduce(
    tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Join the tensors of all processes at one: it stays as it is."""
    made = _done(group, async_op)
    _own(dst if dst is not None else group_dst)
    return made


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all processes into those of a list, which has one."""
    made = _done(group, async_op)
    if len(tensor_list) != 1:
        raise ValueError(f"all_gather: expected a list of 1 tensor, one for each process; got {len(tensor_list)}")
    tensor_list[0].copy_(tensor)
    return made


def all_gather_into_tensor(output: Any, input: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all processes into one."""
    made = _done(group, async_op)
    output.copy_(input.reshape(output.shape))
    return made


reduce_scatter_tensor = all_gather_into_tensor


def reduce_scatter(
    output: Any, input_list: list[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write what the processes have for this one, joined, into a tensor."""
    return scatter(output, input_list, 0, group, async_op)


def gather(
    tensor: Any, gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Write the tensors of all processes into those of a list at one of them."""
    _own(dst if dst is not None else group_dst)
    return all_gather(gather_list or [], tensor, group, async_op)


def scatter(
    tensor: Any, scatter_list: list[Any] | None = None, src: int | None = None, group: Any = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Give each process a tensor of a list at one of them."""
    made = _done(group, async_op)
    _own(src if src is not None else group_src)
    if scatter_list is None or len(scatter_list) != 1:
        raise ValueError("expected a list of 1 tensor, one for each process")
    tensor.copy_(scatter_list[0])
    return made


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the objects of all processes into a list."""
    _group(group)
    object_list[0] = obj


def gather_object(obj: Any, object_gather_list: Any = None, dst: int | None = None, group: Any = None) -> None:
    """Put the objects of all processes into a list at one of them."""
    _own(dst)
    all_gather_object(object_gather_list, obj, group)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None
) -> None:
    """Give every process the objects of one: they stay as they are."""
    _group(group)
    _own(src)


is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = no_backend

__all__ = [
    "GroupMember", "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object",
    "all_reduce", "barrier", "broadcast", "broadcast_object_list", "default_pg_timeout", "destroy_process_group",
    "gather", "gather_object", "get_backend", "get_node_local_rank", "get_process_group_ranks", "get_rank",
    "get_world_size", "group", "init_process_group", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "monitored_barrier", "new_group", "reduce", "reduce_scatter", "reduce_scatter_tensor",
    "scatter",
]  # fmt: skip
