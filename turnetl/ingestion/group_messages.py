"""Sentences about groups that were not completed, and about what makes turns stale."""

import re
from collections.abc import Sequence
from typing import Protocol

from turnetl.base.model import GroupId
from turnetl.base.recipe_parts import RecipePart
from turnetl.ingestion.stale_parts import StalePart

_LISTED = 3
"""Groups that a message lists; --json has all."""
_DIGEST = re.compile("[0-9a-f]{32}")
_DIGITS = 8
"""Of a digest that are shown; --json has all."""


def stale_part_line(stale: StalePart) -> str:
    """Return what changed, for how many turns."""
    named = next((part for part in (stale.new, stale.old) if part is not None and part.name), None)
    name = f"{stale.part} {named.name}" if named is not None else stale.part
    old, new = _part_value(stale.old), _part_value(stale.new)
    return f"({stale.turns:,} stale by {name}: {old} -> {new})"


def _part_value(part: RecipePart | None) -> str:
    """Return the value of a part: a digest by its first digits."""
    if part is None or not part.value:
        return "none"
    return part.value[:_DIGITS] if _DIGEST.fullmatch(part.value) else part.value


class _Group(Protocol):
    """The report on a group."""

    @property
    def group(self) -> GroupId: ...

    @property
    def error(self) -> str | None: ...


def error_messages(groups: Sequence[_Group]) -> list[str]:
    """Return why groups were not completed: one sentence per error, with all its groups."""
    names: dict[str, list[str]] = {}
    for group in groups:
        if group.error:
            names.setdefault(group.error, []).append(f"`{group.group}`")
    return [_error_message(error, names[error]) for error in names]


def _error_message(error: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return error if names[0] in error else f"group {names[0]}: {error}"
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"groups {', '.join(names[:_LISTED])}{more}: {error}"
