"""What remains of the summaries of a group when turns are undone.

A summary quotes facts of earlier turns. Without one of them, the summaries that later turns made of
the same entity are taken back, and are due: a run makes new ones.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from turnetl.base.model import TurnId
from turnetl.summaries.gate import EVERY_FACT
from turnetl.summaries.records import EntityRecord, decode, encode_records


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
        """Return the uuids of the entities that the records of the turns name."""
        places = (self._places[turn] for turn in turns if turn in self._places)
        return {record.entity for place in places for record in self._records[place]}

    def undo(
        self, turn: TurnId, removed: Collection[str], changed_entities: Collection[str] = ()
    ) -> UndoneSummaries:
        """Undo a turn.

        Args:
            turn: one that is unknown changes nothing.
            removed: uuids of the entities that are removed with it.
            changed_entities: of a turn that records no summaries, the uuids of the entities that it
                changed: its before-images restore them, and what later turns wrote is taken back.
        """
        if turn not in self._places:
            return UndoneSummaries({}, {})
        place = self._places.pop(turn)
        if not self._records[place]:
            return self._undo_unrecorded(place, removed, changed_entities)
        texts: dict[str, tuple[str, str]] = {}
        changed: set[int] = set()
        for uuid in dict.fromkeys(record.entity for record in self._records[place]):
            before = self._shown(uuid)
            changed |= self._undo_entity(uuid, place, is_removed=uuid in removed)
            texts[uuid] = before, self._shown(uuid)
        self._records[place] = []
        return UndoneSummaries(
            texts, {self._turns[later]: self._json(later) for later in sorted(changed)}
        )

    def _undo_unrecorded(
        self, place: int, removed: Collection[str], changed_entities: Collection[str]
    ) -> UndoneSummaries:
        changed: set[int] = set()
        for uuid in sorted({*changed_entities, *removed} & self._touched.keys()):
            changed |= self._undo_entity(uuid, place, is_removed=uuid in removed)
            self._written.pop(uuid, None)
        records = {self._turns[later]: self._json(later) for later in sorted(changed)}
        return UndoneSummaries({}, records)

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
        """Take back the summary of an entity in a record; return whether the record changes."""
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
    """Return the record of a turn that deferred the summary.

    Its facts are others than those for which the summariser returned no text.
    """
    return EntityRecord(
        record.entity,
        turns=record.turns,
        deferred=max(1, record.deferred),
        pending=(EVERY_FACT,),
    )
