"""`pullback build FILE.py:FUNCTION` writes a module of the function and its derivatives, or says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pullback.__main__ import main
from tests.built import LINKER, alone

SOURCE = """
def loss(w, x):
    \"\"\"Squares.\"\"\"
    return ((w * x) ** 2).sum()
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model_to_build.py"
    path.write_text(SOURCE)
    return f"{path}:loss"


@pytest.mark.skipif(LINKER is None, reason="there is no linker")
def test_a_function_with_its_derivatives(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--args", "f64[2], f64[2]", "--with", "value,grad,hvp", "-o", str(tmp_path / "made" / "mine")]
    assert main(["build", model, *words]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.parent == tmp_path / "made" and path.name == "mine.abi3.so"
    said = alone(path.parent, """
        import mine
        w, x, v = (array.array("d", each) for each in ([1.0, 2.0], [3.0, 4.0], [1.0, 0.0]))
        print(mine.loss(w, x), list(mine.loss_grad(w, x)), list(mine.loss_hvp(w, x, v)))
        assert "Squares." in mine.loss.__doc__
        assert "The gradient of loss.\\n\\nSquares." in mine.loss_grad.__doc__
        assert "Products with the Hessian of loss.\\n\\nSquares." in mine.loss_hvp.__doc__
    """)
    assert said.strip() == "73.0 [18.0, 64.0] [18.0, 0.0]"


@pytest.mark.parametrize(("words", "message"), [
    (["--args", "f64[2], f64[2]", "--with", "grads"], "--with has 'grads', expected some of value, grad"),
    (["--args", "f64[2]"], "missing a required argument: 'x'"),
    (["--args", "f64[2], 3"], "got '3'; containers, static and complex arguments are pullback.build's and ir's"),
    (["--args", "f64[2n], f64[2]"], "expected numbers or names as sizes, got 'f64[2n]'"),
    (["--args", "f64[n], f64[m]"], "(n,) and (m,)"),
    (["--args", "f64[2], f64[2]", "--cpu", "z80"], "cpu is 'z80', expected one or several"),
])
def test_what_is_wrong_is_said(
    model: str, tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["build", model, *words, "-o", str(tmp_path / "mine")])
    assert ended.value.code == 2 and message in capsys.readouterr().err
    assert not list(tmp_path.glob("mine*"))


def test_a_name_that_is_none_is_refused(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["build", model, "--args", "f64[2], f64[2]", "-o", str(tmp_path / "my-kernels")])
    assert "expected a name of letters, digits and _" in capsys.readouterr().err


def test_methods_are_built_and_what_is_no_function_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "held.py"
    held = "class Held:\n    def square(self, x):\n        return x * x\n"
    file.write_text(f"{held}held, three = Held(), 3\ndef f(x):\n    return x\n", encoding="utf-8")
    assert main(["build", f"{file}:held.square", "--args", "f64", "-o", str(tmp_path / "squares")]) == 0
    assert (tmp_path / "squares.abi3.so").exists()
    for target, said in (("three", "'three' in"), ("four", "no function 'four'"), ("held.cube", "no function 'held.")):
        with pytest.raises(SystemExit):
            main(["build", f"{file}:{target}", "--args", "f64", "-o", str(tmp_path / "other")])
        err = capsys.readouterr().err
        assert said in err and err.endswith("functions are f\n")
    with pytest.raises(SystemExit):
        main(["build", f"{file}:f", "--args", "f64", "-o", f"{tmp_path}/"])
    assert "expected FOLDER/NAME with the name of the module" in capsys.readouterr().err
