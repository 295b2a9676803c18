"""The compiler's jit under the name of a module: the function itself, which has TorchScript's names as attributes."""

# isort: off
from pullback import _jit as _loaded  # noqa: F401
from pullback.runtime.programs.scripting import jit
from sys import modules

modules[__name__] = jit  # type: ignore[assignment]  # import gives what stands here
