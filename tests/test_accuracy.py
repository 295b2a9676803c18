"""Values and slopes of functions of one argument against mpmath: within 4 units, or what `tests.accuracy` allows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.accuracy import SUBJECTS, Subject, distances, points

FEW = 8


@pytest.mark.parametrize("name", SUBJECTS)
def test_values_and_slopes_are_near(name: str) -> None:
    subject = SUBJECTS[name]
    x = points(subject, FEW)
    value, slope = distances(subject, x)
    assert value.max() <= subject.value, f"{value.max():.3g} units off at {x[value.argmax()]}"
    assert slope.max() <= subject.slope, f"the slope is {slope.max():.3g} units off at {x[slope.argmax()]}"


def test_what_is_off_is_found() -> None:
    sine = SUBJECTS["sin"]
    off = Subject(lambda x: np.sin(x) * (1 + 2e-15), sine.exact, sine.low, sine.high)
    value, slope = distances(off, points(sine, FEW))
    assert value.max() > 4 and slope.max() > 4
