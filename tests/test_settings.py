"""Settings are typed, read late, refused by name and overridden per thread; watch obeys them."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pullback.compiler import watch
from pullback.compiler.settings import SETTINGS, STAGES, Setting, Settings, settings, unknown

ACCEPTED = [
    ("PULLBACK_DUMP", "", frozenset()),
    ("PULLBACK_DUMP", "graph, asm,", frozenset({"graph", "asm"})),
    ("PULLBACK_DUMP", ",".join(STAGES), frozenset(STAGES)),
    ("PULLBACK_DUMP_TO", "", None),
    ("PULLBACK_DUMP_TO", "dumps", Path("dumps")),
    ("PULLBACK_CHECK", "passes", frozenset({"passes"})),
    ("PULLBACK_REFERENCE", "1", True),
    ("PULLBACK_REFERENCE", "", False),
    ("PULLBACK_TIME", "0", False),
    ("PULLBACK_PROGRESS", "1", True),
    ("PULLBACK_LOG", "forms, cache", frozenset({"forms", "cache"})),
    ("PULLBACK_TRACEBACK", "short", False),
    ("PULLBACK_TRACEBACK", "full", True),
    ("PULLBACK_VECTOR_BITS", "512", 512),
    ("PULLBACK_LEVEL", "0", 0),
    ("PULLBACK_LEVEL", "auto", None),
    ("PULLBACK_CACHE", "0", False),
    ("PULLBACK_CACHE_DIR", "kept", Path("kept")),
    ("PULLBACK_NUM_THREADS", "4", 4),
    ("PULLBACK_MAX_STEPS", "1000", 1000),
    ("PULLBACK_BACKGROUND", "0", False),
    ("PULLBACK_DISABLE_NATIVE_ENTRY", "1", True),
]

REFUSED = [
    ("PULLBACK_DUMP", "graphs"),
    ("PULLBACK_CHECK", "everything"),
    ("PULLBACK_REFERENCE", "yes"),
    ("PULLBACK_TIME", "2"),
    ("PULLBACK_PROGRESS", "on"),
    ("PULLBACK_LOG", "form"),
    ("PULLBACK_TRACEBACK", "1"),
    ("PULLBACK_VECTOR_BITS", "64"),
    ("PULLBACK_VECTOR_BITS", "wide"),
    ("PULLBACK_LEVEL", "-1"),
    ("PULLBACK_LEVEL", "4"),
    ("PULLBACK_CACHE", "on"),
    ("PULLBACK_NUM_THREADS", "-1"),
    ("PULLBACK_MAX_STEPS", "many"),
    ("PULLBACK_NUM_THREADS", "all"),
    ("PULLBACK_BACKGROUND", "later"),
    ("PULLBACK_DISABLE_NATIVE_ENTRY", "off"),
]


def named(variable: str) -> Setting:
    return next(each for each in SETTINGS if each.variable == variable)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in SETTINGS:
        monkeypatch.delenv(each.variable, raising=False)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_defaults_are_allowed_and_attributes_are_named_after_variables(setting: Setting) -> None:
    assert getattr(settings, setting.name) == setting.value(setting.default)
    assert vars(Settings)[setting.name] is setting
    assert setting.meaning and setting.allowed


@pytest.mark.parametrize(("variable", "text", "value"), ACCEPTED)
def test_a_variable_becomes_a_value(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, value: object
) -> None:
    monkeypatch.setenv(variable, text)
    got = getattr(settings, named(variable).name)
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize(("variable", "text"), REFUSED)
def test_a_bad_value_is_an_error_of_who_asks(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    setting = named(variable)
    with pytest.raises(ValueError) as error:
        getattr(settings, setting.name)
    for part in (variable, repr(text), setting.allowed, repr(setting.default)):
        assert part in str(error.value)


def test_every_variable_is_tried_in_both_tables() -> None:
    variables = {each.variable for each in SETTINGS}
    assert variables == {row[0] for row in ACCEPTED}
    assert variables - {row[0] for row in REFUSED} == {"PULLBACK_DUMP_TO", "PULLBACK_CACHE_DIR"}


def test_overrides_nest_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_LEVEL", "1")
    with settings.override(level=0, dump={"graph", "asm"}, time=True):
        with settings.override(level=3, dump="loops", dump_to=Path("there")):
            assert (settings.level, settings.dump) == (3, {"loops"})
            assert settings.dump_to == Path("there") and settings.time
        assert (settings.level, settings.dump, settings.dump_to) == (0, {"graph", "asm"}, None)
    assert (settings.level, settings.dump, settings.time) == (1, frozenset(), False)
    with pytest.raises(KeyError), settings.override(level=0):
        raise KeyError
    assert settings.level == 1


def test_overrides_hold_in_one_thread() -> None:
    seen = []
    with settings.override(level=0):
        thread = threading.Thread(target=lambda: seen.append(settings.level))
        thread.start()
        thread.join()
    assert seen == [None]


def test_bad_overrides_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="PULLBACK_LEVEL is '9'"), settings.override(level=9):
        pass
    with pytest.raises(TypeError, match="no setting 'levle': there are dump,"):
        settings.override(levle=1).__enter__()
    with pytest.raises(AttributeError, match=r"override\(level=1\)"):
        settings.level = 1
    assert settings.level is None


def test_misspelt_variables_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_DUMPS", "graph")
    monkeypatch.setenv("PULLBACK_DUMP", "graph")
    assert unknown() == ["PULLBACK_DUMPS"]


def test_a_stage_nobody_wants_is_never_made(capsys: pytest.CaptureFixture[str]) -> None:
    with settings.override(dump="loops"):
        watch.show("graph", lambda: pytest.fail("made"), "loss")
        assert not watch.wants("graph") and watch.wants("loops")
    assert capsys.readouterr() == ("", "")
    with pytest.raises(ValueError, match="no stage 'grpah'"):
        watch.show("grpah", str)


def test_stages_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with settings.override(dump="graph,adjoint"):
        watch.show("graph", lambda: "text")
        watch.show("adjoint", lambda: "more\ntext\n", "loss")
    out, err = capsys.readouterr()
    assert out == "" and err == "-- graph --\ntext\n\n-- adjoint of loss --\nmore\ntext\n\n"


def test_stages_are_kept_as_numbered_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "dumps"
    with settings.override(dump_to=folder):
        watch.show("graph", lambda: "a", "loss.<lambda>")
        watch.show("llvm", lambda: "b")
    with settings.override(dump_to=folder, dump="graph"):
        watch.show("llvm", lambda: pytest.fail("made"))
        watch.show("graph", lambda: "c", "../up")
    files = {path.name: path.read_text() for path in folder.iterdir()}
    assert files == {
        "0001-loss._lambda_-graph.txt": "a\n",
        "0002-llvm.txt": "b\n",
        "0003-.._up-graph.txt": "c\n",
    }
    assert capsys.readouterr().err == "-- graph of ../up --\nc\n\n"


def test_times_are_printed_even_of_what_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with watch.timed("lowering"):
        pass
    assert capsys.readouterr().err == ""
    with settings.override(time=True), pytest.raises(KeyError), watch.timed("lowering", "loss"):
        raise KeyError
    err = capsys.readouterr().err
    assert err.startswith("-- lowering of loss: ") and err.endswith(" ms --\n")


def test_a_misspelt_variable_is_an_error_of_the_first_that_asks() -> None:
    text = "from pullback import grad; print(grad(lambda x: x * x)(1.0))"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PULLBACK_")}
    for more, said in (
        ({"PULLBACK_CHEK": "1"}, "PULLBACK_CHEK is set, and there is no such setting (did you mean PULLBACK_CHECK?)"),
        ({"PULLBACK_CACHE": "0"}, ""),
    ):
        run = subprocess.run([sys.executable, "-c", text], env=kept | more, capture_output=True, text=True, timeout=60)
        assert said in run.stderr and bool(run.returncode) == bool(said) and (said or run.stdout == "2.0\n")
