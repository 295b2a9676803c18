"""Things beside the tensors, by PyTorch's names."""

from pullback import _of_utils as _loaded  # noqa: F401
from pullback.runtime.programs.refused import utils as __getattr__  # noqa: F401
from pullback.utils import _pytree as _pytree
from pullback.utils import checkpoint as checkpoint
from pullback.utils import data as data
from pullback.utils import dlpack as dlpack
