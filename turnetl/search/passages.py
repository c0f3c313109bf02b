"""Episode bodies in short, overlapping passages: what a question is compared with."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

_LENGTH = 500
"""Characters. Longer ones blur what they say, shorter ones lose what it is about."""
_OVERLAP = 100
_MOST = 60
"""Passages of one turn that are read closely."""

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
    return [
        Passage(piece, _PROMPT_WEIGHT if speaker == "user" else 1.0)
        for speaker, said in _sections(body)
        for piece in _pieces(said)
    ]


def telling(cut: Sequence[Passage], shares: Callable[[Sequence[str]], Scores]) -> list[Passage]:
    """Return the passages of a long turn that are worth a closer look, in their order.

    Those that hold most of the question; of those that hold as much, or nothing of it, the turn's
    beginning and its end.

    Args:
        cut: all passages of a turn.
        shares: says of texts what share of the question each holds.
    """
    if len(cut) <= _MOST:
        return list(cut)
    half = _MOST // 2
    places = np.array(
        [*range(half), *range(len(cut) - half, len(cut)), *range(half, len(cut) - half)]
    )
    held = shares([cut[place].text for place in places])
    best = places[np.argsort(-held, kind="stable")[:_MOST]]
    return [cut[place] for place in np.sort(best)]


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
