"""What programs reach for in PyTorch's files beside what is public: each does there what it does in PyTorch."""

# pyright: reportCallIssue=false, reportAttributeAccessIssue=false, reportPrivateUsage=false

from typing import Any

import pytest

import pullback as torch
from pullback import _C, _utils
from pullback.nn import init, parameter
from pullback.nn.modules import batchnorm, conv, lazy, module, pooling, rnn, transformer
from pullback.optim import optimizer
from pullback.utils.data._utils.collate import default_collate

nn, F = torch.nn, torch.nn.functional


def test_first_values() -> None:
    w = torch.empty(4, 3, 2)
    assert init._calculate_fan_in_and_fan_out(w) == (6, 8)
    assert init._calculate_correct_fan(w, "FAN_OUT") == 8
    with pytest.raises(ValueError, match="fan_avg"):
        init._calculate_correct_fan(w, "fan_avg")
    torch.manual_seed(0)
    made = init._no_grad_uniform_(torch.empty(5), -1.0, 1.0)
    torch.manual_seed(0)
    assert torch.equal(made, init.uniform_(torch.empty(5), -1.0, 1.0))
    assert init._no_grad_fill_(w, 2.0) is w and init._no_grad_zero_(w).sum() == 0


def test_classes_and_functions_of_layers() -> None:
    assert isinstance(nn.InstanceNorm2d(1), batchnorm._NormBase)
    assert isinstance(nn.ConvTranspose2d(1, 1, 1), conv._ConvTransposeNd)
    assert not isinstance(nn.Conv2d(1, 1, 1), conv._ConvTransposeNd)
    assert isinstance(nn.MaxPool1d(2), pooling._MaxPoolNd) and isinstance(nn.AvgPool2d(2), pooling._AvgPoolNd)
    assert isinstance(nn.LazyLinear(2), lazy.LazyModuleMixin)
    assert isinstance(nn.LazyLinear(2).weight, parameter.UninitializedParameter)
    assert module._addindent("a\nb\nc", 2) == "a\n  b\n  c"
    found = nn.Linear(1, 1).load_state_dict({}, strict=False)
    assert isinstance(found, module._IncompatibleKeys) and found.missing_keys == ["weight", "bias"]
    copies = transformer._get_clones(nn.Linear(2, 2), 3)
    assert len(copies) == 3 and copies[0] is not copies[1]
    assert transformer._get_activation_fn("gelu") is F.gelu
    mask = transformer._generate_square_subsequent_mask(2)
    assert mask.tolist() == [[0, -torch.inf], [0, 0]]
    assert rnn.apply_permutation(torch.tensor([[1, 2]]), torch.tensor([1, 0])).tolist() == [[2, 1]]


def test_optimisers_of_others() -> None:
    class Descent(torch.optim.Optimizer):
        def __init__(self, params: Any, differentiable: bool = False) -> None:
            super().__init__(params, {"lr": 0.5, "differentiable": differentiable})
            self.kept = None

        @optimizer._use_grad_for_differentiable
        def step(self) -> Any:
            self.kept = torch.is_grad_enabled()
            for p in self.param_groups[0]["params"]:
                if not self.kept:
                    p.add_(p.grad, alpha=-self.param_groups[0]["lr"])
            return optimizer._get_value(p.sum())

    p = nn.Parameter(torch.ones(2))
    (p * p).sum().backward()
    assert Descent([p]).step() == 0.0
    other = Descent([p], differentiable=True)
    other.step()
    assert other.kept and torch.is_grad_enabled()
    assert optimizer._get_value(3) == 3 and optimizer._default_to_fused_or_foreach([p], False) == (False, False)
    lists = [[torch.ones(2, dtype=torch.complex64), p], [torch.zeros(2, dtype=torch.complex64), p]]
    optimizer._view_as_real(*lists)
    assert lists[0][0].tolist() == [[1, 0], [1, 0]] and lists[1][0].shape == (2, 2) and lists[1][1] is p


def test_lists_of_tensors_as_one() -> None:
    parts = [torch.arange(4.0).reshape(2, 2), torch.tensor(7.0), torch.empty(0)]
    flat = _utils._flatten_dense_tensors(parts)
    assert flat.tolist() == [0, 1, 2, 3, 7]
    again = _utils._unflatten_dense_tensors(flat * 2, parts)
    assert [t.tolist() for t in again] == [[[0, 2], [4, 6]], 14, []]
    one = torch.ones(2)
    _utils._flatten_dense_tensors([one])[0] = 5.0
    assert one.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="at least one"):
        _utils._flatten_dense_tensors([])
    assert list(_utils._accumulate([1, 2, 3])) == [1, 3, 6]
    taken = list(_utils._take_tensors([torch.ones(2), torch.ones(2).double(), torch.ones(1), torch.ones(1)], 12))
    assert [[len(t) for t in held] for held in taken] == [[2, 1], [1], [2]]
    assert default_collate([torch.ones(2), torch.zeros(2)]).shape == (2, 2)


def test_the_compiled_part() -> None:
    _C._set_grad_enabled(False)
    try:
        assert not torch.is_grad_enabled()
    finally:
        _C._set_grad_enabled(True)
    assert isinstance(torch.float32, _C.dtype) and isinstance(torch.ones(2).shape, _C.Size)
    with pytest.raises(TypeError, match="TorchScript"):
        _C.Value()
    torch._assert(True, "no")
    with pytest.raises(AssertionError, match="too wide"):
        torch._assert(False, "too wide")


def test_the_device_that_is_not_there() -> None:
    assert not torch.cuda._initialized and not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    with pytest.raises(TypeError, match=r"torch\.cuda\.LongTensor not available"):
        torch.cuda.LongTensor([1])
    assert issubclass(torch.cuda.OutOfMemoryError, RuntimeError)
    with torch.backends.cudnn.flags(enabled=False), torch.backends.mkldnn.flags(enabled=False):
        rnn, x = nn.GRU(2, 3), torch.randn(4, 1, 2, requires_grad=True)
        (g,) = torch.autograd.grad(rnn(x)[0].sum(), x, create_graph=True)
        g.pow(2).sum().backward()
        assert x.grad.abs().sum() > 0
    with torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert torch.backends.cuda.matmul is not None


def test_numbers_that_are_tensors() -> None:
    hot = F.one_hot(torch.tensor([0, 2]), torch.tensor(3))
    assert hot.tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(TypeError, match="num_classes"):
        F.one_hot(torch.tensor([0, 2]), 3.5)
    torch.manual_seed(0)
    known = torch.randint(0, 5, (4,))
    torch.manual_seed(0)
    assert torch.equal(torch.randint_like(known, high=5), known)
    with pytest.raises(TypeError, match="high"):
        torch.randint_like(known)


@pytest.mark.parametrize("bounds", [(0, 0, -1, 2), (1, 1, None, 2), (-1, -2, 9223372036854775807), (0,)])
def test_slices(bounds: tuple[Any, ...]) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    dim, rest = bounds[0], bounds[1:]
    got = torch.ops.aten.slice(x, dim, *rest)
    wanted = x[slice(*rest)] if dim == 0 and rest else x[:, slice(*rest)] if rest else x
    assert torch.equal(got, wanted)
