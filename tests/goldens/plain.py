"""What differs between two runs of a command, replaced by names: pure functions over JSON values.

Everything else is the same on every machine and on every day, and stays in the golden.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

Json = dict[str, "Json"] | list["Json"] | str | float | bool | None

_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?P<zone>\+00:00|Z| UTC)?"
)
_RUN_TIME = "<time of the run>"
_ONLY_TIME = re.compile(rf"(?:{_RUN_TIME}|\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*)\S*")
_ADDRESS = re.compile(r"(?<=127\.0\.0\.1:)\d+")
_TOKEN = re.compile(r"(?<=[?&]token=)[\w-]+")
_TABLE = re.compile(r"(?<=/)[0-9a-f]{32}(?=\.parquet)")
"""Named by a digest of the path of its archive."""
_PATTERNS = {_ADDRESS: "<port>", _TOKEN: "<token>", _TABLE: "<table>"}
_RANDOM_IDS = {"run_id": "run", "migration_id": "migration"}
"""Keys of ids that are drawn, or made from the time, and what they are the ids of."""
_MEASURED = {
    **dict.fromkeys(("bytes", "table_bytes", "disk"), "<bytes>"),
    "seconds": "<seconds>",
}
"""Keys of numbers that are measured, and of intervals of them, and their names."""
_DECIMALS = 6
"""The last digits of a cosine depend on the processor."""
_MACHINE = {"user": "<user>", "host": "<host>"}


@dataclass(frozen=True)
class Surroundings:
    """What a command met that another run does not meet again."""

    folders: Mapping[str, str]
    """Absolute paths and their names; a path comes before the folders above it."""
    ids: Mapping[str, str]
    """Ids that are not the same in the next run, and their names."""
    since: datetime
    until: datetime
    """Times from the first to the second one are those of the run, all others are data."""


def plain(value: Json, met: Surroundings) -> Json:
    """Return the value with names for all that is of this run only."""
    match value:
        case dict():
            return {plain_text(key, met): _plain_field(key, value, met) for key in value}
        case list():
            return [plain(one, met) for one in value]
        case str():
            return plain_text(value, met)
        case float():
            return round(value, _DECIMALS)
        case _:
            return value


def plain_text(text: str, met: Surroundings) -> str:
    """Return the text with names for what is of this run only."""
    for real, name in (*met.folders.items(), *met.ids.items()):
        text = text.replace(real, name)
    for pattern, name in _PATTERNS.items():
        text = pattern.sub(name, text)
    return _TIME.sub(lambda match: _plain_time(match, met), text)


def given(text: str, met: Surroundings) -> str:
    """Return an argument with what the names of folders and ids in it stand for."""
    for real, name in (*met.folders.items(), *met.ids.items()):
        text = text.replace(name, real)
    return text


def with_ids(ids: Mapping[str, str], value: Json) -> Mapping[str, str]:
    """Return the names with those for new ids in the value, numbered as they appear."""
    named = dict(ids)
    for kind, new in _random_ids(value):
        count = sum(name.startswith(f"<{kind} ") for name in named.values())
        named.setdefault(new, f"<{kind} {count + 1}>")
    return named


def written(value: Json) -> str:
    """Return the value as a golden file has it, with keys in the order of the output."""
    return f"{json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)}\n"


def times(value: Json) -> Iterator[str]:
    """Yield each text in the value that is a time and nothing else, also one of the run."""
    match value:
        case dict():
            for one in value.values():
                yield from times(one)
        case list():
            for one in value:
                yield from times(one)
        case str() if _ONLY_TIME.fullmatch(value):
            yield value


def _plain_field(key: str, siblings: Mapping[str, Json], met: Surroundings) -> Json:
    value = siblings[key]
    if key in _MACHINE and isinstance(value, str):
        return _MACHINE[key]
    # Without a call, no time was spent waiting for its response.
    if key in _MEASURED and siblings.get("calls") != 0:
        return _without_numbers(value, _MEASURED[key])
    return plain(value, met)


def _without_numbers(value: Json, name: str) -> Json:
    match value:
        case dict():
            return {key: _without_numbers(one, name) for key, one in value.items()}
        case int() | float():
            return name
        case _:
            return value


def _plain_time(match: re.Match[str], met: Surroundings) -> str:
    time = datetime.fromisoformat(f"{match['day']}T{match['clock']}").replace(tzinfo=UTC)
    # A time without seconds is that of the beginning of its minute.
    first = met.since.replace(second=0, microsecond=0)
    return f"{_RUN_TIME}{match['zone'] or ''}" if first <= time <= met.until else match[0]


def _random_ids(value: Json) -> Iterator[tuple[str, str]]:
    """Yield each random id in the value with what it is the id of, in the order of the output."""
    match value:
        case dict():
            for key, one in value.items():
                if key in _RANDOM_IDS and isinstance(one, str):
                    yield _RANDOM_IDS[key], one
                yield from _random_ids(one)
        case list():
            for one in value:
                yield from _random_ids(one)
