"""Gradients of given tensors; see pullback.runtime.tensor.reverse.autograd."""

from pullback import _autograd as _loaded  # noqa: F401
from pullback.autograd import forward_ad as forward_ad
from pullback.autograd import function as function
from pullback.autograd import functional as functional
from pullback.autograd import grad_mode as grad_mode
from pullback.autograd import graph as graph
from pullback.autograd import profiler as profiler
from pullback.autograd import variable as variable
from pullback.runtime.programs.refused import autograd as __getattr__  # noqa: F401
from pullback.runtime.tensor.reverse.autograd import *  # noqa: F403
from pullback.runtime.tensor.transforms.gradcheck import GradcheckError as GradcheckError
from pullback.runtime.tensor.transforms.gradcheck import gradcheck as gradcheck
from pullback.runtime.tensor.transforms.gradcheck import gradgradcheck as gradgradcheck
