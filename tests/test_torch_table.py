"""docs/torch.md is what the names under `pullback` say."""

from tests.torch_table import PAGE, page, verdicts


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.torch_table"


def test_what_programs_use_most_is_there() -> None:
    found = verdicts()
    for module in ("torch.nn.init", "torch.optim.lr_scheduler", "torch.autograd.functional", "torch.amp"):
        assert set(found[module].values()) == {"works"}, module
