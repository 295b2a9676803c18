"""A device that is not there; see pullback.runtime.devices.accelerators."""

from pullback import _cuda as _loaded  # noqa: F401
from pullback.cuda import amp as amp
from pullback.runtime.devices.accelerators import INITIALIZED as _initialized  # noqa: F401
from pullback.runtime.devices.accelerators import (  # noqa: F401
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from pullback.runtime.devices.accelerators import Ignored as device  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as current_device  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as current_stream  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as get_device_capability  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as get_device_name  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as get_device_properties  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as get_rng_state  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as init  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as initial_seed  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as ipc_collect  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as mem_get_info  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as set_device  # noqa: F401
from pullback.runtime.devices.accelerators import lacking as synchronize  # noqa: F401
from pullback.runtime.devices.accelerators import no as is_available  # noqa: F401
from pullback.runtime.devices.accelerators import no as is_bf16_supported  # noqa: F401
from pullback.runtime.devices.accelerators import no as is_initialized  # noqa: F401
from pullback.runtime.devices.accelerators import no_states as get_arch_list  # noqa: F401
from pullback.runtime.devices.accelerators import no_states as get_rng_state_all  # noqa: F401
from pullback.runtime.devices.accelerators import no_statistics as memory_stats  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as empty_cache  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as manual_seed  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as manual_seed_all  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as seed  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as seed_all  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as set_rng_state_all  # noqa: F401
from pullback.runtime.devices.accelerators import zero as device_count  # noqa: F401
from pullback.runtime.devices.accelerators import zero as max_memory_allocated  # noqa: F401
from pullback.runtime.devices.accelerators import zero as max_memory_reserved  # noqa: F401
from pullback.runtime.devices.accelerators import zero as memory_allocated  # noqa: F401
from pullback.runtime.devices.accelerators import zero as memory_reserved  # noqa: F401
from pullback.runtime.programs.inside.settled import OutOfMemoryError as OutOfMemoryError
from pullback.runtime.programs.refused import cuda as __getattr__  # noqa: F401
