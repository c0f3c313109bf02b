"""What a turn records about the summaries of the entities that it touches: JSON in its TurnCommit.

The state of the gate follows from the records of all turns of the group, in the order of their
commits. Without the latest turns, it is what it was before them: an undo has nothing to restore. A
record repeats nothing that an earlier record of the entity holds: the vector and the text of a
summary are recorded once.

A summary quotes facts of earlier turns. When one of them is undone, the summaries that later turns
made of the same entity are taken back, and are due: a run makes new ones.
"""

from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache

import msgspec
import numpy as np

from turnetl.base.errors import GraphUnusable
from turnetl.base.model import TurnId, Vector
from turnetl.llm.vectors import pack, unpack
from turnetl.summaries.gate import EVERY_FACT, GateState

_MAX_BYTE = 127
_SMALLEST_NORM = 1e-9


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """The summary of an entity, and the state of its gate."""

    state: GateState = field(default_factory=GateState)
    text: str = ""
    """As the latest turn that refreshed it wrote it."""
    flushed: str | None = None
    """As the end of a run wrote it later, because it was deferred. No decision depends on it, so
    that one run and ten decide alike."""
    is_flushed: bool = False
    """Whether no turn about the entity was committed since `flushed` was written."""

    @property
    def shown(self) -> str:
        """The text that the entity has, unless someone edited it."""
        return self.text if self.flushed is None else self.flushed


class Refresh(msgspec.Struct, frozen=True, omit_defaults=True):
    """A new summary, and what it was made of."""

    facts: str
    at: datetime
    text: str
    vector: str | None = None
    embedder: str | None = None
    """`GateState.embedder`. A vector without one is compared with no other that has one."""
    replaced: str = ""
    """The summary before the first one that a turn recorded; empty if there was none."""


class EntityRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a turn records about one entity."""

    entity: str
    refresh: Refresh | None = None
    turns: tuple[datetime, ...] = ()
    deferred: int = 0
    pending: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    failures: int = 0
    pause: int = 0
    asked_early: bool = False
    flushed: str | None = None
    """A record with it holds nothing else."""

    @property
    def text(self) -> str | None:
        """The summary that it writes, if it writes one."""
        return self.flushed if self.refresh is None else self.refresh.text


_decoder = msgspec.json.Decoder(list[EntityRecord])


def encode(summaries: Mapping[str, EntitySummary], refreshed: Mapping[str, str]) -> str:
    """Return the JSON that a turn records, with the summaries that it refreshed.

    `refreshed` has, by uuid, the replaced summary if no turn recorded it, or an empty text.
    """
    records = [_record(uuid, summaries[uuid], refreshed.get(uuid)) for uuid in sorted(summaries)]
    return encode_records(records)


def encode_records(records: Iterable[EntityRecord]) -> str:
    return msgspec.json.encode(list(records)).decode()


def decode(record: str) -> list[EntityRecord]:
    """Return the records in the JSON of a turn; none if it is empty.

    Raises:
        GraphUnusable: the text is no record of this version.
    """
    try:
        return _decoder.decode(record) if record else []
    except msgspec.DecodeError as error:
        raise GraphUnusable(f"the record of a turn's summaries cannot be read: {error}") from error


def with_flushed(record: str, texts: Mapping[str, str]) -> str:
    """Return the record of the latest turn with the summaries, by uuid, that a run's end wrote."""
    flushed = [EntityRecord(uuid, flushed=text) for uuid, text in sorted(texts.items())]
    return encode_records([*decode(record), *flushed])


def replay(records: Iterable[str]) -> dict[str, EntitySummary]:
    """Return the summaries after turns with these records, in the order of the commits, by uuid."""
    summaries: dict[str, EntitySummary] = {}
    for record in records:
        add_record(summaries, record)
    return summaries


def add_record(
    summaries: MutableMapping[str, EntitySummary], record: str
) -> Mapping[str, EntitySummary]:
    """Apply the record of the next turn; return the summaries of its entities before it."""
    before: dict[str, EntitySummary] = {}
    for of_entity in decode(record):
        known = summaries.get(of_entity.entity, EntitySummary())
        before.setdefault(of_entity.entity, known)
        summaries[of_entity.entity] = _apply(known, of_entity)
    return before


def _record(uuid: str, summary: EntitySummary, replaced: str | None) -> EntityRecord:
    state = summary.state
    refresh = None
    if replaced is not None and state.fact_hash is not None and state.summarised_at is not None:
        vector = None if state.embedding is None else _to_text(state.embedding)
        at, text = state.summarised_at, summary.text
        refresh = Refresh(state.fact_hash, at, text, vector, state.embedder, replaced)
    return EntityRecord(
        uuid,
        refresh,
        state.recent_turns,
        state.deferred,
        state.pending,
        state.ended,
        state.failures,
        state.pause,
        state.asked_early,
    )


def _apply(known: EntitySummary, record: EntityRecord) -> EntitySummary:
    if record.flushed is not None:
        return replace(known, flushed=record.flushed, is_flushed=True)
    state, refresh = known.state, record.refresh
    return EntitySummary(
        GateState(
            fact_hash=refresh.facts if refresh else state.fact_hash,
            embedding=_from_text(refresh.vector) if refresh else state.embedding,
            embedder=refresh.embedder if refresh else state.embedder,
            summarised_at=refresh.at.astimezone(UTC) if refresh else state.summarised_at,
            recent_turns=tuple(time.astimezone(UTC) for time in record.turns),
            deferred=record.deferred,
            pending=record.pending,
            ended=record.ended,
            failures=record.failures,
            pause=record.pause,
            asked_early=record.asked_early,
        ),
        refresh.text if refresh else known.text,
        None if refresh else known.flushed,
    )


def _to_text(vector: Vector) -> str:
    """Return the vector with one byte a number: a cosine with it differs by less than 0.001."""
    numbers = unpack(vector)
    scaled = numbers * (_MAX_BYTE / max(float(np.abs(numbers).max(initial=0)), _SMALLEST_NORM))
    return b64encode(np.rint(scaled).astype(np.int8).tobytes()).decode("ascii")


# A record is applied to what runs ahead of it too, several times.
@lru_cache(maxsize=256)
def _from_text(text: str | None) -> Vector | None:
    if text is None:
        return None
    try:
        numbers = np.frombuffer(b64decode(text, validate=True), dtype=np.int8).astype(np.float64)
    except ValueError as error:
        raise GraphUnusable(f"the vector of a summary cannot be read: {error}") from error
    return pack(numbers / max(float(np.linalg.norm(numbers)), _SMALLEST_NORM))


@dataclass(frozen=True, slots=True)
class UndoneSummaries:
    """What the undo of a turn does with summaries and records."""

    texts: Mapping[str, tuple[str, str]]
    """Of each entity that the turn names: its recorded summary before and after the undo."""
    records: Mapping[TurnId, str]
    """Of the later turns whose records change."""


class RecordedSummaries:
    """The records of a group, without those of the turns that were undone."""

    def __init__(self, records: Mapping[TurnId, str]) -> None:
        """Start with the records of all turns, in the order of the commits."""
        self._turns = list(records)
        self._places = {turn: place for place, turn in enumerate(self._turns)}
        self._records = [decode(record) for record in records.values()]
        self._touched: dict[str, list[int]] = {}
        # The places of the turns that wrote a summary of the entity, each with the summary; before
        # all turns, the one that no turn recorded.
        self._written: dict[str, list[tuple[int, str]]] = {}
        for place, of_turn in enumerate(self._records):
            for record in of_turn:
                self._touched.setdefault(record.entity, []).append(place)
                if record.text is not None:
                    written = self._written.setdefault(record.entity, [])
                    if record.refresh is not None and record.refresh.replaced:
                        written.append((_BEFORE_ALL, record.refresh.replaced))
                    written.append((place, record.text))

    @property
    def records(self) -> Mapping[TurnId, str]:
        """The records of the turns that were not undone, in the order of the commits."""
        return {turn: self._json(place) for turn, place in self._places.items()}

    def entities(self, turns: Iterable[TurnId]) -> set[str]:
        places = (self._places[turn] for turn in turns if turn in self._places)
        return {record.entity for place in places for record in self._records[place]}

    def undo(
        self, turn: TurnId, removed: Collection[str], changed_entities: Collection[str] = ()
    ) -> UndoneSummaries:
        """Undo a turn, with which these entities are removed; one that is unknown changes nothing.

        Args:
            changed_entities: of a turn that records no summaries, the uuids of the entities that it
                changed: its before-images restore them, and what later turns wrote is taken back.
        """
        if turn not in self._places:
            return UndoneSummaries({}, {})
        place = self._places.pop(turn)
        texts: dict[str, tuple[str, str]] = {}
        changed: set[int] = set()
        for uuid in dict.fromkeys(record.entity for record in self._records[place]):
            before = self._shown(uuid)
            changed |= self._undo_entity(uuid, place, is_removed=uuid in removed)
            texts[uuid] = before, self._shown(uuid)
        if not self._records[place]:
            for uuid in sorted({*changed_entities, *removed} & self._touched.keys()):
                changed |= self._undo_entity(uuid, place, is_removed=uuid in removed)
                self._written.pop(uuid, None)
        self._records[place] = []
        return UndoneSummaries(
            texts, {self._turns[later]: self._json(later) for later in sorted(changed)}
        )

    def _undo_entity(self, uuid: str, place: int, *, is_removed: bool) -> set[int]:
        """Undo what a turn and later ones did with an entity; return the places that change."""
        written, touched = self._written.get(uuid, []), self._touched[uuid]
        first = bisect_left(touched, place)
        later = dict.fromkeys(touched[bisect_right(touched, place) :])
        is_taken_back = bool(written) and written[-1][0] >= place
        while written and written[-1][0] >= place:
            written.pop()
        touched[first:] = () if is_removed else later
        return {
            other
            for other in later
            if self._rewrite(other, uuid, is_removed=is_removed, is_due=is_taken_back)
        }

    def _rewrite(self, place: int, uuid: str, *, is_removed: bool, is_due: bool) -> bool:
        rewritten = []
        for record in self._records[place]:
            if record.entity != uuid:
                rewritten.append(record)
            elif not is_removed and record.flushed is None:
                rewritten.append(_due(record) if is_due else record)
        is_changed = rewritten != self._records[place]
        self._records[place] = rewritten
        return is_changed

    def _shown(self, uuid: str) -> str:
        written = self._written.get(uuid)
        return written[-1][1] if written else ""

    def _json(self, place: int) -> str:
        return encode_records(self._records[place])


_BEFORE_ALL = -1
"""The place of a summary that no turn recorded."""


def _due(record: EntityRecord) -> EntityRecord:
    """Return the record of a turn that deferred the summary; failures concerned other facts."""
    return EntityRecord(
        record.entity,
        turns=record.turns,
        deferred=max(1, record.deferred),
        pending=(EVERY_FACT,),
    )
