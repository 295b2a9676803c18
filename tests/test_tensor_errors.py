"""What errors of tensors say: the cause in PyTorch's words, and the lines of the program that matter."""

import linecache
import re
import threading
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.autograd import Function, gradcheck
from pullback.autograd.graph import allow_mutation_on_saved_tensors


def line_of(mark: str) -> int:
    """The number of the line of this file that ends with a mark."""
    lines = linecache.getlines(__file__)
    (number,) = [k for k, line in enumerate(lines, 1) if line.rstrip().endswith("# " + mark)]
    return number


def text_of(call: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        call()
    return str(caught.value)


def test_writing_over_what_was_saved_names_both_lines() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = y * y  # here it is saved
    y.add_(1)  # here it is written
    text = text_of(lambda: z.sum().backward())
    assert "modified by an inplace operation" in text and "MulBackward0" in text and "f32[2]" in text
    assert f"test_tensor_errors.py:{line_of('here it is saved')} " in text
    assert f"written to at test_tensor_errors.py:{line_of('here it is written')}" in text
    assert "version 1; expected version 0" in text


def test_writing_through_a_view_names_the_line_of_the_view() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.detach()[:1].zero_()  # through a view
    text = text_of(lambda: y.sum().backward())
    assert f"written to at test_tensor_errors.py:{line_of('through a view')}" in text


def test_versions_count_on() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 1).view(2)
    y.add_(1)
    z = y.exp()
    z.add_(1)
    z.add_(1)
    assert "expected version 0" in text_of(lambda: z.sum().backward())
    assert (y._version, z._version) == (1, 2)


def test_writing_over_is_an_error_though_the_trace_is_known() -> None:
    """An operation is told by the line that recorded it first where all before it was equal, too."""
    for k in range(6):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp() if k % 2 else x.exp().view(2)  # a root or a view
        y.mul_(2)  # written again
        text = text_of(lambda y=y: y.sum().backward())
        assert f"ExpBackward0 at test_tensor_errors.py:{line_of('a root or a view')} saved" in text
        assert f"written to at test_tensor_errors.py:{line_of('written again')}" in text
    other = torch.tensor([1.0, 2.0, 3.0], requires_grad=True).exp()  # elsewhere
    other.mul_(2)
    text = text_of(lambda: other.sum().backward())
    assert f"ExpBackward0 at test_tensor_errors.py:{line_of('elsewhere')} saved" in text


def test_mutation_of_what_was_saved_can_be_allowed() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * y
        y.zero_()
        z.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("known", [False, True])
def test_anomaly_mode_names_the_forward_line(known: bool) -> None:
    def forward() -> Any:
        x = torch.tensor([-1.0, 4.0], requires_grad=True)
        return x.sqrt()  # a root of a negative number

    for _ in range(4 if known else 0):
        forward().sum().item()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), torch.autograd.detect_anomaly():
        y = forward()
        text = text_of(lambda: y.sum().backward())
    assert text.startswith("Function 'SqrtBackward0' returned nan values in its 0th output.")
    assert f"test_tensor_errors.py:{line_of('a root of a negative number')}: return x.sqrt()" in text
    assert not torch.autograd.is_anomaly_enabled()


def test_anomaly_mode_finds_user_functions() -> None:
    class Bad(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * float("nan")

    x = torch.tensor([1.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = Bad.apply(x)  # applied here
        text = text_of(lambda: y.sum().backward())
    assert "Function 'BadBackward' returned nan" in text and f":{line_of('applied here')}: y = Bad" in text


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: x.add_(1), "a leaf Variable that requires grad is being used in an in-place operation"),
        (lambda x: x[0].zero_(), "a view of a leaf Variable that requires grad"),
        (lambda x: (x * 1).unbind()[0].zero_(), "Output 0 of UnbindBackward0 is a view and is being modified inplace"),
        (lambda x: torch.ones(1).expand(3).add_(1), "more than one element of the written-to tensor refers to"),
        (lambda x: (x * 2).backward(), "grad can be implicitly created only for scalar outputs"),
        (lambda x: x.detach().sum().backward(), "does not require grad and does not have a grad_fn"),
        (lambda x: (x * 2).backward(torch.ones(2)), "Mismatch in shape: grad_output[0] has a shape of torch.Size([2])"),
        (lambda x: torch.autograd.grad(x.sum(), torch.ones(1, requires_grad=True)), "not have been used in the graph"),
        (lambda x: [s.backward() for s in [(x * x).sum()] * 2], "backward through the graph a second time"),
        (lambda x: x.numpy(), "Use tensor.detach().numpy() instead"),
        (lambda x: torch.add(x, 1, out=torch.empty(3)), "add(): functions with out=... arguments don't support"),
        (lambda x: torch.ones(2).long().add_(0.5), "result type Float can't be cast to the desired output type Long"),
        (lambda x: torch.ones(2).add_(torch.ones(3, 2)), "output with shape [2] doesn't match the broadcast shape"),
        (lambda x: (x * 2).detach_().register_hook(print), "cannot register a hook on a tensor that doesn't require"),
        (lambda x: (x * 2).view(3, 1)[0].detach_(), "Can't detach views in-place"),
    ],
)
def test_messages_are_those_of_pytorch(call: Any, said: str) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert said in text_of(lambda: call(x))


def test_gradcheck_shows_both_jacobians() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 3

    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    text = text_of(lambda: gradcheck(Wrong.apply, (x,)))
    found = re.search(r"mismatch for output 0 with respect to input 0,\nnumerical:(.*)\nanalytical:(.*)\n", text)
    assert found and np.allclose([float(n.strip("[] ")) for n in found.groups()], [2, 3])


def test_hooks_of_saved_tensors_belong_to_the_thread() -> None:
    seen: list[str] = []
    x = torch.tensor([1.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append("packed") or t, lambda t: t):
        other = threading.Thread(target=lambda: x.exp())
        other.start()
        other.join()
        assert not seen
        x.exp()
    assert seen == ["packed"]


def test_a_freed_graph_lets_go_of_what_it_saved() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.sum().backward()
    assert not any(cell is not None for cell in y.grad_fn.saved)
