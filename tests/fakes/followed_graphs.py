"""A graph of loaded groups, as an index reads it."""

from collections.abc import Collection, Mapping, Sequence

from turnetl.base.graph_model import CommittedTurn, GroupContents, GroupVersion, Receipt
from turnetl.base.model import Entity, Fact, GroupId, TurnId


class LoadedGraph:
    """`FollowedGraph` over groups in memory."""

    def __init__(
        self, *groups: GroupContents, sequences: Mapping[TurnId, int] = {}, creation_id: str = ""
    ) -> None:
        """Hold groups.

        Args:
            groups: their turns were committed in the order of the receipts.
            sequences: number of the commit of each turn; without it, its position.
            creation_id: of all groups.
        """
        self._creation_id = creation_id
        self._groups = {group.group_id: group for group in groups}
        self._sequences = {
            receipt.turn_id: sequences.get(receipt.turn_id, number)
            for group in groups
            for number, receipt in enumerate(group.receipts, start=1)
        }

    async def versions(self) -> Mapping[GroupId, GroupVersion]:
        return {
            name: GroupVersion(
                max((self._sequences[receipt.turn_id] for receipt in group.receipts), default=0),
                len(group.receipts),
                self._creation_id,
            )
            for name, group in self._groups.items()
        }

    async def commits(self, group: GroupId, after: int, limit: int) -> Sequence[CommittedTurn]:
        numbered = [
            (self._sequences[receipt.turn_id], receipt) for receipt in self._groups[group].receipts
        ]
        return [
            self._commit(group, receipt, number)
            for number, receipt in sorted(numbered, key=lambda pair: pair[0])
            if number > after
        ][:limit]

    async def turn_ids(self, group: GroupId) -> frozenset[TurnId]:
        return frozenset(receipt.turn_id for receipt in self._groups[group].receipts)

    async def entities(self, group: GroupId, uuids: Collection[str]) -> Sequence[Entity]:
        held = self._groups[group].entities if group in self._groups else ()
        return [entity for entity in held if entity.uuid in uuids]

    async def facts(self, group: GroupId, uuids: Collection[str]) -> Sequence[Fact]:
        held = self._groups[group].facts if group in self._groups else ()
        return [fact for fact in held if fact.uuid in uuids]

    async def pause(self) -> None:
        pass

    def _commit(self, group: GroupId, receipt: Receipt, number: int) -> CommittedTurn:
        contents = self._groups[group]
        facts = [fact for fact in contents.facts if receipt.turn_id in fact.turns]
        ends = {end for fact in facts for end in (fact.source, fact.target)}
        return CommittedTurn(
            receipt,
            number,
            contents.texts.get(receipt.turn_id, ""),
            tuple(sorted(ends)),
            tuple(sorted(fact.uuid for fact in facts)),
        )
