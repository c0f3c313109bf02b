"""What the redactor cuts out of real archives, for a person to judge, and how fast it is.

Reads the archives of tests/real.py. Prints how many hits there are by rule; then each kind of hit:
what stands before it, and the shape of what was cut out, never the value itself; then how much text
a CPU-second redacts, without reading and writing.

    python -m benchmarks.redaction [--pii] [--rounds N] [FOLDER]
    python -m benchmarks.redaction --long 50    one text of 50 MB instead, with some secrets, of
                                                which no two are equal
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from secrets import token_hex, token_urlsafe

from benchmarks.cost import peak
from tests import real
from turnetl import formats, parse
from turnetl.parse import table
from turnetl.redact import SecretRedactor

_PLACEHOLDER = re.compile(r"\[REDACTED:([a-z0-9-]+):[0-9a-f]{4}\]")
_BEFORE = 40
"""Characters shown before a hit."""
_LONGEST = 60
"""Characters of a shape."""


@dataclass(frozen=True, order=True)
class Hit:
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
    best, hits = min(_round(archives, redactor) for _ in range(rounds))
    _show(hits)
    print(f"\n  {len(archives)} archives, {size / 1e6:.1f} million characters, {len(hits)} hits")
    print(f"  {size / 1e6 / best:.0f} million characters per CPU-second, all archives at once")


def long(size: int, *, pii: bool) -> None:
    """Tell how long a text of `size` million characters takes: ordinary, and one that is hostile.

    Args:
        size: of each text.
        pii: as in `main`.
    """
    redactor = SecretRedactor(pii=pii)
    redactor.redact(["a text"])
    line = "what was done in this turn, with the token of the shop\n"
    for name, words in (("a secret in 250 kB", line * 4500), ("a secret a line", "")):
        key = f"{words}API_KEY={token_hex(20)}\n"
        text = "".join(
            f"{words}API_KEY={token_urlsafe(30)}\n" for _ in range(size * 1_000_000 // len(key))
        )
        start = time.process_time()
        _, (count,) = redactor.redact([text])
        spent = time.process_time() - start
        print(f"  {name}: {len(text) / 1e6:.1f} million characters, {count} cut, {spent:.1f} s CPU")
    print(f"  {peak():.0f} MB at most")


def _texts(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each archive that is read, with all its texts."""
    for path in parse.expand([folder]).archives:
        data = path.read_bytes()
        known = formats.sniff(data)
        if known is not None:
            yield str(path.relative_to(folder)), table.texts(known.read(data))


def _round(archives: dict[str, list[str]], redactor: SecretRedactor) -> tuple[float, list[Hit]]:
    """Return CPU-seconds, of all threads, and the hits."""
    start = time.process_time()
    redacted = redactor.redact_each(list(archives.values()))
    spent = time.process_time() - start
    hits: list[Hit] = []
    for (archive, texts), (clean, counts) in zip(archives.items(), redacted, strict=True):
        for text, cut, count in zip(texts, clean, counts, strict=True):
            hits += _hits(text, cut, archive) if count else ()
    return spent, hits


def _hits(text: str, clean: str, archive: str) -> Iterator[Hit]:
    """Yield what was cut out of a text, by laying what is left beside it."""
    pieces = _PLACEHOLDER.split(clean)
    kept, rules = pieces[::2], pieces[1::2]
    values = re.fullmatch("(.*?)".join(map(re.escape, kept)), text, re.DOTALL)
    for at, rule in enumerate(rules):
        shape = _shape(values.group(at + 1)) if values is not None else "?"
        yield Hit(rule, shape, kept[at][-_BEFORE:], archive)


def _shape(value: str) -> str:
    """Return what a value looks like: `aA0-aaaa (12)`."""
    letters = re.sub(r"[^\W\d_]", lambda of: "A" if of[0].isupper() else "a", value)
    return f"{re.sub(r'[0-9]', '0', letters)[:_LONGEST]} ({len(value)})"


def _show(hits: Sequence[Hit]) -> None:
    for rule, count in Counter(hit.rule for hit in hits).most_common():
        print(f"{count:6}  {rule}")
    print()
    for (rule, before, shape), same in groupby(
        sorted(hits), key=lambda hit: (hit.rule, hit.before, hit.shape)
    ):
        of = [*same]
        print(f"{len(of):4} x {rule:<24}{before!r} {shape}   {of[0].archive}")


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    told.add_argument("folder", nargs="?", type=Path, default=real.ARCHIVES_OR_SAMPLES)
    told.add_argument("--pii", action="store_true")
    told.add_argument("--rounds", type=int, default=2)
    told.add_argument("--long", type=int, metavar="MB")
    given = told.parse_args()
    if given.long:
        long(given.long, pii=given.pii)
    else:
        main(given.folder, pii=given.pii, rounds=given.rounds)
