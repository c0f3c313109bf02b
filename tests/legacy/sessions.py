"""Sessions of archives and their summaries, as a program that indexes by session makes them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from turnetl import pipeline
from turnetl.base.model import Turn
from turnetl.lake import Lake
from turnetl.settings import load_settings


@dataclass(frozen=True)
class LegacySession:
    """What a session-level program knows when a session ends."""

    format: str
    session_id: str
    started_at: datetime
    ended_at: datetime
    summary: str
    files: tuple[str, ...]


@cache
def legacy_sessions(archives: Path) -> tuple[LegacySession, ...]:
    """Return the sessions with a time and at least one prompt, by (format, session_id)."""
    with TemporaryDirectory() as folder:
        settings = load_settings(None, lake=Path(folder) / "lake", jobs=1)
        pipeline.parse_archives([str(archives)], settings)
        lake = Lake(settings.lake)
        turns: dict[tuple[str, str], dict[str, Turn]] = defaultdict(dict)
        for group in lake.groups():
            for turn in lake.turns(group):
                turns[turn.format, turn.session_id].setdefault(turn.turn_id, turn)
    return tuple(_sessions(turns))


def _sessions(turns: dict[tuple[str, str], dict[str, Turn]]) -> Iterator[LegacySession]:
    for (format_name, session_id), by_id in sorted(turns.items()):
        timed = [turn for turn in by_id.values() if turn.started_at and turn.user_text.strip()]
        if not timed:
            continue
        timed.sort(key=lambda turn: (turn.started_at, turn.ordinal))
        started = [turn.started_at for turn in timed if turn.started_at]
        ended = [turn.ended_at for turn in timed if turn.ended_at]
        files = tuple(dict.fromkeys(_files(timed)))[:6]
        summary = summarise(timed, files)
        yield LegacySession(
            format_name, session_id, min(started), max([*started, *ended]), summary, files
        )


def summarise(turns: Sequence[Turn], files: Sequence[str]) -> str:
    """Return a summary as a canned model writes it: some of the words, in sentences of its own."""
    first, last = turns[0], turns[-1]
    parts = [f"The user asked the agent to {_reworded(first.user_text)}."]
    if len(turns) > 2:
        parts.append(f"Later they discussed {_reworded(turns[len(turns) // 2].user_text)}.")
    parts += [f"`{one}` was changed with `{other}`." for one, other in pairwise(files)]
    parts.append(f"In the end the agent reported: {_reworded(last.assistant_text)}.")
    return " ".join(parts)


_STOPWORDS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "for", "from", "has", "have"}
    | {"i", "in", "is", "it", "its", "of", "on", "or", "that", "the", "this", "to", "was", "we"}
    | {"what", "when", "will", "with", "you", "your"}
)
_FILE = re.compile(r"\b[\w-]+\.(?:py|ts|tsx|js|go|rs|md|toml|json|sql)\b")


def _reworded(text: str) -> str:
    """Return every word but the common ones and each fourth, at most 25 of the first 60."""
    words = [word for word in re.findall(r"[\w./-]+", text)[:60] if word.lower() not in _STOPWORDS]
    return " ".join(word.rstrip(".") for place, word in enumerate(words) if place % 4 != 3)[:200]


def _files(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns:
        for call in turn.tool_calls:
            yield from _FILE.findall(call.input)
