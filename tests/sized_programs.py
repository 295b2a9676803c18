"""Programs whose sizes change: a Tensor and a size go in, and a Tensor comes out; and the sizes to try them at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pullback as torch
from pullback.compiler.settings import settings
from pullback.runtime.tensor.calls.forgetting import forget_calls
from pullback.runtime.tensor.trace.fragments.fragment_cache import forget_fragments
from pullback.runtime.tensor.trace.tape import tapes

nn, F = torch.nn, torch.nn.functional
SIZES = (9, 20, 33, 7, 40, 12, 27, 64, 8, 3, 51, 33)


def draw(*shape: int) -> Any:
    return torch.randn(*shape)


def index(count: int, most: int) -> Any:
    return torch.randint(0, most, (count,))


OPERATIONS: dict[str, Callable[[Any, int], Any]] = {
    "elementwise": lambda x, n: (x.exp() + x * 2 - x / 3).tanh().abs().clamp(0.1, 2) ** 1.5,
    "broadcast": lambda x, n: x * draw(6) + draw(n, 1) - draw(1, 6),
    "where": lambda x, n: torch.where(x > 0, x, 0.1 * x).maximum(draw(n, 6)),
    "sum": lambda x, n: x.sum(0) + x.sum(1).mean() + x.mean(0, keepdim=True),
    "moments": lambda x, n: x.var(0) + x.std(1).sum() + x.norm(dim=0),
    "extremes": lambda x, n: x.max(0)[0] + x.amin(1).sum() + x.argmax(1).sum(),
    "softmax": lambda x, n: x.softmax(0) + x.log_softmax(1) + x.logsumexp(0),
    "products": lambda x, n: (x @ draw(6, n)) @ x + (x.t() @ x).sum(),
    "batches": lambda x, n: torch.bmm(x.reshape(1, n, 6), draw(1, 6, n)).baddbmm(draw(1, n, 6), draw(1, 6, n)),
    "einsum": lambda x, n: torch.einsum("ij,jk->ki", x, draw(6, n)),
    "linear": lambda x, n: F.linear(x, draw(4, 6), draw(4)),
    "shapes": lambda x, n: x.reshape(6, n).t().unsqueeze(1).expand(n, 2, 6).flatten(1).view(-1, 3),
    "moved": lambda x, n: x.roll(2, 0) + x.flip(0) + x.t().contiguous().t() + x.movedim(0, 1).movedim(0, 1),
    "parts": lambda x, n: x[1:] * x[:-1] + x[0] - x[:, 2:3][1:] + x[-1] + x[::2][:1],
    "joined": lambda x, n: torch.cat([x, x[:2], x]) [: n + 1] + torch.stack([x, x], 1)[:1, 0],
    "split": lambda x, n: x.split(2, 1)[0] * x.chunk(3, 1)[1] + x.unbind(1)[0].unsqueeze(1),
    "repeated": lambda x, n: x.repeat(2, 1) + x.tile(2, 1) + x.repeat_interleave(2, 0),
    "padded": lambda x, n: F.pad(x, (1, 2, n // 2, 0)) [:n, :6] + F.pad(x, (1, 1), mode="reflect")[:, 1:7],
    "triangles": lambda x, n: (x @ x.t()).tril() + (x @ x.t()).triu(1) + torch.eye(n) + (x @ x.t()).diagonal(),
    "cumulated": lambda x, n: x.cumsum(0) + x.cumprod(1) + x.logcumsumexp(0),
    "indexed": lambda x, n: x[index(2 * n + 1, n)].sum(0) + x[:, index(4, 6)].sum() + x.index_select(0, index(n, n)),
    "gathered": lambda x, n: x.gather(1, torch.randint(0, 6, (n, 2))).sum() + x.take(index(n, 6 * n)).sum(),
    "scattered": lambda x, n: torch.zeros(n, 6).index_add_(0, index(n, n), x)
    + torch.zeros(n, 6).scatter_add(1, torch.randint(0, 6, (n, 6)), x),
    "masked": lambda x, n: x.masked_fill(draw(n, 6) > 0, 0.5) + x.masked_fill(torch.ones(n, n).triu(1)[:, :1] > 0, 0),
    "embedding": lambda x, n: F.embedding(index(n, 6), x[:6] if n >= 6 else draw(6, 6)) * x,
    "layer_norm": lambda x, n: F.layer_norm(x, (6,), draw(6), draw(6)) + F.group_norm(x, 2),
    "batch_norm": lambda x, n: F.batch_norm(x, torch.zeros(6), torch.ones(6), draw(6), draw(6), training=True),
    "convolution": lambda x, n: F.conv1d(x.t().unsqueeze(0), draw(4, 6, 3), draw(4), padding=1, stride=2),
    "images": lambda x, n: F.max_pool2d(F.conv2d(draw(n, 1, 8, 8) + x[:, :1, None, None], draw(2, 1, 3, 3)), 2),
    "pooled": lambda x, n: F.avg_pool1d(x.t().unsqueeze(0), 3, 1) + F.adaptive_avg_pool1d(x.t().unsqueeze(0), 2).sum(),
    "stretched": lambda x, n: F.interpolate(x.t().unsqueeze(0), scale_factor=2, mode="linear"),
    "unfolded": lambda x, n: x.unfold(0, 3, 1).sum(2) + x.unfold(0, 3, 2).mean(),
    "attention": lambda x, n: F.scaled_dot_product_attention(*[x.view(1, n, 2, 3).transpose(1, 2)] * 3, is_causal=True),
    "cross_entropy": lambda x, n: F.cross_entropy(x, index(n, 6)) + F.nll_loss(x.log_softmax(1), index(n, 6)),
    "losses": lambda x, n: F.mse_loss(x, draw(n, 6)) + F.smooth_l1_loss(x, draw(n, 6)),
    "divergence": lambda x, n: F.kl_div(x.log_softmax(1), x.softmax(1), reduction="batchmean"),
    "binary": lambda x, n: F.binary_cross_entropy_with_logits(x, (draw(n, 6) > 0).float()),
    "sorted": lambda x, n: x.sort(0)[0] + x.topk(2, 1)[0].sum(1, keepdim=True) + x.median(0)[0],
    "distances": lambda x, n: torch.cdist(x, x).pow(2).sum() + F.cosine_similarity(x, draw(n, 6)).sum(),
    "glu": lambda x, n: F.glu(x, 1).sum() + F.gelu(x) + F.silu(x) + F.softplus(x) + F.elu(x),
    "doubles": lambda x, n: x.double().sum(1) * 2 + x.to(torch.float64).mean(),
    "halves": lambda x, n: (x.half() * 2).float() + x.bfloat16().float(),
    "integers": lambda x, n: x * torch.arange(n).unsqueeze(1) + torch.arange(6) // 2 + index(n, 9).unsqueeze(1) % 4,
    "outer": lambda x, n: torch.outer(x[:, 0], x[:, 1]) + torch.kron(x[:1], x[:, :1]).sum(),
    "written": lambda x, n: x.clone().mul_(2).add_(draw(n, 6)).index_fill_(0, index(2, n), 0.0),
    "rows": lambda x, n: (x / x.norm(dim=1, keepdim=True)).sum(0) + (x - x.mean(0)) / (x.std(0) + 1e-5),
    "one_hot": lambda x, n: F.one_hot(index(n, 6), 6) * x,
    "dropout": lambda x, n: F.dropout(x, 0.3),
    "numbers": lambda x, n: x * (1 / n) + n * x - x.sum() / (n + 1) + torch.full((n, 6), 1.0 / n),
}


LAYERS = ("LSTM", "GRU", "TransformerEncoderLayer", "MultiheadAttention")


def run_layer(name: str, sizes: tuple[int, ...] = (5, 9, 12, 30, 14, 7, 21)) -> list[Any]:
    """Train nothing: call a layer with sequences of these lengths, and pull back; its outputs and the gradients."""
    given: dict[str, tuple[int, ...]] = {"TransformerEncoderLayer": (6, 2, 8), "MultiheadAttention": (6, 2)}
    net = getattr(nn, name)(*given.get(name, (6, 5)))
    found = []
    for n in sizes:
        x = draw(n, 2, 6).requires_grad_()
        made = net(x, x, x)[0] if name == "MultiheadAttention" else net(x)
        made = made[0] if isinstance(made, tuple) else made
        made.pow(2).sum().backward()
        found += [made.detach(), x.grad]
    return found


def nothing_learned() -> Iterator[None]:
    """Begin with nothing that was learned of calls, and learn at once what is learned: for a fixture.

    What nobody has read when a test ends is not computed: the next test but some would pay for the work of them all.
    """
    forget_calls()
    forget_fragments()
    with settings.override(background=False):
        yield
    tapes.tape.begin()
