"""Amounts as people write them: `5usd`, `$5`, `2.50`, `200k tokens`."""

import math
import re
from collections.abc import Sequence

from turnetl.base.errors import BadUsage

_AMOUNT = re.compile(
    r"(?P<sign>\$)?\s*(?P<number>\d[\d,_]*(?:\.\d+)?|\.\d+)\s*(?P<times>[km])?[\s-]*"
    r"(?P<unit>usd|dollars?|tokens?|tok)?",
    re.IGNORECASE,
)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_AMBIGUOUS_DOLLARS = 1_000
"""From this amount on, a number without a unit is more likely to mean tokens."""
_EXAMPLES = "write for example `5usd`, `$2.50`, `200k tokens` or `1.5m tokens`"
_OFF = "none"


def parse_budget(amounts: Sequence[str]) -> dict[str, int | float | None]:
    """Return a budget as `usd` in US dollars, `tokens`, or both.

    Args:
        amounts: an amount in dollars, one of tokens, or one of each; or only the word `none`, which
            removes both limits.

    Raises:
        BadUsage: an amount is neither; the message gives examples.
    """
    if [amount.strip().lower() for amount in amounts] == [_OFF]:
        return {"usd": None, "tokens": None}
    budget: dict[str, int | float | None] = {}
    for text in amounts:
        kind, amount = _parse_amount(text)
        if kind in budget:
            raise BadUsage(f"two budgets of {kind} were given; give one in dollars, one in tokens")
        budget[kind] = amount
    return budget


def parse_usd(value: object) -> object:
    """Return US dollars for a text. Values of other types are returned as they are.

    Raises:
        ValueError: the text is not an amount in dollars.
    """
    return _parse_kind("usd", value)


def parse_tokens(value: object) -> object:
    """Return a number of tokens for a text, as `parse_usd`; a number without a unit is tokens."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return _parse_kind("tokens", value)


def _parse_kind(expected: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.strip().lower() == _OFF:
        return None
    try:
        kind, amount = _parse_amount(value)
    except BadUsage as error:
        raise ValueError(str(error)) from None
    if kind != expected:
        raise ValueError(f"this is an amount of {kind}, expected {expected}; {_EXAMPLES}")
    return amount


def _parse_amount(text: str) -> tuple[str, int | float]:
    """Return `usd` or `tokens`, and the amount."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise BadUsage(f"`{text}` is not a budget; {_EXAMPLES}")
    number = float(re.sub("[,_]", "", match["number"]))
    factor, unit = (match["times"] or "").lower(), (match["unit"] or "").lower()
    is_usd = bool(match["sign"]) or unit in ("usd", "dollar", "dollars")
    if is_usd and (factor or unit.startswith("tok")):
        raise BadUsage(f"`{text}` is not a budget: it mixes dollars and tokens; {_EXAMPLES}")
    if not is_usd and not factor and not unit:
        is_usd = _are_dollars(number, text)
    if not (math.isfinite(number) and number > 0):
        raise BadUsage(f"`{text}` is not a budget: it must be more than zero; {_EXAMPLES}")
    return ("usd", number) if is_usd else ("tokens", round(number * _FACTORS[factor]))


def _are_dollars(number: float, text: str) -> bool:
    """Read a number without a unit as dollars; reject one that is too large to be meant so."""
    if number >= _AMBIGUOUS_DOLLARS:
        raise BadUsage(f"`{text}` could be dollars or tokens; write `{text}usd` or `{text} tokens`")
    return True
