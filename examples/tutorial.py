"""Gradients of define-by-run code, step by step, after PyTorch's tutorial on automatic differentiation.

The same lines run under `import torch`.  Nothing is random here, so what is printed is always the same.
"""

import pullback as torch


def main() -> None:
    graph_of_one_layer()
    gradients_of_the_parameters()
    switching_it_off()
    vector_times_jacobian()
    a_graph_that_depends_on_its_values()


def one_layer():
    """A layer of three outputs on five inputs, and how far it is from the targets."""
    x, y = torch.ones(5), torch.zeros(3)
    w = torch.linspace(-1, 1, 15).reshape(5, 3).requires_grad_()
    b = torch.tensor([0.5, 0.0, -0.5], requires_grad=True)
    z = torch.matmul(x, w) + b
    loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
    return w, b, z, loss


def graph_of_one_layer() -> None:
    print("Each result knows the operation that made it; parameters are leaves, which nothing made.")
    w, _, z, loss = one_layer()
    print("  z    ", z.grad_fn)
    print("  loss ", loss.grad_fn)
    print("  w    ", w.grad_fn, "- a leaf:", w.is_leaf)
    print("  before z:", [type(node).__name__ for node, _ in z.grad_fn.next_functions])


def gradients_of_the_parameters() -> None:
    print("\nbackward() walks that graph from the loss and adds to the .grad of each leaf.")
    w, b, _, loss = one_layer()
    loss.backward()
    print(w.grad)
    print(b.grad)
    print("The graph is gone after that:")
    try:
        loss.backward()
    except RuntimeError as error:
        print("  RuntimeError:", str(error).partition(":")[0])


def switching_it_off() -> None:
    print("\nWhere no gradient is needed, none need be kept: for inference, or for frozen parameters.")
    w, b, z, _ = one_layer()
    with torch.no_grad():
        inside = torch.ones(5) @ w + b
    print("  usual", z.requires_grad, "- in no_grad", inside.requires_grad, "- detached", z.detach().requires_grad)
    w.requires_grad_(False)
    (torch.ones(5) @ w + b).sum().backward()
    print("  with w frozen: w.grad is", w.grad, "and b.grad is", b.grad)


def vector_times_jacobian() -> None:
    print("\nA result that is not a number needs a vector to multiply its Jacobian with; gradients add up.")
    inp = torch.eye(5, requires_grad=True)
    out = (inp + 1).pow(2)
    out.backward(torch.ones_like(inp), retain_graph=True)
    print(f"First call\n{inp.grad}")
    out.backward(torch.ones_like(inp), retain_graph=True)
    print(f"Second call\n{inp.grad}")
    inp.grad.zero_()
    out.backward(torch.ones_like(inp), retain_graph=True)
    print(f"After zeroing\n{inp.grad}")


def a_graph_that_depends_on_its_values() -> None:
    print("\nThe graph is made anew by each run, so Python's own `while` and `if` may decide what is in it.")
    x = torch.tensor(3.0, requires_grad=True)
    y, steps = x, 0
    while y < 100:
        y = y * 2 if steps % 2 == 0 else y * y
        steps += 1
    y.backward()
    print(f"  {steps} steps from {x.item()} to {y.item()}: the derivative is {x.grad}")


if __name__ == "__main__":
    main()
