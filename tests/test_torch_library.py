"""`torch.library` and `torch.ops`: operators that programs define by name."""

import numpy as np
import pytest

import pullback as torch
from pullback import Tensor


@pytest.fixture
def lib():
    made = torch.library.Library("testlib", "DEF")
    yield made
    made._destroy()


def product(x: Tensor, y: Tensor, *, by: float = 1.0) -> Tensor:
    return torch.from_numpy(x.numpy() * y.numpy() * by)


@pytest.fixture
def multiplied():
    """An operator in NumPy with a derivative."""
    made = torch.library.custom_op("testlib2::multiplied", product, mutates_args=())

    def keep(ctx, inputs, keyword_only_inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.by = keyword_only_inputs["by"]

    def back(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * ctx.by, g * x * ctx.by

    made.register_autograd(back, setup_context=keep)
    return made


def test_a_defined_operator_is_called_by_its_name(lib):
    assert lib.define("scaled(Tensor x, float by=2) -> Tensor") == "scaled"
    lib.impl("scaled", lambda x, by=2.0: x * by)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.ops.testlib.scaled(x, by=3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert torch.ops.testlib.scaled.default(x).tolist() == [2.0, 4.0]
    assert str(torch.ops.testlib.scaled.default._schema) == "testlib::scaled(Tensor x, float by=2.) -> Tensor"
    lib._destroy()
    assert not hasattr(torch.ops.testlib, "scaled")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda f: f(3), "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        (lambda f: f(), "is missing value for argument 'x'"),
        (lambda f: f(torch.ones(2), 1, 2), r"takes 2 positional argument\(s\) but 3 was/were given"),
        (lambda f: f(torch.ones(2), k=2), "Unknown keyword argument 'k' for operator 'testlib::scaled'"),
        (lambda f: f(torch.ones(2), ["a"]), r"Expected a value of type 'List\[int\]' for argument 'n'"),
        (lambda f: f(torch.ones(2), s=None), "Expected a value of type 'float' for argument 's'"),
    ],
)
def test_arguments_that_the_schema_has_not(lib, call, said):
    lib.define("scaled(Tensor x, int[2] n=1, *, float s=1.0) -> Tensor")
    lib.impl("scaled", lambda x, n=(1, 1), *, s=1.0: x * sum(n) * s)
    assert torch.ops.testlib.scaled(torch.ones(1), 3).item() == 6.0
    with pytest.raises(RuntimeError, match=said):
        call(torch.ops.testlib.scaled)


def test_kernels_are_not_told_the_defaults_of_the_schema(lib):
    lib.define("f(Tensor x, int n=2, *, float s=1.0) -> Tensor")
    lib.impl("f", lambda x, n=20, *, s=30.0: x * n * s)
    assert torch.ops.testlib.f(torch.ones(1), 2, s=1.0).item() == 600.0
    assert torch.ops.testlib.f(torch.ones(1), 3, s=2.0).item() == 6.0


def test_errors_of_definitions(lib):
    lib.define("one(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        lib.define("one(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="unknown type specifier"):
        lib.define("two(Tensr x) -> Tensor")
    with pytest.raises(RuntimeError, match="expected"):
        lib.define("two Tensor x -> Tensor")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: XYZ"):
        lib.impl("one", abs, "XYZ")
    with pytest.raises(RuntimeError, match="operator testlib::none does not exist"):
        lib.impl("none", abs)
    with pytest.raises(NotImplementedError, match="Could not run 'testlib::one' with arguments from the 'CPU' backend"):
        torch.ops.testlib.one(torch.ones(1))
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        torch.library.Library("testlib", "DEF")
    with pytest.raises(ValueError, match="of the form"):
        torch.library.define("one", "(Tensor x) -> Tensor")
    with pytest.raises(AttributeError, match="'_OpNamespace' 'testlib' object has no attribute 'none'"):
        torch.ops.testlib.none  # noqa: B018
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library("none.so")


def test_overloads_are_chosen_by_their_schemas(lib):
    lib.define("of.number(Tensor x, int n) -> Tensor")
    lib.define("of.text(Tensor x, str s) -> Tensor")
    lib.impl("of.number", lambda x, n: x * n)
    lib.impl("of.text", lambda x, s: x * len(s))
    x = torch.ones(1)
    assert (torch.ops.testlib.of(x, 2).item(), torch.ops.testlib.of(x, "abc").item()) == (2.0, 3.0)
    assert torch.ops.testlib.of.overloads() == ["number", "text"]


def test_derivatives_to_second_order(multiplied):
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.0, 2.0], [0.5, -1.5]))
    call = lambda x, y: multiplied(x, y, by=3.0)  # noqa: E731
    assert torch.autograd.gradcheck(call, (x, y))
    assert torch.autograd.gradgradcheck(call, (x, y))
    assert torch.func.grad(lambda x: multiplied(x, y.detach()).sum())(x).tolist() == [0.5, -1.5]
    with torch.no_grad():
        assert not multiplied(x, y).requires_grad


def test_in_vmap_example_by_example_or_by_its_rule(multiplied):
    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(3) * 2
    expected = (x * y).tolist()
    assert torch.vmap(multiplied, (0, None))(x, y).tolist() == expected
    asked = []

    @multiplied.register_vmap
    def rule(info, dims, x, y, *, by=1.0):
        asked.append((info.batch_size, dims))
        return torch.from_numpy(x.movedim(dims[0], 0).numpy() * y.numpy() * by), 0

    assert torch.vmap(multiplied, (1, None))(x.T, y).tolist() == expected
    assert asked == [(2, (0, None))]


def test_lists_of_tensors():
    def mixed(xs: list[Tensor], ws: list[float]) -> list[Tensor]:
        return [torch.from_numpy(x.numpy() * w) for x, w in zip(xs, ws, strict=True)]

    op = torch.library.custom_op("testlib2::mixed", mixed, mutates_args=())
    needed = []

    def keep(ctx, inputs, output):
        ctx.ws = inputs[1]
        needed.append(ctx.needs_input_grad)

    op.register_autograd(lambda ctx, gs: ([g * w for g, w in zip(gs, ctx.ws, strict=True)], None), setup_context=keep)
    a, b = torch.ones(2, requires_grad=True), torch.ones(2)
    first, second = op([a, b], [2.0, 3.0])
    (first + second).sum().backward()
    assert a.grad.tolist() == [2.0, 2.0]
    assert needed == [([True, False], [False, False])]


def test_an_operator_without_derivative_says_so_and_results_are_new():
    op = torch.library.custom_op("testlib2::product", product, mutates_args=())
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        op(x, x).sum().backward()

    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input"):
        torch.library.custom_op("testlib2::same", same, mutates_args=())(x)


def test_what_is_written_to():
    def add_(x: Tensor, n: int) -> None:
        x.add_(n)

    op = torch.library.custom_op("testlib2::add_", add_, mutates_args={"x"})
    x = torch.zeros(2)
    op(x, 4)
    assert x.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match="non-functional operator"):
        op.register_autograd(lambda ctx: None)
    hidden = torch.library.custom_op("testlib2::hidden_", add_, mutates_args=())
    with pytest.raises(torch.library.OpCheckError, match="test_schema failed"):
        torch.library.opcheck(hidden, (x, 1), test_utils="test_schema")


def test_opcheck_finds_a_wrong_derivative_and_wrong_shapes(multiplied):
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    multiplied.register_fake(lambda x, y, *, by=1.0: torch.empty_like(x))
    assert set(torch.library.opcheck(multiplied, (x, x.detach())).values()) == {"SUCCESS"}
    multiplied.register_fake(lambda x, y, *, by=1.0: torch.empty(3))
    with pytest.raises(torch.library.OpCheckError, match="test_faketensor failed"):
        torch.library.opcheck(multiplied, (x, x.detach()))
    multiplied.register_autograd(lambda ctx, g: (g * 7, None))
    with pytest.raises(torch.library.OpCheckError, match="test_autograd_registration failed"):
        torch.library.opcheck(multiplied, (x, x.detach()))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x, "Parameter x must have a type annotation"),
        (lambda *x: x, "do not support positional-only args, varargs"),
    ],
)
def test_functions_without_a_schema(function, said):
    with pytest.raises(ValueError, match=said):
        torch.library.infer_schema(function, mutates_args=())


def test_schemas_from_annotations():
    def f(x: "Tensor", n: int = 3, o: Tensor | None = None, d: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:  # type: ignore
        return x, x

    made = "f(Tensor(a0!) x, SymInt n=3, Tensor? o=None, ScalarType d=float32) -> (Tensor, Tensor)"
    assert torch.library.infer_schema(f, mutates_args={"x"}, op_name="f") == made
    with pytest.raises(ValueError, match="were not found in the custom op's signature"):
        torch.library.infer_schema(f, mutates_args={"z"})


def test_operators_of_pytorch_are_our_functions():
    x = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    assert np.allclose(torch.ops.aten.linalg_inv(x).numpy(), np.linalg.inv(x.numpy()))
    assert torch.ops.aten.sum.dim_IntList(x, [0], True).tolist() == [[3.0, 4.0]]
    assert torch.ops.aten.add.Tensor(x, x, alpha=2).tolist() == (3 * x).tolist()
    assert torch.ops.aten.where.self(x > 1.5, x, -x).tolist() == [[2.0, -1.0], [-1.0, 3.0]]
    assert torch.ops.aten.mul_(x, 0.0) is x
    assert repr(torch.ops.aten.sin.default) == "<OpOverload(op='aten.sin', overload='default')>"
    assert not hasattr(torch.ops.aten, "none") and not hasattr(torch.ops.aten.sin, "none")
