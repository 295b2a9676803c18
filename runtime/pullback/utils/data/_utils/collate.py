"""How samples become a batch; see pullback.runtime.utils.collate."""

from pullback import _of_utils as _loaded  # noqa: F401
from pullback.runtime.utils.collate import default_collate as default_collate
from pullback.runtime.utils.collate import default_convert as default_convert
