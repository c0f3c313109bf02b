"""Facts that were noted while real archives were read, and what it means to find them in a text.

A list has one fact a row: `archive` (its path, from the folder of all archives), `line` (where it
stands: the row that says it, or the prompt whose turn it is; from 1), `kind` (one of `KINDS`) and
`words`: what a text must hold so that the fact can be found. They stand so in the archive's turn,
which a test checks.

labels.tsv is about one project, labels_other.tsv about all the others. Both were written by
reading the archives, before any episode text was looked at.
"""

import csv
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LABELS = Path(__file__).with_name("labels.tsv")
OTHER = Path(__file__).with_name("labels_other.tsv")
KINDS = ("wish", "decision", "file", "command", "error")
_PUNCTUATION = string.punctuation.replace("_", "")
_FILE = re.compile(r".*/([^/]+/[^/]*\.\w+)")


@dataclass(frozen=True, slots=True)
class Label:
    archive: str
    line: int
    kind: str
    words: tuple[str, ...]
    """Without the punctuation at their ends."""

    @property
    def project(self) -> str:
        return self.archive.partition("/")[0]


def labels(path: Path) -> list[Label]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Label(row["archive"], int(row["line"]), row["kind"], _words(row["words"]))
            for row in rows
        ]


def _words(words: str) -> tuple[str, ...]:
    return tuple(word.strip(_PUNCTUATION) for word in words.split())


class Text:
    """What words are looked for in."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._folded = "\n\n".join(texts).casefold()

    def lacks(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return those of the words that are not findable, in order."""
        return tuple(word for word in words if not self.holds(word))

    def holds(self, word: str) -> bool:
        """Say whether a word stands there, in any case and not inside of a longer word.

        A file's path may also stand there as its name with the last folder.
        """
        return any(_stands(form, self._folded) for form in _forms(word.casefold()))


def _forms(word: str) -> Iterator[str]:
    yield word
    file = _FILE.fullmatch(word)
    if file is not None:
        yield file[1]


def _stands(word: str, text: str) -> bool:
    at = text.find(word)
    while at >= 0:
        before, after = text[max(at - 1, 0) : at], text[at + len(word) : at + len(word) + 1]
        if not (_goes_on(before) or _goes_on(after)):
            return True
        at = text.find(word, at + 1)
    return False


def _goes_on(letter: str) -> bool:
    # Not every script has spaces between its words.
    return letter.isascii() and (letter.isalnum() or letter == "_")
