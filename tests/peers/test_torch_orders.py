"""Results in the order of memory that PyTorch's have: strides, and which random number is where."""

from __future__ import annotations

import pytest
import torch

import pullback

PARTS = {
    "transposed": lambda t: t.arange(72.0).reshape(8, 9).t(),
    "permuted": lambda t: t.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
    "every second": lambda t: t.arange(24.0).reshape(2, 3, 4)[:, :, ::2].transpose(0, 2),
    "some rows": lambda t: t.arange(24.0).reshape(2, 3, 4)[:, :2].permute(1, 2, 0),
    "spread": lambda t: t.ones(4).expand(3, 4),
    "spread within": lambda t: t.ones(2, 1, 3).expand(2, 5, 3).transpose(0, 2),
    "windows": lambda t: t.arange(6.0).unfold(0, 3, 1),
    "windows turned": lambda t: t.arange(6.0).unfold(0, 3, 1).t(),
    "one": lambda t: t.ones(2, 1, 3).transpose(0, 2),
    "channels last": lambda t: t.ones(2, 3, 4, 5).to(memory_format=t.channels_last),
    "rows": lambda t: t.ones(2, 3),
    "a number": lambda t: t.ones(()),
}

MAKERS = {
    "zeros": lambda t, x, **how: t.zeros_like(x, **how),
    "ones": lambda t, x, **how: t.ones_like(x, **how),
    "empty": lambda t, x, **how: t.empty_like(x, **how).fill_(3),
    "full": lambda t, x, **how: t.full_like(x, 2.0, **how),
    "rand": lambda t, x, **how: t.rand_like(x, **how),
    "randn": lambda t, x, **how: t.randn_like(x, **how),
    "randint": lambda t, x, **how: t.randint_like(x, 100, **how),
    "dropout": lambda t, x, **how: t.nn.functional.dropout(x),
}


def laid(t, x):
    """Steps along axes of more than one element, for others have none that mean something."""
    return [s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1], x.is_contiguous(), x.tolist()


@pytest.mark.parametrize("maker", list(MAKERS))
@pytest.mark.parametrize("part", list(PARTS))
def test_what_is_made_like_a_part_lies_as_it(part, maker):
    found = []
    for t in (torch, pullback):
        t.manual_seed(5)
        x = PARTS[part](t)
        hows = [{}, {"memory_format": t.contiguous_format}, {"memory_format": t.preserve_format}, {"dtype": t.float64}]
        if x.dim() == 4:
            hows.append({"memory_format": t.channels_last})
        made = [MAKERS[maker](t, x, **how) for how in hows]
        found.append([laid(t, y)[2:] if maker == "dropout" else laid(t, y) for y in made])
    assert found[0] == found[1]


def test_a_tensor_in_another_order_can_be_written_to_and_be_a_leaf():
    for t in (torch, pullback):
        x = t.ones(2, 3).t()
        z = t.zeros_like(x, requires_grad=True)
        (z * 2).sum().backward()
        assert z.is_leaf and z.grad.tolist() == [[2.0, 2.0]] * 3
        y = t.ones_like(x)
        y[0] = 5
        y.add_(1)
        assert y.tolist() == [[6.0, 6.0], [2.0, 2.0], [2.0, 2.0]] and y.t().is_contiguous()
        with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
            t.zeros_like(y, memory_format=t.channels_last)
        made = t.func.vmap(lambda r, t=t: t.ones_like(r.t()) + r.t())(t.zeros(4, 2, 3))
        assert made.tolist() == [[[1.0] * 2] * 3] * 4


@pytest.mark.parametrize("call", ["heaviside", "binomial"])
def test_what_has_no_derivative_in_pytorch_refuses_backward(call):
    for t in (torch, pullback):
        for k in (0, 1):
            given = [t.tensor([1.0]), t.tensor([0.5])]
            given[k].requires_grad_()
            made = getattr(t, call)(*given)
            assert made.requires_grad
            with pytest.raises(RuntimeError, match=f"derivative.*{call} is not implemented"):
                made.sum().backward()


def test_complex_tensors_have_their_bytes_and_dtype():
    for t in (torch, pullback):
        z = t.ones(3, dtype=t.complex64)
        assert z.nbytes == 24 and t.vander(z, 0).dtype is t.complex64 and t.combinations(z, 0).dtype is t.complex64
