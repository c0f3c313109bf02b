"""The geometry of charts. `macros.html` draws them as inline SVG, each with a table of its values.

All coordinates are in a box of its own, which the page stretches to its width: labels are HTML
beside it, so that they stay readable on a narrow screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

HEIGHT = 100
_STEP = 10
"""Width of a place on the horizontal axis."""
_GAP = 2
COLOURS = 6
"""Series of a chart that differ in colour; `.series-0` to `.series-5` of the style sheet."""


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one name, one for each place on the horizontal axis."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A rectangle of a column chart."""

    x: float
    y: float
    width: float
    height: float
    series: int
    """Index of its series, and of its colour."""
    place: int
    """Index of its label."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of one or several series over the same places."""

    title: str
    unit: str
    """What the values count: `turns`, `tokens`."""
    labels: tuple[str, ...]
    """Of the places, from left to right; at least one."""
    series: tuple[Series, ...]
    width: int
    highest: float
    """The value at the upper edge."""
    columns: tuple[ChartColumn, ...] = ()


def column_chart(title: str, unit: str, labels: Sequence[str], series: Sequence[Series]) -> Chart:
    """Return a chart with a column for each label, in which the series are stacked.

    At least one label, at most `COLOURS` series, and no value is negative. `unit`: what is counted.
    """
    _check(labels, series)
    totals = [sum(values) for values in zip(*(one.values for one in series), strict=True)]
    highest = max(totals, default=0)
    columns = list[ChartColumn]()
    for place in range(len(labels)):
        top = float(HEIGHT)
        for index, one in enumerate(series):
            height = share(one.values[place], highest)
            top -= height
            if height:
                x = place * _STEP + _GAP / 2
                columns.append(ChartColumn(x, _round(top), _STEP - _GAP, height, index, place))
    width = len(labels) * _STEP
    return Chart(title, unit, tuple(labels), tuple(series), width, highest, columns=tuple(columns))


def _check(labels: Sequence[str], series: Sequence[Series]) -> None:
    if not labels or any(len(one.values) != len(labels) for one in series):
        raise ValueError("a chart needs labels, and each series a value for each of them")
    if len(series) > COLOURS:
        raise ValueError(f"a chart has at most {COLOURS} series")


def share(value: float, highest: float) -> float:
    """Return the length of a bar, in percent of the longest."""
    return _round(HEIGHT * value / highest) if highest > 0 else 0.0


def _round(value: float) -> float:
    return round(value, 2)
