"""Which session each episode of a session-level graph summarises, or what else it is.

Texts are compared by their words, weighted by how rare they are, and sessions by their time too.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

import numpy as np
import numpy.typing as npt

from turnetl.base.batched import grouped
from turnetl.base.model import SessionId
from turnetl.base.results import INLINED, described
from turnetl.graph.session_ids import NamedSessions, SessionIds
from turnetl.graph.session_level import UnrecordedEpisode
from turnetl.migration.plan_file import Settlement, Verdict
from turnetl.migration.sessions import ArchivedSession

Scores = npt.NDArray[np.float64]
"""One number per session, in their order."""

_WORD = re.compile(r"[^\W_]{3,}")
_NAME = re.compile(r"[\w.-]*[A-Za-z_]\w*(?:[./:_-]\w+)+")
"""A path, a file or an identifier of several parts."""


class SessionTexts:
    """The texts of sessions, indexed by their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(_terms(text)) for text in texts]
        self._size = len(texts)
        postings: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        for position, counted in enumerate(counts):
            for term, count in counted.items():
                postings[term][0].append(position)
                postings[term][1].append(1 + math.log(count))
        self._postings = {
            term: (np.array(places), np.array(weights) * self._rarity(len(places)))
            for term, (places, weights) in postings.items()
        }
        norms = np.zeros(self._size)
        for positions, weights in self._postings.values():
            norms[positions] += weights**2
        self._norms = np.sqrt(np.maximum(norms, 1e-12))

    def similarities(self, text: str) -> Scores:
        """Return a similarity of 0 to 1 with each session.

        It is the geometric mean of the cosine, which a long session does not win by its length, and
        of the share of the text's words, by weight, that the session contains.
        """
        cosine, contained = np.zeros(self._size), np.zeros(self._size)
        norm = total = 0.0
        for term, count in Counter(_terms(text)).items():
            positions, weights = self._postings.get(term, _NOWHERE)
            rarity = self._rarity(len(positions))
            weight = (1 + math.log(count)) * rarity
            norm, total = norm + weight**2, total + rarity
            cosine[positions] += weight * weights
            contained[positions] += rarity
        if not norm:
            return cosine
        return np.sqrt(cosine / self._norms / math.sqrt(norm) * contained / total)

    def _rarity(self, sessions: int) -> float:
        return math.log(1 + self._size / (sessions + 0.5))


_NOWHERE: tuple[npt.NDArray[np.int64], Scores] = (np.array([], dtype=np.int64), np.zeros(0))


def _terms(text: str) -> list[str]:
    lowered = text.lower()
    return [*_WORD.findall(lowered), *_NAME.findall(lowered)]


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
        """Return the best of the `allowed` sessions; None if none has a word of the episode."""
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


class EpisodeClass(StrEnum):
    """What an episode without a TurnCommit is to a migration."""

    MATCHED = "matched"
    """It summarises a session of the archives."""
    AMBIGUOUS = "ambiguous"
    """It summarises one of several sessions: a person decides."""
    WITHOUT_TURNS = "without_turns"
    """It summarises a session of which no turn is kept, so that nothing would replace it."""
    ARCHIVE_GONE = "archive_gone"
    """It summarises a session that no archive holds."""
    FOREIGN = "foreign"
    """It summarises no session."""


@dataclass(frozen=True, slots=True)
class ClassifiedEpisode:
    """An episode that another program wrote, and which session it summarises."""

    episode: Annotated[UnrecordedEpisode, INLINED]
    kind: Annotated[
        EpisodeClass,
        described(
            "`matched` to a session, `ambiguous`, `without_turns` if no turn of its session "
            "is kept, `archive_gone` if no archive holds its session, "
            "or `foreign` if it summarises none."
        ),
    ]
    reason: Annotated[str, described("Why, in one sentence.")]
    session: ArchivedSession | None = None
    """The session that it is matched to, or resembles most; None if there is none."""
    runner_up: ArchivedSession | None = None
    """The session with the next best score; None if there is none."""
    confidence: Annotated[
        float | None,
        described("From 0.5, a tie with `runner_up`, to 1; null if no texts were compared."),
    ] = None
    similarity: Annotated[
        float | None,
        described("Of its text with the session's, from 0 to 1; null as `confidence`."),
    ] = None
    is_settled: bool = False
    """Whether a person decided the class."""

    @property
    @described("Its session, or the one that it resembles most; null if none.")
    def session_id(self) -> SessionId | None:
        return self.session.session_id if self.session else None

    @property
    def format(self) -> Annotated[str | None, described("Format of that session; null if none.")]:
        return self.session.format if self.session else None

    @property
    @described("Id of the session that it resembles next; null if none.", name="runner_up")
    def runner_up_id(self) -> SessionId | None:
        return self.runner_up.session_id if self.runner_up else None


SIMILAR = 0.2
"""Similarity from which an episode that looks like session-level data may be of a session."""
ENOUGH = 0.3
"""Similarity from which the text of such an episode can decide by itself."""
VERY_SIMILAR = 0.4
"""Similarity from which any other episode may be of a session."""
CONFIDENT = 0.6
"""Confidence from which a session is preferred to its runner-up."""
_MIN_HABIT, _MOST = 3, 0.8
"""Episodes of a writer that are surely matched, and the share of these that are dated when their
session ended, from which the writer is known to summarise each session then."""


class EpisodeClassifier:
    """Compares episodes with the sessions of archives."""

    def __init__(self, sessions: Sequence[ArchivedSession]) -> None:
        self._sessions = sessions
        self._ids = SessionIds([session.session_id for session in sessions])
        self._comparison = SessionComparison(sessions)
        self._by_id = grouped((str(one.session_id), one) for one in sessions)

    def classify(
        self,
        episodes: Sequence[UnrecordedEpisode],
        settled: Mapping[str, Settlement] | None = None,
    ) -> list[ClassifiedEpisode]:
        """Return the class of each episode of a group, in their order; `settled` is by uuid."""
        read = [self._read(episode) for episode in episodes]
        looks = {one.look for one in read if one.names and one.names.sessions}
        for one in read:
            one.looks_like_one = one.names is not None or _has_sign(one) or one.look in looks
        prompt = self._prompt_writers(read)
        classified = (
            self._settled(one.episode, settled[one.episode.uuid])
            if settled and one.episode.uuid in settled
            else self._classified(one, is_prompt_writer=one.look in prompt)
            for one in read
        )
        return [*map(_with_turns, classified)]

    def _read(self, episode: UnrecordedEpisode) -> "_ReadEpisode":
        """Return what the episode says by itself. Texts are compared unless it names a session."""
        names, candidates = self._ids.find(episode), None
        if names is None or len(names.sessions) != 1:
            allowed = names.sessions if names and names.sessions else None
            candidates = self._comparison.candidates(episode, allowed)
        return _ReadEpisode(episode, names, candidates, _look(episode))

    def _prompt_writers(self, read: Sequence["_ReadEpisode"]) -> set["_Look"]:
        """Return the looks of episodes whose writer summarises each session when it ends."""
        prompt: dict[_Look, list[bool]] = defaultdict(list)
        for one in read:
            if one.names and len(one.names.sessions) == 1:
                session = one.names.sessions[0]
                prompt[one.look].append(self._comparison.is_prompt(one.episode, session))
            elif one.candidates is not None and one.is_decided_by_text:
                prompt[one.look].append(one.candidates.is_prompt)
        return {
            look
            for look, of_look in prompt.items()
            if len(of_look) >= _MIN_HABIT and sum(of_look) >= _MOST * len(of_look)
        }

    def _settled(self, episode: UnrecordedEpisode, settlement: Settlement) -> ClassifiedEpisode:
        reason = f"settled in {settlement.place}"
        if settlement.verdict is not Verdict.SESSION:
            kind = EpisodeClass(settlement.verdict.value)
            return ClassifiedEpisode(episode, kind, reason, is_settled=True)
        session = next(
            (
                one
                for one in self._by_id.get(settlement.session_id, ())
                if settlement.names(one.format, one.session_id)
            ),
            None,
        )
        if session is None:
            raise settlement.unknown_session()
        return ClassifiedEpisode(episode, EpisodeClass.MATCHED, reason, session, is_settled=True)

    def _classified(self, one: "_ReadEpisode", *, is_prompt_writer: bool) -> ClassifiedEpisode:
        names, candidates = one.names, one.candidates
        if names and len(names.sessions) == 1:
            reason = f"its {names.field} names session {names.name}"
            session = self._sessions[names.sessions[0]]
            return ClassifiedEpisode(one.episode, EpisodeClass.MATCHED, reason, session)
        if names and names.sessions:
            kind, reason = one.among_the_named(names)
        elif candidates is not None and one.is_similar:
            kind, reason = one.by_prompt_writer() if is_prompt_writer else one.by_text()
        elif names:
            reason = f"its {names.field} names session {names.name}, which no archive holds"
            kind = EpisodeClass.ARCHIVE_GONE
        elif one.looks_like_one:
            reason = "it looks like session-level data, and resembles no session of the archives"
            kind = EpisodeClass.ARCHIVE_GONE
        else:
            reason, kind = "it names no session, and resembles none enough", EpisodeClass.FOREIGN
        if candidates is None:
            return ClassifiedEpisode(one.episode, kind, reason)
        second, is_by_time = candidates.runner_up, is_prompt_writer and candidates.is_prompt
        return ClassifiedEpisode(
            one.episode,
            kind,
            reason,
            self._sessions[candidates.best],
            None if second is None else self._sessions[second],
            candidates.confidence_if_prompt if is_by_time else candidates.confidence,
            candidates.similarity,
        )


def _with_turns(one: ClassifiedEpisode) -> ClassifiedEpisode:
    """Return the episode in another class if its session has no turn to replace it."""
    if one.kind is not EpisodeClass.MATCHED or one.session is None or one.session.turns:
        return one
    reason = f"{one.reason}; but no turn of this session is kept"
    return replace(one, kind=EpisodeClass.WITHOUT_TURNS, reason=reason)


@dataclass(slots=True)
class _ReadEpisode:
    """An episode, the sessions that it names, and those that it resembles."""

    episode: UnrecordedEpisode
    names: NamedSessions | None
    candidates: Candidates | None
    look: "_Look"
    looks_like_one: bool = False

    @property
    def is_similar(self) -> bool:
        enough = SIMILAR if self.looks_like_one else VERY_SIMILAR
        return self.candidates is not None and self.candidates.similarity >= enough

    @property
    def is_decided_by_text(self) -> bool:
        """Whether its text fits one session, and fits it well enough."""
        found = self.candidates
        if found is None or not self.is_similar:
            return False
        return found.similarity >= ENOUGH and found.confidence >= CONFIDENT

    def by_text(self) -> tuple[EpisodeClass, str]:
        if self.is_decided_by_text:
            return EpisodeClass.MATCHED, "its time and its text fit this session best"
        if self.candidates is not None and self.candidates.confidence >= CONFIDENT:
            return EpisodeClass.AMBIGUOUS, "its text resembles this session most, but not much"
        return EpisodeClass.AMBIGUOUS, "its text fits two sessions about as well"

    def by_prompt_writer(self) -> tuple[EpisodeClass, str]:
        found = self.candidates
        if found is not None and found.is_prompt and found.confidence_if_prompt >= CONFIDENT:
            return EpisodeClass.MATCHED, "it is dated when this session ended, and fits it best"
        if found is not None and found.is_prompt:
            return self.by_text()
        if found is not None and found.similarity >= VERY_SIMILAR:
            reason = "its text fits a session that did not end when it is dated"
            return EpisodeClass.AMBIGUOUS, reason
        reason = "no session of the archives that it resembles ended when it is dated"
        return EpisodeClass.ARCHIVE_GONE, reason

    def among_the_named(self, names: NamedSessions) -> tuple[EpisodeClass, str]:
        reason = f"its {names.field} names {len(names.sessions)} sessions"
        if self.candidates is not None and self.candidates.confidence >= CONFIDENT:
            return EpisodeClass.MATCHED, f"{reason}, and its text fits this one best"
        return EpisodeClass.AMBIGUOUS, reason


_Look = tuple[str, str, str]
_SIGN = re.compile(r"\b(?:session|conversation|transcript)s?\b", re.IGNORECASE)
_VARIABLE = re.compile(r"[0-9a-f]*\d[\w.:-]*|\S*[/`'\"]\S*")
_LOOK_WORDS = 3


def _has_sign(one: _ReadEpisode) -> bool:
    """Return whether name or description say that the episode is about a session."""
    episode = one.episode
    return bool(_SIGN.search(f"{episode.name.replace('_', ' ')} {episode.source_description}"))


def _look(episode: UnrecordedEpisode) -> _Look:
    """Return what episodes of one writer have in common, whatever they are about."""
    return (episode.source, _pattern(episode.name), _pattern(episode.source_description))


def _pattern(text: str) -> str:
    head = text.partition(":")[0]
    return " ".join(_VARIABLE.sub("#", head.lower()).split()[:_LOOK_WORDS])
