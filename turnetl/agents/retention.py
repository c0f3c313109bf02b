"""How long an agent keeps archives, as its settings say.

Claude Code deletes transcripts `cleanupPeriodDays` after their last change (30 by default), when it
starts; Gemini CLI deletes chats after `general.sessionRetention.maxAge`. Codex and OpenCode delete
nothing. Settings of single projects are not read.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import msgspec

from turnetl.agents.locations import CLAUDE_CODE, GEMINI, Location
from turnetl.base.results import described

_DEFAULT = timedelta(days=30)
_UNITS = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "m": timedelta(days=30),
}
_AGE = re.compile(r"(\d{1,6})([hdwm])")
_MAX_DAYS = 1_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long an agent keeps an archive after its last change."""

    period: timedelta | None
    """None: it deletes none."""
    setting: Annotated[
        Path | None,
        described(
            "The settings file that says so; null if it is the agent's default.", name="kept_by"
        ),
    ] = None
    problems: tuple[str, ...] = ()
    """A sentence for each settings file that cannot be used."""

    @property
    def kept_days(
        self,
    ) -> Annotated[
        float | None,
        described(
            "Days after its last change for which the agent keeps an archive; null: forever."
        ),
    ]:
        return None if self.period is None else self.period / timedelta(days=1)


def read_retention(location: Location) -> Retention:
    """Return how long the agent of a folder keeps its archives. Raises nothing."""
    find = _FINDERS.get(location.agent)
    if find is None:
        return Retention(None)
    problems: list[str] = []
    for path in location.settings:
        try:
            if (period := find(_settings(path))) is not _NOT_SET:
                return Retention(period, path, tuple(problems))
        except (OSError, ValueError, msgspec.DecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            problems.append(
                f"`{path}` cannot be used ({reason}); {location.agent} is taken to keep archives "
                f"for {_DEFAULT.days} days"
            )
    return Retention(_DEFAULT, None, tuple(problems))


def deletion_hint(location: Location) -> str:
    """Return the setting with which the agent keeps archives longer; empty: there is none."""
    return _HINTS.get(location.agent, "")


_NOT_SET = timedelta(-1)


def _settings(path: Path) -> dict[str, Any]:
    """Return the object in a settings file; an empty one if there is no file."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return msgspec.json.decode(data, type=dict[str, Any])


def _claude_period(settings: dict[str, Any]) -> timedelta | None:
    days = settings.get("cleanupPeriodDays")
    if days is None:
        return _NOT_SET
    if not isinstance(days, int | float) or isinstance(days, bool) or not 0 <= days <= _MAX_DAYS:
        raise ValueError("`cleanupPeriodDays` is not a number of days")
    return timedelta(days=days)


def _gemini_period(settings: dict[str, Any]) -> timedelta | None:
    general = settings.get("general")
    retention = general.get("sessionRetention") if isinstance(general, dict) else None
    if not isinstance(retention, dict):
        return _NOT_SET
    if retention.get("enabled") is False:
        return None
    age = retention.get("maxAge")
    if age is None:
        return _NOT_SET
    match = _AGE.fullmatch(age) if isinstance(age, str) else None
    if match is None:
        raise ValueError("`general.sessionRetention.maxAge` is not a time such as `30d`")
    return int(match[1]) * _UNITS[match[2]]


_FINDERS: dict[str, Callable[[dict[str, Any]], timedelta | None]] = {
    CLAUDE_CODE: _claude_period,
    GEMINI: _gemini_period,
}
_HINTS = {
    CLAUDE_CODE: "`cleanupPeriodDays` in its settings.json",
    GEMINI: "`general.sessionRetention` in its settings.json",
}
