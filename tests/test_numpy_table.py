"""docs/numpy.md says of each function of NumPy and SciPy what the cases of the tests show, and nothing is left out."""

from tests.numpy_table import PAGE, page, reasons, verdicts


def test_each_function_is_known_or_refused_with_a_reason() -> None:
    found = verdicts()
    assert not (missing := [name for name, verdict in found.items() if verdict == "unclassified"]), " ".join(missing)
    both = [name for name in reasons() if found.get(name) in ("differentiates", "values")]
    assert not both, " ".join(both)


def test_the_page_is_what_the_cases_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.numpy_table"
