"""From facts, entities and episodes to their turns, and so to archives and lines."""

from collections.abc import Iterable
from itertools import chain

from turnetl.base.graph_model import Receipt
from turnetl.base.model import TurnId
from turnetl.graph.from_rows import chunk_ids
from turnetl.graph.search.searched_graph import SearchedGroup


class Lineage:
    """The turns of facts, entities and episodes: their receipts name archive and lines."""

    def __init__(self, groups: Iterable[SearchedGroup]) -> None:
        groups = tuple(groups)
        self._receipts = {
            receipt.turn_id: receipt for group in groups for receipt in group.contents.receipts
        }
        self._by_episode = turns_by_episode(self._receipts.values())
        self._by_entity: dict[str, list[str]] = {}
        for mention in chain.from_iterable(group.subgraphs.mentions for group in groups):
            self._by_entity.setdefault(mention.entity, []).append(mention.episode)

    def of_turns(self, turns: Iterable[TurnId]) -> tuple[Receipt, ...]:
        """Return the receipts of these turns, oldest first; a turn without one is omitted."""
        known = [self._receipts[turn] for turn in set(turns) if turn in self._receipts]
        return tuple(sorted(known, key=lambda receipt: (receipt.started_at, receipt.turn_id)))

    def of_entity(self, uuid: str) -> tuple[Receipt, ...]:
        """Return the receipts of the turns that mention the entity, oldest first."""
        episodes = self._by_entity.get(uuid, ())
        return self.of_turns(
            self._by_episode[episode] for episode in episodes if episode in self._by_episode
        )

    def of_episode(self, uuid: str) -> Receipt | None:
        """Return the receipt of the episode's turn; None if it has none."""
        turn = self._by_episode.get(uuid)
        return self._receipts[turn] if turn is not None else None


def turns_by_episode(receipts: Iterable[Receipt]) -> dict[str, TurnId]:
    """Return the turn of each episode, by the episode's uuid: long turns have several."""
    return {uuid: receipt.turn_id for receipt in receipts for uuid in chunk_ids(receipt)}
