"""Elementwise results, views of them and pictures lie as PyTorch's do: steps, and which random number is where."""

from __future__ import annotations

import random

import pytest
import torch

import pullback

BOTH = torch, pullback
PARTS = {
    "transposed": lambda x: x.transpose(1, 2),
    "permuted": lambda x: x.permute(2, 0, 1),
    "spread": lambda x: x[:, :1].expand(2, 5, 4),
    "spread and turned": lambda x: x[:, :1].expand(2, 5, 4).transpose(0, 2),
    "every second": lambda x: x[:, ::2],
}

RESULTS = {
    "sum": lambda t, v: v + 1,
    "chain": lambda t, v: ((v + 1) * 2).transpose(0, 1) - 1,
    "rows first": lambda t, v: t.ones(v.shape) + v,
    "rows last": lambda t, v: v + t.ones(v.shape),
    "broadcast": lambda t, v: t.ones(v.shape[-1]) * v,
    "clone": lambda t, v: v.clone(),
    "in rows": lambda t, v: v.clone(memory_format=t.contiguous_format),
    "contiguous": lambda t, v: (v + 1).contiguous(),
    "turned back": lambda t, v: (v + 1).transpose(0, 1).transpose(0, 1),
    "relu": lambda t, v: t.relu(v),
    "gelu": lambda t, v: t.nn.functional.gelu(v),
    "clamp": lambda t, v: v.clamp(0),
    "dtype": lambda t, v: v.double(),
    "where": lambda t, v: t.where(v > 0, v, 0.0),
    "mask": lambda t, v: v.masked_fill(v > 0, 0.0),
    "normalize": lambda t, v: t.nn.functional.normalize(v + 1, dim=-1),
    "softmax": lambda t, v: (v + 1).softmax(-1),
    "reshape": lambda t, v: (v + 1).reshape(-1),
    "row": lambda t, v: (v + 1)[0] * 2,
    "axis": lambda t, v: (v + 1).unsqueeze(1).squeeze(1) + 1,
    "parts": lambda t, v: (v + 1).unbind(1)[0] * 2,
    "like": lambda t, v: t.rand_like(v + 1),
    "mask of a sum": lambda t, v: t.nn.functional.dropout((v + 1) * 2, 0.3),
    "draw": lambda t, v: (v * 2).bernoulli_(0.5),
    "written": lambda t, v: (v * 2).masked_fill_(v > 0, 1.0).transpose(0, 1).mul_(2),
    "filled": lambda t, v: (v * 2).zero_() + v,
    "copied into rows": lambda t, v: t.ones(v.shape).copy_(v),
    "copied": lambda t, v: (v + 1).copy_(t.ones(v.shape)),
}


def lies(x):
    """Steps along axes of more than one element, for others have none that mean something."""
    return [s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1], x.is_contiguous(), x.tolist()


@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize("result", list(RESULTS))
@pytest.mark.parametrize("part", list(PARTS))
def test_results_lie_as_their_arguments(part, result, requires):
    found = []
    for t in BOTH:
        t.manual_seed(5)
        v = PARTS[part](t.arange(24.0).reshape(2, 3, 4).sub(9).requires_grad_(requires))
        made = [lies(RESULTS[result](t, v)) for _ in range(4)]  # as a call that is new, and as one that is recognised
        found.append(made)
    for theirs, mine in zip(*found, strict=True):
        assert mine[:2] == theirs[:2]
        torch.testing.assert_close(torch.tensor(mine[2]), torch.tensor(theirs[2]))


def test_a_mask_is_drawn_in_the_same_order_whether_or_not_somebody_has_looked():
    found = []
    for t in BOTH:
        for look in (lambda y: None, lambda y: y.sum().item(), lambda y: y[0].tolist(), lambda y: y.numpy().sum()):
            t.manual_seed(3)
            y = t.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1) + 1
            look(y)
            found.append(t.nn.functional.dropout(y).tolist())
    assert all(each == found[0] for each in found)


PICTURES = {
    "conv2d": lambda t, x: t.nn.functional.conv2d(x, t.ones(3, 2, 1, 1)),
    "conv_transpose2d": lambda t, x: t.nn.functional.conv_transpose2d(x, t.ones(2, 3, 1, 1)),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda t, x: t.nn.functional.adaptive_max_pool2d(x, 2),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "running batch_norm": lambda t, x: t.nn.functional.batch_norm(x, t.zeros(2), t.ones(2)),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 1),
    "instance_norm": lambda t, x: t.nn.functional.instance_norm(x),
    "interpolate": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2),
    "bilinear": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1)),
    "cat": lambda t, x: t.cat([x, x], 1),
    "cat of both": lambda t, x: t.cat([x, x.contiguous()], 1),
    "pixel_shuffle": lambda t, x: t.nn.functional.pixel_shuffle(t.cat([x, x], 1), 2),
    "flatten": lambda t, x: x.flatten(1),
    "mean": lambda t, x: x * x.mean((2, 3), keepdim=True),
}


@pytest.mark.parametrize("layer", list(PICTURES))
def test_layers_keep_the_channels_last(layer):
    found = []
    for t in BOTH:
        t.manual_seed(1)
        x = t.arange(96.0).reshape(2, 4, 6, 2).permute(0, 3, 1, 2)
        y = PICTURES[layer](t, x)
        found.append((*lies(y)[:2], (t.nn.functional.dropout(y.relu()) == 0).tolist()))
    assert found[0] == found[1]


def test_what_cannot_be_viewed_is_refused():
    for t in BOTH:
        y = t.ones(2, 3, 4).transpose(1, 2) + 1
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            y.view(-1)
        z = y.reshape(-1)
        z.zero_()
        assert y.sum() == 48 and z.stride() == (1,)  # it is a copy


STEPS = [
    lambda t, x: x.transpose(0, 1), lambda t, x: x.permute(2, 0, 1), lambda t, x: x + 1, lambda t, x: x * x.mean(),
    lambda t, x: x[:, 1:] if x.shape[1] > 1 else x, lambda t, x: x.flip(0), lambda t, x: x + t.ones(x.shape[-1]),
    lambda t, x: t.relu(x), lambda t, x: x.contiguous(), lambda t, x: x.unsqueeze(1).squeeze(1), lambda t, x: x.exp(),
    lambda t, x: x.clone().mul_(2), lambda t, x: t.cat([x, x], 0)[: x.shape[0]], lambda t, x: x - x.softmax(0),
    lambda t, x: x.reshape(x.shape[0], -1).reshape(x.shape) / 2, lambda t, x: x[..., :1].expand(x.shape) + x,
    lambda t, x: t.nn.functional.dropout(x, 0.1), lambda t, x: x.detach().clone(), lambda t, x: x.sum(0) + x,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_lie_as_pytorch_s(seed):
    rng = random.Random(seed)
    steps = [rng.randrange(len(STEPS)) for _ in range(8)]
    looks = [rng.random() < 0.2 for _ in steps]
    found = []
    for t in BOTH:
        t.manual_seed(seed)
        x = t.rand(2, 3, 4, requires_grad=seed % 2 == 0)
        made = []
        for step, look in zip(steps, looks, strict=True):
            x = STEPS[step](t, x)
            if look:
                x.sum().item()
            made.append(lies(x)[:2])
        found.append((made, [float(v) for v in x.flatten()]))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-5)


def test_another_size_is_of_the_elements_in_memory():
    for t in BOTH:
        x = t.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
        assert x.t_().resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
        y = (t.arange(6.0).reshape(2, 3).t() * 2).resize_(2, 2)
        assert y.tolist() == [[0, 2], [4, 6]] and y.stride() == (2, 1)
