"""Episode bodies in short, overlapping passages: what a question is compared with."""

import re
from dataclasses import dataclass

_LENGTH = 500
"""Characters. Longer ones blur what they say, shorter ones lose what it is about."""
_OVERLAP = 100
_MOST = 60
"""Passages of one turn: half from its beginning, half from its end."""

_PROMPT_WEIGHT = 1.25
"""People remember what they asked better than what was answered."""

_SECTION = re.compile(
    r"^(?:\#+[ ]*|\*\*|\[|<)?"
    r"(?P<who>user|human|person|prompt|asked|steering|answers?|assistant|agent|tools?|subagents?)"
    r"\b[^\n:\]>]{0,40}[:\]>](?:\*\*)?[ ]*",
    re.IGNORECASE | re.MULTILINE,
)
_HUMAN = frozenset({"user", "human", "person", "prompt", "asked", "steering"})


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    weight: float
    """How much more than an ordinary passage it counts."""


def passages(body: str) -> list[Passage]:
    """Cut an episode body: what the person said first, each passage within one section."""
    cut = [
        Passage(piece, _PROMPT_WEIGHT if human else 1.0)
        for human, section in _sections(body)
        for piece in _pieces(section)
    ]
    return cut if len(cut) <= _MOST else cut[: _MOST // 2] + cut[-_MOST // 2 :]


def _sections(body: str) -> list[tuple[bool, str]]:
    """Return each section of the body and whether a person said it."""
    marks = list(_SECTION.finditer(body))
    starts = [mark.start() for mark in marks] + [len(body)]
    sections = [(False, body[: starts[0]])]
    for mark, end in zip(marks, starts[1:], strict=True):
        sections.append((mark["who"].lower() in _HUMAN, body[mark.end() : end]))
    return [(human, text.strip()) for human, text in sections if text.strip()]


def _pieces(text: str) -> list[str]:
    """Cut at a space where there is one near; the next piece begins a little before."""
    pieces = []
    start = 0
    while start < len(text):
        end = _break(text, start + _LENGTH)
        pieces.append(text[start:end].strip())
        if end >= len(text):
            break
        start = max(end - _OVERLAP, start + 1)
    return [piece for piece in pieces if piece]


def _break(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    space = text.rfind(" ", at - _OVERLAP // 2, at)
    return space if space > 0 else at
