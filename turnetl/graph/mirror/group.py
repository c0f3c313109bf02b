"""A group in memory. It has one writer, so the writer holds it: read once, applied after each commit."""

from collections.abc import Iterable, Sequence

from turnetl.model import Change, Entity, Episode, Fact, GroupContents, GroupId, Receipt, TurnId


class Group:
    """Entities, facts and committed turns of one group, as the graph holds them.

    Nothing in here asks the database. `apply` is to be called only after the commit succeeded.
    """

    def __init__(self, contents: GroupContents) -> None:
        self.group_id: GroupId = contents.group_id
        self._entities = {entity.uuid: entity for entity in contents.entities}
        self._facts = {fact.uuid: fact for fact in contents.facts}
        self._receipts = {receipt.turn_id: receipt for receipt in contents.receipts}
        self._texts = dict(contents.texts)
        self._from: dict[tuple[str, str], list[str]] = {}
        self._sessions: dict[str, list[Receipt]] = {}
        for fact in contents.facts:
            self._from.setdefault((fact.source, fact.name), []).append(fact.uuid)
        for receipt in contents.receipts:
            self._sessions.setdefault(receipt.session_id, []).append(receipt)

    @property
    def entities(self) -> Iterable[Entity]:
        """All entities, in the order of their creation."""
        return self._entities.values()

    @property
    def facts(self) -> Iterable[Fact]:
        """All facts, retired ones too, in the order of their creation."""
        return self._facts.values()

    @property
    def receipts(self) -> Iterable[Receipt]:
        return self._receipts.values()

    def entity(self, uuid: str) -> Entity | None:
        return self._entities.get(uuid)

    def fact(self, uuid: str) -> Fact | None:
        return self._facts.get(uuid)

    def committed(self, turn: TurnId) -> bool:
        return turn in self._receipts

    def text(self, turn: TurnId) -> str | None:
        return self._texts.get(turn)

    def open_facts(self, source: str, name: str) -> Sequence[Fact]:
        """Return the facts of that kind about `source` that nothing has ended yet, oldest first."""
        facts = (self._facts[uuid] for uuid in self._from.get((source, name), ()))
        return [fact for fact in facts if fact.invalid_at is None]

    def neighbours(self, episode: Episode) -> tuple[TurnId | None, TurnId | None]:
        """Return the committed turns just before and just after the episode in its session.

        By (started_at, turn_id): history may arrive late, and ordinals move when it does.
        """
        place = (episode.turn.started_at, episode.turn_id)
        session = self._sessions.get(episode.turn.session_id, [])
        before = [r for r in session if (r.started_at, r.turn_id) < place]
        after = [r for r in session if (r.started_at, r.turn_id) > place]
        previous = max(before, key=_place).turn_id if before else None
        following = min(after, key=_place).turn_id if after else None
        return previous, following

    def apply(self, change: Change, receipt: Receipt) -> None:
        """Make the committed change part of what is in memory."""
        for entity in change.entities:
            self._entities[entity.uuid] = entity
        for fact in change.facts:
            if fact.uuid not in self._facts:
                self._from.setdefault((fact.source, fact.name), []).append(fact.uuid)
            self._facts[fact.uuid] = fact
        self._receipts[receipt.turn_id] = receipt
        self._sessions.setdefault(receipt.session_id, []).append(receipt)
        self._texts[receipt.turn_id] = change.episode.text


def _place(receipt: Receipt) -> tuple[object, str]:
    return receipt.started_at, receipt.turn_id
