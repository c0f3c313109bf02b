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

_MESSAGE = re.compile(r"^(user|assistant|tools): ", re.MULTILINE)
"""How the messages of an episode body begin."""


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    weight: float
    """How much more than an ordinary passage it counts."""


def passages(body: str) -> list[Passage]:
    """Cut an episode body: what the person said first, each passage within one section."""
    cut = [
        Passage(piece, _PROMPT_WEIGHT if speaker == "user" else 1.0)
        for speaker, said in _sections(body)
        for piece in _pieces(said)
    ]
    return cut if len(cut) <= _MOST else cut[: _MOST // 2] + cut[-_MOST // 2 :]


def _sections(body: str) -> list[tuple[str, str]]:
    """Return who says what; messages of one speaker in a row are one section."""
    before, *messages = _MESSAGE.split(body)
    sections = [("", before)]
    for speaker, said in zip(messages[::2], messages[1::2], strict=True):
        if speaker == sections[-1][0]:
            sections[-1] = (speaker, sections[-1][1] + said)
        else:
            sections.append((speaker, said))
    return [(speaker, said.strip()) for speaker, said in sections if said.strip()]


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
