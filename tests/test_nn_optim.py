"""Modules hold what is assigned to them and load what they saved; optimisers follow their formulas."""

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import nn

F = nn.functional


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.inner = nn.Sequential(nn.Tanh(), nn.Linear(3, 2, bias=False))
        self.register_buffer("count", torch.zeros(1))
        self.note = "plain"

    def forward(self, x: Any) -> Any:
        return self.inner(self.first(x) * self.scale)


# ---- modules


def test_a_module_finds_its_parts() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == [
        "scale",
        "first.weight",
        "first.bias",
        "inner.1.weight",
    ]
    assert [n for n, _ in net.named_modules()] == ["", "first", "inner", "inner.0", "inner.1"]
    assert [n for n, _ in net.named_children()] == ["first", "inner"]
    assert [n for n, _ in net.named_buffers()] == ["count"]
    assert list(net.state_dict()) == ["scale", "count", "first.weight", "first.bias", "inner.1.weight"]
    assert all(p.is_leaf and p.requires_grad for p in net.parameters())
    assert net.note == "plain" and "first" in dir(net) and len(list(net.children())) == 2


def test_attributes_of_modules() -> None:
    net: Any = Net()
    net.scale = None
    assert net.scale is None and len(list(net.parameters())) == 3
    net.scale = nn.Parameter(torch.zeros(3))
    assert net.scale.tolist() == [0.0, 0.0, 0.0]
    net.count = torch.ones(1)
    assert net.state_dict()["count"].tolist() == [1.0]
    del net.scale
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'scale'"):
        _ = net.scale
    with pytest.raises(TypeError, match="cannot assign 'Tensor' as parameter 'weight'"):
        net.first.weight = torch.ones(3, 4)
    with pytest.raises(TypeError, match="child module"):
        net.first = 3
    with pytest.raises(KeyError, match="empty or contain"):
        net.add_module("a.b", nn.ReLU())
    with pytest.raises(KeyError, match="already exists"):
        net.register_buffer("note", None)

    class Early(nn.Module):
        def __init__(self) -> None:
            self.w = nn.Parameter(torch.ones(1))

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\)"):
        Early()
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_state_is_saved_and_loaded() -> None:
    a, b = Net(), Net()
    x = torch.randn(5, 4)
    assert a(x).tolist() != b(x).tolist()
    assert repr(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    np.testing.assert_allclose(a(x).detach().numpy(), b(x).detach().numpy(), rtol=1e-6)
    with torch.no_grad():
        a.first.weight.zero_()
    assert b.first.weight.any(), "the values are copied"
    assert not a.state_dict()["first.weight"].any(), "the state shares the module's memory"
    found = b.load_state_dict({"count": torch.ones(1), "odd": torch.ones(1)}, strict=False)
    assert "odd" in found.unexpected_keys and "scale" in found.missing_keys and b.count.item() == 1.0
    wrong = OrderedDict(a.state_dict(), scale=torch.ones(4), extra=torch.ones(1))
    del wrong["count"]
    with pytest.raises(RuntimeError) as caught:
        b.load_state_dict(wrong)
    for part in ("loading state_dict for Net", 'Unexpected key(s) in state_dict: "extra"', "size mismatch for scale"):
        assert part in str(caught.value)
    assert 'Missing key(s) in state_dict: "count"' in str(caught.value)
    with pytest.raises(TypeError, match="dict-like"):
        b.load_state_dict([1])  # type: ignore[arg-type]


def test_settings_reach_all_modules() -> None:
    net = Net()
    assert net.training and not net.eval().inner[0].training and net.train().inner[0].training
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    net.requires_grad_(True)
    net(torch.ones(1, 4)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(not p.grad.any() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert net.double()(torch.ones(1, 4).double()).dtype is torch.float64
    seen: list[str] = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen[-1] == "Net" and seen.count("Linear") == 2


def test_rows_of_modules() -> None:
    row = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(row) == 3 and isinstance(row[-1], nn.Linear) and len(row[:2]) == 2
    row[1] = nn.Tanh()
    assert repr(row[1]) == "Tanh()" and [type(m).__name__ for m in row] == ["Linear", "Tanh", "Linear"]
    named = nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Tanh())]))
    assert [n for n, _ in named.named_children()] == ["a", "b"]
    many = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    assert len(list(many.append(nn.Linear(1, 1)).parameters())) == 8 and len(many[1:]) == 3
    with pytest.raises(IndexError, match="out of range"):
        row[5]
    with pytest.raises(TypeError, match="not a Module"):
        nn.Sequential(3)


def test_linear_starts_within_its_range() -> None:
    torch.manual_seed(1)
    layer: Any = nn.Linear(100, 400)
    for p in (layer.weight, layer.bias):
        assert p.abs().max().item() <= 0.1
        assert abs(p.std().item() - 0.1 / 3**0.5) < 0.005
    assert nn.Linear(2, 2, bias=False).bias is None
    with pytest.raises(RuntimeError, match=r"cannot be multiplied.*2x4 and 3x2"):
        nn.Linear(3, 2)(torch.ones(2, 4))


def test_first_values() -> None:
    torch.manual_seed(2)
    w = torch.empty(200, 50)
    nn.init.xavier_uniform_(w)
    assert w.abs().max().item() <= (6 / 250) ** 0.5
    assert abs(nn.init.kaiming_normal_(w, nonlinearity="relu").std().item() - 0.2) < 0.01
    assert abs(nn.init.xavier_normal_(w).std().item() - (2 / 250) ** 0.5) < 0.005
    assert nn.init.kaiming_uniform_(w, a=5**0.5).abs().max().item() <= 1 / 50**0.5
    assert nn.init.constant_(w, 3.0).sum().item() == 30000.0
    assert not nn.init.zeros_(w).any() and nn.init.ones_(nn.Parameter(w)).all()
    with pytest.raises(ValueError, match="fewer than 2"):
        nn.init.xavier_uniform_(torch.ones(3))


def test_dropout_thins_and_scales() -> None:
    torch.manual_seed(3)
    layer, x = nn.Dropout(0.25), torch.ones(4000, requires_grad=True)
    y = layer(x)
    kept = (y != 0).sum().item() / 4000
    assert abs(kept - 0.75) < 0.03 and sorted(set(y.tolist())) == pytest.approx([0.0, 4 / 3])
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert layer.eval()(x) is x
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout(1.5)


def test_losses() -> None:
    x, y = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), torch.tensor([0, 2])
    each = np.array([np.log(1 + np.exp(-1.0) + np.exp(-2.0)), np.log(3)])
    assert nn.CrossEntropyLoss()(x, y).item() == pytest.approx(each.mean())
    assert nn.CrossEntropyLoss(reduction="none")(x, y).tolist() == pytest.approx(each)
    assert nn.CrossEntropyLoss(ignore_index=2)(x, y).item() == pytest.approx(each[0])
    assert nn.NLLLoss()(x.log_softmax(1), y).item() == pytest.approx(each.mean())
    assert nn.MSELoss(reduction="sum")(x, torch.zeros(2, 3)).item() == 5.0
    assert nn.L1Loss()(x, torch.zeros(2, 3)).item() == 0.5
    far = torch.tensor([200.0, -200.0, 0.0], requires_grad=True)
    loss = nn.BCEWithLogitsLoss(reduction="none")(far, torch.tensor([1.0, 0.0, 0.5]))
    loss.sum().backward()
    assert loss.tolist() == pytest.approx([0.0, 0.0, np.log(2)]) and far.grad.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        F.cross_entropy(x, torch.tensor([0, 7]))
    with pytest.raises(ValueError, match="batch_size"):
        F.cross_entropy(x, torch.tensor([0]))
    with pytest.raises(ValueError, match="reduction"):
        nn.MSELoss(reduction="avg")
    with pytest.raises(ValueError, match="must be the same as input size"):
        F.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(2))
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(torch.ones(3, 1), torch.ones(3))


# ---- optimisers


def descend(make: Any, steps: int = 5) -> np.ndarray:
    """Steps down the sum of squares from (1, -2)."""
    p = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    opt = make([p])
    for _ in range(steps):
        opt.zero_grad()
        (p * p).sum().backward()
        opt.step()
    return p.detach().numpy()


START = np.array([1.0, -2.0])


def test_sgd_follows_its_formula() -> None:
    plain = descend(lambda ps: torch.optim.SGD(ps, lr=0.1))
    np.testing.assert_allclose(plain, START * 0.8**5, rtol=1e-14)
    p, velocity = START.copy(), np.zeros(2)
    for _ in range(5):
        velocity = 0.9 * velocity + 0.5 * (2 * p + 0.01 * p) if velocity.any() else 2 * p + 0.01 * p
        p -= 0.1 * velocity
    made = descend(
        lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.01)
    )
    np.testing.assert_allclose(made, p, rtol=1e-13)
    p, velocity = START.copy(), np.zeros(2)
    for _ in range(5):
        velocity = 0.9 * velocity + 2 * p
        p -= 0.1 * (2 * p + 0.9 * velocity)
    made = descend(lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True))
    np.testing.assert_allclose(made, p, rtol=1e-13)
    up = descend(lambda ps: torch.optim.SGD(ps, lr=0.1, maximize=True))
    np.testing.assert_allclose(up, START * 1.2**5, rtol=1e-14)


@pytest.mark.parametrize("decoupled", [False, True])
def test_adam_follows_its_formula(decoupled: bool) -> None:
    p, mean, square = START.copy(), np.zeros(2), np.zeros(2)
    for n in range(1, 6):
        g = 2 * p if decoupled else 2 * p + 0.1 * p
        p = p * (1 - 0.05 * 0.1) if decoupled else p
        mean, square = 0.8 * mean + 0.2 * g, 0.9 * square + 0.1 * g * g
        p = p - 0.05 * (mean / (1 - 0.8**n)) / (np.sqrt(square / (1 - 0.9**n)) + 1e-8)
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    made = descend(lambda ps: kind(ps, lr=0.05, betas=(0.8, 0.9), weight_decay=0.1))
    np.testing.assert_allclose(made, p, rtol=1e-12)


def test_groups_have_settings_of_their_own() -> None:
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    opt = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.25)
    (a + b).sum().backward()
    opt.step()
    assert (a.item(), b.item()) == (0.75, 0.5)
    opt.param_groups[0]["lr"] = 0.5
    opt.step()
    assert a.item() == 0.25
    assert "lr: 0.5" in repr(opt) and "Parameter Group 1" in repr(opt)


def test_the_state_of_an_optimiser_can_be_carried_over() -> None:
    def run(opt: Any, p: Any, steps: int) -> None:
        for _ in range(steps):
            opt.zero_grad()
            (p * p).sum().backward()
            opt.step()

    for kind in (lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9), torch.optim.Adam):
        p, q = (torch.tensor([1.0, -2.0], requires_grad=True) for _ in range(2))
        first = kind([p])
        run(first, p, 4)
        second = kind([q])
        run(second, q, 2)
        third = kind([q])
        third.load_state_dict(second.state_dict())
        run(third, q, 2)
        assert p.tolist() == q.tolist()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        third.load_state_dict({"state": {}, "param_groups": []})


def test_what_is_not_given_a_gradient_stays() -> None:
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    opt = torch.optim.Adam([a, b], lr=0.5)
    a.sum().backward()
    opt.step()
    assert a.item() == pytest.approx(0.5) and b.item() == 1.0 and b not in opt.state


def test_a_closure_computes_the_loss() -> None:
    p = torch.tensor([3.0], requires_grad=True)
    opt = torch.optim.SGD([p], lr=0.5)

    def closure() -> Any:
        opt.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert opt.step(closure).item() == 9.0
    assert p.item() == 0.0


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda x: torch.optim.SGD([], lr=0.1), ValueError, "empty parameter list"),
        (lambda x: torch.optim.SGD([x * 2], lr=0.1), ValueError, "non-leaf"),
        (lambda x: torch.optim.SGD(x, lr=0.1), TypeError, "iterable"),
        (lambda x: torch.optim.SGD([3], lr=0.1), TypeError, "one of the params is int"),
        (lambda x: torch.optim.SGD([x], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda x: torch.optim.Adam([x], lr=float("nan")), ValueError, "Invalid learning rate"),
        (lambda x: torch.optim.SGD([x], nesterov=True), ValueError, "Nesterov"),
        (lambda x: torch.optim.Adam([x], betas=(1.0, 0.9)), ValueError, "index 0: 1.0"),
        (lambda x: torch.optim.Adam([{"params": [x]}, {"params": [x]}]), ValueError, "more than one"),
    ],
)
def test_wrong_settings(make: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        make(torch.ones(2, requires_grad=True))


def test_a_network_learns() -> None:
    torch.manual_seed(4)
    x = torch.randn(200, 2)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(150):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    assert (model(x).argmax(1) == y).double().mean().item() > 0.95
