"""Redactions in real archives, for review, and the speed of the redactor.

Prints the number of redactions by rule; then each kind of redaction with the text before it and the
shape of the value, never the value itself; then how much text a CPU-second redacts, without reading
and writing.
"""

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from secrets import token_hex, token_urlsafe

from benchmarks.cost import peak
from turnetl import formats, parsing
from turnetl.parsing.redaction import ArchiveWithPath, archive_texts
from turnetl.redact import SecretRedactor

_PLACEHOLDER = re.compile(r"\[REDACTED:([a-z0-9-]+):[0-9a-f]{16}\]")
_BEFORE = 40
"""Characters shown before a redaction."""
_SHAPE_CHARS = 60
"""Characters of a shape."""


@dataclass(frozen=True, order=True)
class Redaction:
    rule: str
    shape: str
    before: str
    archive: str


def main(folder: Path, *, pii: bool, rounds: int) -> None:
    archives = dict(_texts(folder))
    redactor = SecretRedactor(pii=pii)
    redactor.redact(["a text"])
    size = sum(
        len(text.encode("utf-8", "replace")) for texts in archives.values() for text in texts
    )
    best, redactions = min(_round(archives, redactor) for _ in range(rounds))
    _show(redactions)
    print(
        f"\n  {len(archives)} archives, {size / 1e6:.1f} million characters, "
        f"{len(redactions)} redactions"
    )
    print(f"  {size / 1e6 / best:.0f} million characters per CPU-second, all archives at once")


def long(size: int, *, pii: bool) -> None:
    """Print the time for a text of `size` million characters: an ordinary and an adversarial one.

    Args:
        size: of each text.
        pii: as in `main`.
    """
    redactor = SecretRedactor(pii=pii)
    redactor.redact(["a text"])
    line = "what was done in this turn, with the token of the shop\n"
    for name, filler in (("one secret per 250 kB", line * 4500), ("one secret per line", "")):
        key = f"{filler}API_KEY={token_hex(20)}\n"
        text = "".join(
            f"{filler}API_KEY={token_urlsafe(30)}\n" for _ in range(size * 1_000_000 // len(key))
        )
        start = time.process_time()
        _, (count,) = redactor.redact([text])
        seconds = time.process_time() - start
        size_text = f"{len(text) / 1e6:.1f} million characters"
        print(f"  {name}: {size_text}, {count} redacted, {seconds:.1f} s CPU")
    print(f"  {peak():.0f} MB at most")


def _texts(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each archive in a known format, with all its texts."""
    for path in parsing.expand([folder]).archives:
        data = path.read_bytes()
        format_ = formats.sniff(data)
        if format_ is not None:
            name = str(path.relative_to(folder))
            yield name, archive_texts(ArchiveWithPath(format_.read(data), name))


def _round(
    archives: dict[str, list[str]], redactor: SecretRedactor
) -> tuple[float, list[Redaction]]:
    """Return the CPU-seconds of all threads, and the redactions."""
    start = time.process_time()
    redacted = redactor.redact_many(list(archives.values()))
    seconds = time.process_time() - start
    redactions: list[Redaction] = []
    for (archive, texts), (clean, counts) in zip(archives.items(), redacted, strict=True):
        for text, redacted_text, count in zip(texts, clean, counts, strict=True):
            redactions += _redactions(text, redacted_text, archive) if count else ()
    return seconds, redactions


def _redactions(text: str, clean: str, archive: str) -> Iterator[Redaction]:
    """Yield the redactions of a text, found by comparing it with the redacted text."""
    pieces = _PLACEHOLDER.split(clean)
    kept, rules = pieces[::2], pieces[1::2]
    values = re.fullmatch("(.*?)".join(map(re.escape, kept)), text, re.DOTALL)
    for index, rule in enumerate(rules):
        shape = _shape(values.group(index + 1)) if values is not None else "?"
        yield Redaction(rule, shape, kept[index][-_BEFORE:], archive)


def _shape(value: str) -> str:
    """Return the shape of a value: `aA0-aaaa (12)`."""
    letters = re.sub(r"[^\W\d_]", lambda letter: "A" if letter[0].isupper() else "a", value)
    return f"{re.sub(r'[0-9]', '0', letters)[:_SHAPE_CHARS]} ({len(value)})"


def _show(redactions: Sequence[Redaction]) -> None:
    for rule, count in Counter(redaction.rule for redaction in redactions).most_common():
        print(f"{count:6}  {rule}")
    print()
    for (rule, before, shape), equal in groupby(sorted(redactions, key=_by_kind), _by_kind):
        same = [*equal]
        print(f"{len(same):4} x {rule:<24}{before!r} {shape}   {same[0].archive}")


def _by_kind(redaction: Redaction) -> tuple[str, str, str]:
    return redaction.rule, redaction.before, redaction.shape
