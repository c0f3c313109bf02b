"""How an answer ends: with an outcome, and perhaps with a question to the user."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_CODE = re.compile(
    r"^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_SIGNATURE = r"\W*Generated with \[[^\]\n]*\]\([^)\n]*\)(?:\s+Co-Authored-By: [^\n]*)?"
_PLACEHOLDER = re.compile(
    rf"\[[^\[\]]*\]|\[[\w+#.-]{{1,20}}, .*\]|[-*_=]{{3,}}|{_SIGNATURE}", re.DOTALL
)
"""A paragraph in place of a long block, between two parts, or below a text that an agent wrote for
others: it says nothing itself."""
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_SENTENCE_END = re.compile("(?<=[.!?\u3002\uff01\uff1f])[\"')*_]*\\s+|(?<=[\u3002\uff01\uff1f])")
_QUESTION_MARKS = ("?", "\uff1f")
_ASKS = re.compile(
    r"(?:so |then |but |and )?(?:should|shall|may|can|could) (?:i|we)\b|(?:do|would) you\b|"
    r"want me\b|let me know\b|which (?:one|approach|option|of)\b|"
    r"does (?:this|that) (?:make|look)\b|"
    r"what (?:do|would) you\b|how would you\b|is (?:this|that) (?:what|ok)\b",
    re.IGNORECASE,
)
_COLONS = (":", "\uff1a")
_MARKS = "*_ "


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of an answer, each part on one line."""

    outcome: str = ""
    """What it states last; empty if it states nothing."""
    question: str = ""
    """What it asks the user after that; empty if it asks nothing."""


def closing(answer: str) -> Closing:
    """Return how an answer ends.

    Code is left out, and so are placeholders of texts that were removed. A paragraph that ends with
    a colon is continued by the list that it announces.
    """
    paragraphs = _paragraphs(answer)
    if not paragraphs:
        return Closing()
    outcome, question = _without_question(paragraphs[-1])
    if not outcome and len(paragraphs) > 1:
        # What stands before the question is what was done, unless that asks too.
        outcome, _ = _without_question(paragraphs[-2])
    return Closing(outcome.rstrip(":"), question)


def _paragraphs(answer: str) -> Sequence[str]:
    """Return the paragraphs that say something, each on one line, with what continues them."""
    found: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", _CODE.sub("\n\n", answer)):
        text = paragraph.strip()
        if not text or _PLACEHOLDER.fullmatch(text):
            continue
        line = _line(text)
        if found and found[-1].endswith(_COLONS) and _ITEM.match(text):
            found[-1] = f"{found[-1]} {line}"
        else:
            found.append(line)
    return found


def _line(paragraph: str) -> str:
    """Return a paragraph on one line; items of a list are separated by semicolons."""
    parts = ""
    for line in paragraph.splitlines():
        item = _ITEM.match(line)
        text = _HEADING.sub("", line[item.end() :] if item else line).strip()
        is_next_item = item is not None and bool(parts) and not parts.endswith((*_COLONS, ";"))
        separator = "; " if is_next_item else " " if parts else ""
        parts += f"{separator}{text}" if text else ""
    return " ".join(parts.split())


def _without_question(paragraph: str) -> tuple[str, str]:
    """Return what a paragraph states and what it asks after that."""
    sentences = [one for one in _SENTENCE_END.split(paragraph) if one.strip()]
    asked = next(
        (place for place, one in enumerate(sentences) if _asks(one, sentences[place + 1 :])), None
    )
    if asked is None:
        return paragraph, ""
    before = paragraph[: paragraph.find(sentences[asked])]
    return before.strip(), paragraph[len(before) :].strip()


def _asks(sentence: str, later: Sequence[str]) -> bool:
    """Return whether a sentence asks the user: it ends the paragraph, or begins as an offer."""
    words = sentence.strip(_MARKS)
    is_question = words.endswith(_QUESTION_MARKS)
    follows_no_statement = all(one.strip(_MARKS).endswith(_QUESTION_MARKS) for one in later)
    return is_question and (follows_no_statement or bool(_ASKS.match(words)))
