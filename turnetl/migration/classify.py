"""Which session each episode of a session-level graph summarises, or what else it is."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from turnetl.graph.unrecorded import UnrecordedEpisode
from turnetl.migration.plan_file import Settlement, Verdict
from turnetl.migration.session_ids import NamedSessions, SessionIds
from turnetl.migration.sessions import ArchivedSession
from turnetl.migration.similarity import Scores, SessionTexts


class EpisodeClass(StrEnum):
    """What an episode without a TurnCommit is to a migration."""

    MATCHED = "matched"
    """It summarises a session of the archives."""
    AMBIGUOUS = "ambiguous"
    """It summarises one of several sessions: a person decides."""
    ARCHIVE_GONE = "archive_gone"
    """It summarises a session that no archive holds."""
    FOREIGN = "foreign"
    """It summarises no session."""


@dataclass(frozen=True, slots=True)
class ClassifiedEpisode:
    """An episode with its class."""

    episode: UnrecordedEpisode
    kind: EpisodeClass
    reason: str
    session: ArchivedSession | None = None
    """The session that it is matched to, or resembles most; None if there is none."""
    runner_up: ArchivedSession | None = None
    """The session with the next best score; None if there is none."""
    confidence: float | None = None
    """From 0.5, a tie of the session and its runner-up, to 1; None if no texts were compared."""
    similarity: float | None = None
    """Of the texts, from 0 to 1; None as `confidence`."""


SIMILAR = 0.2
"""Similarity from which an episode that looks like session-level data may be of a session."""
VERY_SIMILAR = 0.4
"""The same for an episode that does not look like it."""
CONFIDENT = 0.6
"""Confidence from which a session is preferred to its runner-up."""
_CLOCK_SKEW = timedelta(days=1)
"""Summaries are dated without a zone, or by the day."""
_LATER, _MUCH_LATER = 0.9, 0.8
"""Factors of a similarity if the summary is dated up to a day, or longer, after the session."""


class EpisodeClassifier:
    """Compares episodes with the sessions of archives."""

    def __init__(self, sessions: Sequence[ArchivedSession]) -> None:
        self._sessions = sessions
        self._ids = SessionIds([session.session_id for session in sessions])
        self._texts = SessionTexts([session.text for session in sessions])
        self._starts = _seconds([session.started_at for session in sessions], missing=-np.inf)
        self._ends = _seconds([session.ended_at for session in sessions], missing=np.inf)

    def classify(
        self,
        episodes: Sequence[UnrecordedEpisode],
        settled: Mapping[str, Settlement] | None = None,
    ) -> list[ClassifiedEpisode]:
        """Return the class of each episode, in their order.

        Args:
            episodes: of one group. Episodes that look like those that name a session count as
                session-level data too.
            settled: what a person decided, by the episode's uuid.

        Raises:
            BadUsage: a session that a person named is not in the archives.
        """
        named = [self._ids.find(episode) for episode in episodes]
        looks = {
            _look(episode)
            for episode, names in zip(episodes, named, strict=True)
            if names and names.sessions
        }
        return [
            self._settled(episode, settled[episode.uuid])
            if settled and episode.uuid in settled
            else self._classified(episode, names, looks)
            for episode, names in zip(episodes, named, strict=True)
        ]

    def _settled(self, episode: UnrecordedEpisode, settlement: Settlement) -> ClassifiedEpisode:
        if settlement.verdict is not Verdict.SESSION:
            kind = EpisodeClass(settlement.verdict.value)
            return ClassifiedEpisode(episode, kind, f"settled in {settlement.place}")
        session = next(
            (one for one in self._sessions if settlement.names(one.format, one.session_id)), None
        )
        if session is None:
            raise settlement.unknown_session()
        return ClassifiedEpisode(
            episode, EpisodeClass.MATCHED, f"settled in {settlement.place}", session
        )

    def _classified(
        self, episode: UnrecordedEpisode, names: NamedSessions | None, looks: set["_Look"]
    ) -> ClassifiedEpisode:
        if names and len(names.sessions) == 1:
            reason = f"its {names.field} names session {names.name}"
            session = self._sessions[names.sessions[0]]
            return ClassifiedEpisode(episode, EpisodeClass.MATCHED, reason, session)
        looks_like_one = names is not None or _has_sign(episode) or _look(episode) in looks
        allowed = None if not (names and names.sessions) else names.sessions
        compared = self._compared(episode, allowed)
        enough = SIMILAR if looks_like_one else VERY_SIMILAR
        if names and names.sessions:
            return compared.as_one_of_the_named(names)
        if compared.session is not None and (compared.similarity or 0) >= enough:
            return compared.as_similar()
        if names:
            reason = f"its {names.field} names session {names.name}, which no archive holds"
            return compared.as_kind(EpisodeClass.ARCHIVE_GONE, reason)
        if looks_like_one:
            reason = "it looks like session-level data, and resembles no session of the archives"
            return compared.as_kind(EpisodeClass.ARCHIVE_GONE, reason)
        reason = "it names no session, and resembles none enough"
        return compared.as_kind(EpisodeClass.FOREIGN, reason)

    def _compared(
        self, episode: UnrecordedEpisode, allowed: Sequence[int] | None
    ) -> "_ComparedEpisode":
        similarities = self._texts.similarities(f"{episode.name}\n{episode.text}")
        scores = similarities * self._time_factors(episode)
        if allowed is not None:
            outside = np.ones(len(scores), dtype=bool)
            outside[list(allowed)] = False
            scores[outside] = 0
        best = np.argsort(-scores, kind="stable")[:2]
        found = [int(position) for position in best if scores[position] > 0]
        if not found:
            return _ComparedEpisode(episode)
        first = float(scores[found[0]])
        second = float(scores[found[1]]) if found[1:] else 0.0
        return _ComparedEpisode(
            episode,
            self._sessions[found[0]],
            self._sessions[found[1]] if found[1:] else None,
            confidence=round(first / (first + second), 3),
            similarity=round(float(similarities[found[0]]), 3),
        )

    def _time_factors(self, episode: UnrecordedEpisode) -> Scores:
        """Return a factor per session: 0 if the session began after it was summarised."""
        times = [time for time in (episode.valid_at, episode.created_at) if time is not None]
        if not times:
            return np.ones(len(self._sessions))
        at, latest = min(times).timestamp(), max(times).timestamp()
        skew = _CLOCK_SKEW.total_seconds()
        factors = np.full(len(self._sessions), _MUCH_LATER)
        factors[at <= self._ends + skew] = _LATER
        factors[at <= self._ends] = 1.0
        factors[latest < self._starts - skew] = 0.0
        return factors


@dataclass(frozen=True, slots=True)
class _ComparedEpisode:
    episode: UnrecordedEpisode
    session: ArchivedSession | None = None
    runner_up: ArchivedSession | None = None
    confidence: float | None = None
    similarity: float | None = None

    def as_kind(self, kind: EpisodeClass, reason: str) -> ClassifiedEpisode:
        return ClassifiedEpisode(
            self.episode,
            kind,
            reason,
            self.session,
            self.runner_up,
            self.confidence,
            self.similarity,
        )

    def as_similar(self) -> ClassifiedEpisode:
        if (self.confidence or 0) >= CONFIDENT:
            return self.as_kind(EpisodeClass.MATCHED, "its time and its text fit this session best")
        return self.as_kind(EpisodeClass.AMBIGUOUS, "its text fits two sessions about as well")

    def as_one_of_the_named(self, names: NamedSessions) -> ClassifiedEpisode:
        count = len(names.sessions)
        if self.session is not None and (self.confidence or 0) >= CONFIDENT:
            reason = f"its {names.field} names {count} sessions, and its text fits this one best"
            return self.as_kind(EpisodeClass.MATCHED, reason)
        reason = f"its {names.field} names {count} sessions"
        return self.as_kind(EpisodeClass.AMBIGUOUS, reason)


_Look = tuple[str, str, str]
_SIGN = re.compile(r"\b(?:session|conversation|transcript)s?\b", re.IGNORECASE)
_VARIABLE = re.compile(r"[0-9a-f]*\d[\w.:-]*|\S*[/`'\"]\S*")
_LOOK_WORDS = 3


def _has_sign(episode: UnrecordedEpisode) -> bool:
    """Return whether name or description say that the episode is about a session."""
    return bool(_SIGN.search(f"{episode.name.replace('_', ' ')} {episode.source_description}"))


def _look(episode: UnrecordedEpisode) -> _Look:
    """Return what episodes of one writer have in common, whatever they are about."""
    return (episode.source, _pattern(episode.name), _pattern(episode.source_description))


def _pattern(text: str) -> str:
    head = text.partition(":")[0]
    return " ".join(_VARIABLE.sub("#", head.lower()).split()[:_LOOK_WORDS])


def _seconds(times: Sequence[datetime | None], *, missing: float) -> npt.NDArray[np.float64]:
    return np.array([missing if time is None else time.timestamp() for time in times])
