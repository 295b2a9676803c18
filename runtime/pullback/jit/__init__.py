"""The compiler's jit under the name of a module: the function itself, which has TorchScript's names as attributes."""

from sys import modules

from pullback.runtime.programs.scripting import jit

modules[__name__] = jit  # type: ignore[assignment]  # import gives what stands here
