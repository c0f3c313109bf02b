"""The lines of a turn as its archive has them, with or without secrets."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from turnetl.errors import BadArchive
from turnetl.lake import path_text
from turnetl.parsing.archive_files import ArchiveFiles
from turnetl.parsing.local_archives import LOCAL
from turnetl.parsing.sources import read_archive
from turnetl.redact.port import Redactor
from turnetl.skip_reasons import SkipReason


def read_archive_lines(path: Path, first: int, last: int, files: ArchiveFiles = LOCAL) -> list[str]:
    """Return lines of the decompressed archive, without line ends.

    Args:
        path: the archive.
        first: number of the first line, from 1.
        last: number of the last line.
        files: where the archive is.

    Raises:
        BadArchive: it is missing, cannot be read, or has fewer lines.
    """
    data = read_archive(path, files)
    lines = data.split(b"\n")
    if len(lines) < last:
        raise BadArchive(
            SkipReason.TRUNCATED,
            f"{path_text(path)} has {len(lines):,} lines and not {last:,}: it was truncated or "
            "replaced since",
        )
    return [line.decode("utf-8", "replace").rstrip("\r") for line in lines[first - 1 : last]]


def redact_lines(lines: Sequence[str], redactor: Redactor) -> list[str]:
    """Return the lines without secrets.

    The strings of a line of JSON are redacted as they were when the archive was parsed, then the
    lines themselves: a secret may be in a key, or in a line that is not JSON.
    """
    values = [_decoded(line) for line in lines]
    strings = [string for value in values for string in _strings(value)]
    replaced, counts = redactor.redact_many([strings])[0]
    secrets = {old: new for old, new, count in zip(strings, replaced, counts, strict=True) if count}
    without = [
        _encoded(value, secrets) if any(string in secrets for string in _strings(value)) else line
        for line, value in zip(lines, values, strict=True)
    ]
    return redactor.redact_many([without])[0].texts


def _decoded(line: str) -> Any:
    """Return the value of a line of JSON; None for any other line."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, without keys."""
    match value:
        case str():
            yield value
        case list():
            for element in value:
                yield from _strings(element)
        case dict():
            for element in value.values():
                yield from _strings(element)


def _encoded(value: Any, secrets: dict[str, str]) -> str:
    return msgspec.json.encode(_replaced(value, secrets)).decode()


def _replaced(value: Any, secrets: dict[str, str]) -> Any:
    match value:
        case str():
            return secrets.get(value, value)
        case list():
            return [_replaced(element, secrets) for element in value]
        case dict():
            return {key: _replaced(element, secrets) for key, element in value.items()}
        case _:
            return value
