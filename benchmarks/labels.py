"""Facts labelled in real archives, and the search for their words in a text.

A list has one fact per row: `archive` (its path, relative to the folder of all archives), `line`
(of the row that states the fact, or of the prompt of its turn; from 1), `kind` (one of `KINDS`) and
`words` (a text must contain them so that a search finds the fact). The words occur in this form in
the archive's turn; a test checks it.

labels.tsv covers one project, labels_other.tsv all others. A person wrote both lists from the
archives, without having seen an episode text.
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
    """Without leading and trailing punctuation."""

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
    """A text to search for words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._folded = "\n\n".join(texts).casefold()

    def missing(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the words that the text does not contain, in order."""
        return tuple(word for word in words if not self.contains(word))

    def contains(self, word: str) -> bool:
        """Return whether a word occurs, in any case and not within a longer word.

        The path of a file may also occur as its name with the last folder.
        """
        return any(_occurs(form, self._folded) for form in _forms(word.casefold()))


def _forms(word: str) -> Iterator[str]:
    yield word
    file = _FILE.fullmatch(word)
    if file is not None:
        yield file[1]


def _occurs(word: str, text: str) -> bool:
    start = text.find(word)
    while start >= 0:
        before, after = (
            text[max(start - 1, 0) : start],
            text[start + len(word) : start + len(word) + 1],
        )
        if not (_continues(before) or _continues(after)):
            return True
        start = text.find(word, start + 1)
    return False


def _continues(character: str) -> bool:
    # Not every script has spaces between its words.
    return character.isascii() and (character.isalnum() or character == "_")
