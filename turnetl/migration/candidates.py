"""The sessions that fit the text and the time of an episode best."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from turnetl.graph.unrecorded import UnrecordedEpisode
from turnetl.migration.sessions import ArchivedSession
from turnetl.migration.similarity import Scores, SessionTexts

Mask = npt.NDArray[np.bool_]

_CLOCK_SKEW = timedelta(days=1)
"""Summaries are dated without a zone, or by the day."""
_PROMPT = timedelta(minutes=15)
"""Time after a session within which a program that summarises each session does so."""
_LATER, _MUCH_LATER = 0.9, 0.8
"""Factors of a similarity if the summary is dated up to a day, or longer, after the session."""
_OTHER_TIME = 0.5
"""Factor of sessions of other times, if the writer summarises each session when it ends."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best session for an episode and its runner-up, as positions of sessions."""

    best: int
    runner_up: int | None
    similarity: float
    """Of the texts of the episode and of `best`, from 0 to 1."""
    confidence: float
    """From 0.5, a tie, to 1."""
    confidence_if_prompt: float
    """The same, if sessions that did not end within the quarter of an hour before it count half."""
    is_prompt: bool
    """Whether the episode is dated within `best`, or within a quarter of an hour after it."""


class SessionComparison:
    """Compares episodes with sessions by text and time."""

    def __init__(self, sessions: Sequence[ArchivedSession]) -> None:
        """Index the texts of the sessions; a session is its position."""
        self._texts = SessionTexts([session.text for session in sessions])
        self._starts = _seconds([session.started_at for session in sessions], missing=-np.inf)
        self._ends = _seconds([session.ended_at for session in sessions], missing=np.inf)

    def candidates(
        self, episode: UnrecordedEpisode, allowed: Sequence[int] | None = None
    ) -> Candidates | None:
        """Return the best sessions; None if no session has a word of the episode.

        Args:
            episode: to compare.
            allowed: positions of sessions; None: all.
        """
        similarities = self._texts.similarities(f"{episode.name}\n{episode.text}")
        scores = similarities * self._time_factors(episode)
        if allowed is not None:
            outside = np.ones(len(scores), dtype=bool)
            outside[list(allowed)] = False
            scores[outside] = 0
        found = _best_two(scores)
        if not found:
            return None
        first, prompt = found[0], self._prompt(episode)
        others = np.where(prompt, scores, scores * _OTHER_TIME)
        others[first] = 0
        second = float(scores[found[1]]) if found[1:] else 0.0
        return Candidates(
            first,
            found[1] if found[1:] else None,
            similarity=round(float(similarities[first]), 3),
            confidence=_confidence(float(scores[first]), second),
            confidence_if_prompt=_confidence(float(scores[first]), float(others.max())),
            is_prompt=bool(prompt[first]),
        )

    def is_prompt(self, episode: UnrecordedEpisode, session: int) -> bool:
        """Return whether the episode is dated within the session, or soon after it."""
        return bool(self._prompt(episode)[session])

    def _prompt(self, episode: UnrecordedEpisode) -> Mask:
        """Return of which sessions the episode may be, if it was written when they ended."""
        times = _times(episode)
        if not times:
            return np.zeros(len(self._starts), dtype=bool)
        at = min(times)
        return (self._starts <= at) & (at <= self._ends + _PROMPT.total_seconds())

    def _time_factors(self, episode: UnrecordedEpisode) -> Scores:
        """Return a factor per session: 0 if the session began after it was summarised."""
        times = _times(episode)
        if not times:
            return np.ones(len(self._starts))
        at, skew = min(times), _CLOCK_SKEW.total_seconds()
        factors = np.full(len(self._starts), _MUCH_LATER)
        factors[at <= self._ends + skew] = _LATER
        factors[at <= self._ends] = 1.0
        factors[max(times) < self._starts - skew] = 0.0
        return factors


def _best_two(scores: Scores) -> list[int]:
    """Return the positions of the highest scores above 0, the first ones of equal scores."""
    found: list[int] = []
    for _ in range(min(2, len(scores))):
        left = scores.copy() if found else scores
        left[found] = 0
        position = int(np.argmax(left))
        if left[position] > 0:
            found.append(position)
    return found


def _confidence(first: float, second: float) -> float:
    return round(first / (first + second), 3)


def _times(episode: UnrecordedEpisode) -> list[float]:
    times = (episode.valid_at, episode.created_at)
    return [time.timestamp() for time in times if time is not None]


def _seconds(times: Sequence[datetime | None], *, missing: float) -> npt.NDArray[np.float64]:
    return np.array([missing if time is None else time.timestamp() for time in times])
