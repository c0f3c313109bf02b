"""What the texts of facts state: statement by statement, without placeholders and repetition."""

import re
from collections.abc import Collection, Iterator

SPEAKER = re.compile(
    r"(?:While the agent worked, t|T)he (?:accepted )?(?:user|agent|plan) "
    r"(?:asked|answered|continued|said|decided|prefers|rejected): "
)
"""Begins the text of a fact that quotes someone."""
_SEPARATOR = re.compile(r"(; |(?<=[.!?。])\s+)")
"""Between two statements of a text."""
_EMPTY = re.compile(r"\[[^\[\]]*\]|<?\b(?:https?|file)://\S+|\(interrupted before it was done\)")
"""Links, placeholders in brackets (`[REDACTED_TEXT len=12]`), and the note on a prompt's turn."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_BULLET = re.compile(r"^[^\w`\"'(\[]+")
_WHEN_ASKED = " when asked"
_MIN_CHARS = 12
"""Of a statement that is looked for within others: a shorter one may be part of a word."""
_MIN_CUT_CHARS = 40
"""Of the beginning of a statement that was cut."""
_MIN_SHARE = 0.75
"""Of the characters of a statement, that an earlier one must have to make it needless."""


def says_something(text: str) -> bool:
    """Return whether the text has a word beside links and placeholders."""
    return bool(_WORD.search(_EMPTY.sub(" ", text)))


def new_statements(text: str, shown: Collection[str]) -> str:
    """Return the text without placeholders and without what was shown; empty if nothing is left.

    "`a.py` was edited: It reads lines." keeps its first half if the second one was shown.

    Args:
        text: of a fact, on one line.
        shown: `plain` texts of other facts, which may have been cut.
    """
    speaker = SPEAKER.match(text)
    subject, _, body = text.partition(": ") if speaker is None else (speaker[0][:-2], "", "")
    quoted = text[speaker.end() :] if speaker is not None else body
    if _is_shown(text if speaker is None else quoted, shown):
        return ""
    if not quoted:
        return "" if speaker is not None else _new(text, shown).rstrip(":")
    left = _new(quoted, shown)
    if left.startswith("("):
        return f"{subject.removesuffix(_WHEN_ASKED)} {left}"
    if left:
        return f"{subject}: {left}".rstrip(":")
    is_alone = speaker is None and _is_new(subject, shown)
    return subject.removesuffix(_WHEN_ASKED) if is_alone else ""


def plain(text: str) -> str:
    """Return what is compared of a text: relations differ in speakers, marks and full stops."""
    stated = _BULLET.sub("", SPEAKER.sub("", text).replace("`", ""))
    return stated.rstrip(".:").casefold()


def _new(text: str, shown: Collection[str]) -> str:
    """Return the statements of a text that say something new, with what separates them."""
    kept = [(one, separator) for one, separator in _statements(text) if _is_new(one, shown)]
    return "".join(f"{one}{separator}" for one, separator in kept).strip().removesuffix(";")


def _statements(text: str) -> Iterator[tuple[str, str]]:
    pieces = _SEPARATOR.split(text)
    yield from zip(pieces[::2], [*pieces[1::2], ""], strict=True)


def _is_new(statement: str, shown: Collection[str]) -> bool:
    return says_something(statement) and not _is_shown(statement, shown)


def _is_shown(statement: str, shown: Collection[str]) -> bool:
    key = plain(statement).removesuffix("…")
    return any(_repeats(key, other) for other in shown)


def _repeats(key: str, other: str) -> bool:
    if key == other or (len(key) >= _MIN_CHARS and key in other):
        return True
    if other in key and len(other) >= _MIN_SHARE * len(key):
        return True
    if not other.endswith("…"):
        return False
    last = _SEPARATOR.split(other.removesuffix("…"))[-1]
    starts = (last, last.partition(": ")[2])
    return any(len(one) >= _MIN_CUT_CHARS and key.startswith(one) for one in starts)
