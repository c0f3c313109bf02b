"""Episode texts split into short, overlapping passages, which are compared with a query."""

import re
from dataclasses import dataclass

_LENGTH = 500
"""Characters. The embedding of a longer passage is less specific; a shorter one lacks context."""
_OVERLAP = 100
_PROMPT_WEIGHT = 1.25
"""Users remember their own prompts better than the responses."""

_MESSAGE = re.compile(r"^(user|assistant|tools): ", re.MULTILINE)
"""The start of a message in an episode text."""


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    weight: float
    """Relative to an ordinary passage."""


def split_passages(text: str) -> list[Passage]:
    """Split an episode text into passages that lie within one section; prompts weigh more."""
    return [
        Passage(piece, _PROMPT_WEIGHT if role == "user" else 1.0)
        for role, section in _sections(text)
        for piece in _pieces(section)
    ]


def user_text(text: str) -> str:
    return "\n".join(section for role, section in _sections(text) if role == "user")


def split_messages(text: str) -> list[tuple[str, str]]:
    """Split an episode text into (role, text) pairs; the role of a text before the first is ''."""
    before, *messages = _MESSAGE.split(text)
    return [("", before), *zip(messages[::2], messages[1::2], strict=True)]


def _sections(text: str) -> list[tuple[str, str]]:
    """Return (role, text) pairs; consecutive messages of one role are one section."""
    first, *messages = split_messages(text)
    sections = [first]
    for role, message in messages:
        if role == sections[-1][0]:
            sections[-1] = (role, sections[-1][1] + message)
        else:
            sections.append((role, message))
    return [(role, section.strip()) for role, section in sections if section.strip()]


def _pieces(text: str) -> list[str]:
    """Split at a space where there is one nearby; each piece overlaps the one before."""
    pieces = []
    start = 0
    while start < len(text):
        end = _break(text, start + _LENGTH)
        pieces.append(text[start:end].strip())
        if end >= len(text):
            break
        start = max(end - _OVERLAP, start + 1)
    return [piece for piece in pieces if piece]


def _break(text: str, offset: int) -> int:
    if offset >= len(text):
        return len(text)
    space = text.rfind(" ", offset - _OVERLAP // 2, offset)
    return space if space > 0 else offset


def prompt_title(text: str) -> str:
    """Return the first line that the user wrote in an episode text; empty if there is none.

    A line that ends with a colon announces the next one, which is added to it.
    """
    lines = [line.strip() for line in user_text(text).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith((":", "\uff1a")):
        return f"{lines[0]} {lines[1].lstrip('#').lstrip()}"
    return lines[0] if lines else ""


def first_passage(text: str) -> str:
    """Return the first passage of an episode text; empty if it has none."""
    return next((passage.text for passage in split_passages(text)), "")
