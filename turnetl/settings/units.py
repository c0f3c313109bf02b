"""Amounts as a person says them: `5usd`, `$5`, `2.50`, `200k tokens`."""

import math
import re
from collections.abc import Sequence

from turnetl.errors import BadUsage

_AMOUNT = re.compile(
    r"(?P<sign>\$)?\s*(?P<number>\d[\d,_]*(?:\.\d+)?|\.\d+)\s*(?P<times>[km])?[\s-]*"
    r"(?P<unit>usd|dollars?|tokens?|tok)?",
    re.IGNORECASE,
)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_MUCH_MONEY = 1_000
"""Dollars. A bare number of so many is more likely to be meant as tokens."""
_FORMS = "say for example `5usd`, `$2.50`, `200k tokens` or `1.5m tokens`"
_OFF = "none"


def budget(said: Sequence[str]) -> dict[str, int | float | None]:
    """Return what was said of a budget: `money` in US dollars, `tokens`, or both.

    Args:
        said: an amount of money, one of tokens, or one of each; or the word `none` alone, which
            takes back both.

    Raises:
        BadUsage: something else; says how to say it.
    """
    if [one.strip().lower() for one in said] == [_OFF]:
        return {"money": None, "tokens": None}
    found: dict[str, int | float | None] = {}
    for one in said:
        kind, amount = _amount(one)
        if kind in found:
            raise BadUsage(f"two budgets of {kind} were given; say one of money, one of tokens")
        found[kind] = amount
    return found


def money(said: object) -> object:
    """Return dollars for a text that says so; what is no text is left to be judged elsewhere.

    Raises:
        ValueError: the text says something else.
    """
    return _of_kind("money", said)


def tokens(said: object) -> object:
    """As `money`, for a number of tokens; a bare number counts tokens."""
    if isinstance(said, str) and said.strip().isdecimal():
        return int(said)
    return _of_kind("tokens", said)


def _of_kind(wanted: str, said: object) -> object:
    if not isinstance(said, str):
        return said
    if said.strip().lower() == _OFF:
        return None
    try:
        kind, amount = _amount(said)
    except BadUsage as error:
        raise ValueError(str(error)) from None
    if kind != wanted:
        raise ValueError(f"this says {kind}, and {wanted} belong here; {_FORMS}")
    return amount


def _amount(said: str) -> tuple[str, int | float]:
    """Return `money` or `tokens`, and how much."""
    found = _AMOUNT.fullmatch(said.strip())
    if found is None:
        raise BadUsage(f"`{said}` is no budget; {_FORMS}")
    number = float(re.sub("[,_]", "", found["number"]))
    times, unit = (found["times"] or "").lower(), (found["unit"] or "").lower()
    is_money = bool(found["sign"]) or unit in ("usd", "dollar", "dollars")
    if is_money and (times or unit.startswith("tok")):
        raise BadUsage(f"`{said}` is no budget: money and tokens at once; {_FORMS}")
    if not is_money and not times and not unit:
        is_money = _not_too_much(number, said)
    if not (math.isfinite(number) and number > 0):
        raise BadUsage(f"`{said}` is no budget: it must be more than nothing; {_FORMS}")
    return ("money", number) if is_money else ("tokens", round(number * _TIMES[times]))


def _not_too_much(number: float, said: str) -> bool:
    """Take a bare number as dollars, unless that is hardly meant."""
    if number >= _MUCH_MONEY:
        raise BadUsage(f"`{said}` could be dollars or tokens: say `{said}usd` or `{said} tokens`")
    return True
