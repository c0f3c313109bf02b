"""Passwords as people choose and programs draw them, one function for each type of value."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.redaction.drawing import draw

_WORDS = """
anchor basket candle desert engine falcon garden hammer island jacket kettle ladder magnet needle
orange pepper quartz rabbit saddle tunnel useful velvet window yellow zipper bridge copper dragon
eleven fossil glider harbor indigo jungle kitten lantern meadow nickel oyster pillow quiver ribbon
silver timber unicorn violin walnut yogurt acorn breeze clover dolphin
"""


def words(count: int, separator: str = " ") -> str:
    """Return ordinary words, chosen at random."""
    return separator.join(random.choice(_WORDS.split()) for _ in range(count))


@dataclass(frozen=True)
class ValueType:
    name: str
    draw: Callable[[], str]
    needs_quotes: bool = False
    """Whether the value has characters that only a quoted value may have."""


def _without_digit() -> str:
    return draw("{N2}{n2}{N1}{n2}^{n2}{N1}{n1}{N2}{n1}{N2}")


def _mixed_letters() -> str:
    return "".join(draw(random.choice(["{n1}", "{N1}"])) for _ in range(16))


VALUE_TYPES = (
    ValueType("drawn", lambda: draw("{a20}")),
    ValueType("drawn, short", lambda: draw("{a10}")),
    ValueType("drawn, no digit", _without_digit),
    ValueType("drawn, letters", _mixed_letters),
    ValueType("letters only", lambda: words(2, "")),
    ValueType("one word", lambda: random.choice([words(1), words(1).title()])),
    ValueType("digits only", lambda: draw("{d8}")),
    ValueType("pin", lambda: draw("{d6}")),
    ValueType("dashed words", lambda: words(3, "-")),
    ValueType("word and number", lambda: f"{words(1).title()}{draw('{d4}')}"),
    ValueType("word, number, mark", lambda: f"{words(1)}{draw('{d2}')}!"),
    ValueType(
        "special characters", lambda: f"{draw('{a3}')}@{draw('{n3}')}#{draw('{d2}')}%{words(1)}"
    ),
    ValueType("phrase", lambda: words(4), needs_quotes=True),
    ValueType(
        "phrase with marks", lambda: f"{words(2).capitalize()}, {words(2)}!", needs_quotes=True
    ),
)
