"""Which session each episode of a session-level graph summarises, or what else it is."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

from turnetl.base.model import SessionId
from turnetl.base.results import INLINED, described
from turnetl.graph.unrecorded import UnrecordedEpisode
from turnetl.migration.candidates import Candidates, SessionComparison
from turnetl.migration.plan_file import Settlement, Verdict
from turnetl.migration.session_ids import NamedSessions, SessionIds
from turnetl.migration.sessions import ArchivedSession


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
    def session_id(
        self,
    ) -> Annotated[
        SessionId | None,
        described("Its session, or the one that it resembles most; null if none."),
    ]:
        return self.session.session_id if self.session else None

    @property
    def format(self) -> Annotated[str | None, described("Format of that session; null if none.")]:
        return self.session.format if self.session else None

    @property
    def runner_up_id(
        self,
    ) -> Annotated[
        SessionId | None,
        described("Id of the session that it resembles next; null if none.", name="runner_up"),
    ]:
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
        self._by_id: dict[str, list[ArchivedSession]] = defaultdict(list)
        for session in sessions:
            self._by_id[session.session_id].append(session)

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
        names = self._ids.find(episode)
        if names and len(names.sessions) == 1:
            return _ReadEpisode(episode, names, None)
        allowed = names.sessions if names and names.sessions else None
        return _ReadEpisode(episode, names, self._comparison.candidates(episode, allowed))

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
    """Return the episode; of another class if its session has no turn to replace it."""
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
    looks_like_one: bool = False
    """Whether it looks like session-level data."""
    look: "_Look" = field(init=False)

    def __post_init__(self) -> None:
        self.look = _look(self.episode)

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
        """Return the class of an episode that resembles a session."""
        if self.is_decided_by_text:
            return EpisodeClass.MATCHED, "its time and its text fit this session best"
        if self.candidates is not None and self.candidates.confidence >= CONFIDENT:
            return EpisodeClass.AMBIGUOUS, "its text resembles this session most, but not much"
        return EpisodeClass.AMBIGUOUS, "its text fits two sessions about as well"

    def by_prompt_writer(self) -> tuple[EpisodeClass, str]:
        """Return the same, if its writer summarises each session when it ends."""
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
        """Return the class of an episode that names several sessions of the archives."""
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
