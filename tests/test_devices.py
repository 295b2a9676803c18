"""What is refused, and not silently done otherwise, where PyTorch has half precision or a device."""

from collections.abc import Callable

import pytest

import pullback as torch
from pullback import nn

REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: torch.set_default_dtype(torch.bfloat16), NotImplementedError, "bfloat16"),  # type: ignore[arg-type]
    (lambda: torch.amp.GradScaler("cpu").scale(1), ValueError, "an iterable of Tensors, got int"),
    (lambda: torch.amp.GradScaler("cpu").update(), AssertionError, "scaler.scale"),
    (lambda: torch.ones(2).to("cuda"), RuntimeError, "expected 'cpu'"),
    (lambda: torch.ones(2, device="cuda:0"), RuntimeError, "expected 'cpu'"),
    (lambda: torch.set_default_device("cuda"), RuntimeError, "expected 'cpu'"),
    (lambda: torch.compile(3), RuntimeError, "takes a function or a module"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_refused(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_what_is_switched_off_says_so() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not torch.autocast("cuda")._enabled
    with pytest.warns(UserWarning, match="Disabling"):
        assert not torch.amp.GradScaler("cuda").is_enabled()
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        torch.autocast("cpu", dtype=torch.float32)
    with pytest.warns(FutureWarning, match="deprecated"), pytest.warns(UserWarning, match="CUDA is not available"):
        torch.cuda.amp.autocast()


def test_a_compiled_module_computes_and_learns_as_the_module() -> None:
    plain = nn.Linear(2, 2)
    fast = torch.compile(plain, mode="max-autotune")
    x = torch.ones(1, 2)
    assert torch.equal(fast(x), plain(x)) and fast.weight is plain.weight
    descent = torch.optim.SGD(fast.parameters(), lr=0.1)
    before = plain.weight.detach().clone()
    for _ in range(5):
        descent.zero_grad()
        fast(x).square().sum().backward()
        descent.step()
    assert not torch.equal(before, plain.weight)


def test_compile_decorates() -> None:
    @torch.compile
    def once(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @torch.compile(fullgraph=True)
    def again(x: torch.Tensor) -> torch.Tensor:
        return x + 2

    assert once(torch.ones(1)).item() == 2 and again(torch.ones(1)).item() == 3
    with pytest.raises(RuntimeError, match="both can't be specified"):
        torch.compile(once, mode="default", options={})
