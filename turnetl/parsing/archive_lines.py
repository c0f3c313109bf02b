"""The lines of a turn as its archive has them, with or without secrets."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from turnetl import formats
from turnetl.base.errors import BadArchive
from turnetl.base.object_url import path_text
from turnetl.base.reason import SkipReason
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.parsing.archive_paths import StandsFor
from turnetl.parsing.redaction import ArchiveWithPath, archive_texts
from turnetl.parsing.sources import read_archive
from turnetl.redact import SecretRedactor
from turnetl.redact.port import PATTERN, pieces


def read_archive_lines(path: Path, first: int, last: int, files: ArchiveFiles = LOCAL) -> list[str]:
    """Return the lines from `first` to `last`, from 1, of the decompressed archive, without ends.

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


def texts_of_archive(path: Path, files: ArchiveFiles = LOCAL) -> list[str]:
    """Return the texts of an archive as parsing redacts them; none if its format is unknown."""
    data = read_archive(path, files)
    format_ = formats.sniff(data)
    return [] if format_ is None else archive_texts(ArchiveWithPath(format_.read(data), ""))


def redact_lines(
    lines: Sequence[str], redactor: SecretRedactor, texts: Sequence[str] = ()
) -> list[str]:
    """Return the lines without secrets. A value may start in one line and end in another.

    The strings of JSON are redacted as a reader sees them, also those within strings and in keys,
    and lists of strings as one text: they may be the words of a command. What is cut there, or in
    `texts` of the whole archive, is cut in every string: a secret may be announced elsewhere. Then
    the lines themselves are redacted: a secret may be in a line that is not JSON.
    """
    joined = "\n".join(lines)
    everything = [*texts, *dict.fromkeys(_strings(joined))]
    replaced, counts = redactor.redact_many([everything])[0]
    clean = {
        old: new for old, new, count in zip(everything, replaced, counts, strict=True) if count
    }
    secrets: dict[str, str] = {}
    for old, new in clean.items():
        secrets |= _cut(old, new, redactor.stands_for)
    without = _replaced(joined, clean, _any_of(secrets), secrets)
    return redactor.redact_many([[*without.split("\n"), *texts]])[0].texts[: len(lines)]


def _strings(text: str, depth: int = 0) -> Iterator[str]:
    """Yield the strings of JSON in a text, those in these, and the words of each list as one."""
    words: list[str] = []
    end = 0
    for match in _STRING.finditer(text):
        value = _decoded(match[0])
        if not _BETWEEN_WORDS.fullmatch(text, end, match.start()):
            yield from [" ".join(words)] if words[1:] else []
            words = []
        words.append(value)
        end = match.end()
        yield value
        if depth < _MAX_DEPTH and '"' in value:
            yield from _strings(value, depth + 1)
    if words[1:]:
        yield " ".join(words)


def _replaced(
    text: str,
    clean: Mapping[str, str],
    known: re.Pattern[str] | None,
    secrets: Mapping[str, str],
    depth: int = 0,
) -> str:
    """Return a text with other strings of JSON; the others stay as they are written."""

    def string(match: re.Match[str]) -> str:
        value = _decoded(match[0])
        new = clean.get(value, value)
        if depth < _MAX_DEPTH and '"' in new:
            new = _replaced(new, clean, known, secrets, depth + 1)
        if known is not None:
            new = known.sub(lambda secret: secrets[secret[0]], new)
        return match[0] if new == value else json.dumps(new, ensure_ascii=match[0].isascii())

    return _STRING.sub(string, text)


def _decoded(written: str) -> str:
    try:
        return str(json.loads(written, strict=False))
    except ValueError:
        return written[1:-1]


def _cut(old: str, new: str, stands_for: StandsFor) -> dict[str, str]:
    """Return what was cut from a text, with what replaces it."""
    literals, digests = pieces(new)
    placeholders = [match[0] for match in re.finditer(PATTERN, new)]
    found: dict[str, str] = {}
    position = len(literals[0])
    for literal, digest, replacement in zip(literals[1:], digests, placeholders, strict=True):
        ends = [old.find(literal, position + 1) if literal else len(old)]
        while ends[-1] >= 0 and len(ends) < _MAX_ENDS:
            if stands_for(digest, old[position : ends[-1]]):
                ends = ends[-1:]
                break
            ends.append(old.find(literal, ends[-1] + 1) if literal else -1)
        end = ends[0]
        if end < 0:
            break
        secret = old[position:end]
        # Two blocks of a message are one text: a secret may end one and start the next.
        parts = [part for part in secret.split("\n") if len(part) >= _MIN_INSIDE]
        found |= dict.fromkeys([secret, *parts] if len(secret) >= _MIN_CHARS else (), replacement)
        position = end + len(literal)
    return found


def _any_of(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches a secret, a short one only between other characters than letters."""
    longest = sorted(secrets, key=len, reverse=True)
    sources = [
        re.escape(secret)
        if len(secret) >= _MIN_INSIDE
        else rf"(?<![A-Za-z0-9]){re.escape(secret)}(?![A-Za-z0-9])"
        for secret in longest
    ]
    return re.compile("|".join(sources)) if sources else None


_STRING = re.compile(r'"(?:[^"\\\n]+|\\.)*"')
_BETWEEN_WORDS = re.compile(r"\s*,\s*")
_MAX_DEPTH = 4
_MAX_ENDS = 50
"""Places of the text behind a secret that are compared with its digest."""
_MIN_CHARS, _MIN_INSIDE = 4, 8
"""Characters of a secret that is cut elsewhere, and of one that is cut within a word."""
