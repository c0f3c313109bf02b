"""Groups for the tests of communities: entities, and facts that connect them."""

from collections.abc import Iterable

from tests.summaries.facts import START, fact
from turnetl.base.model import Entity, Fact, GroupId, TurnId

ZOO = GroupId("zoo")


def entity(uuid: str, name: str = "") -> Entity:
    return Entity(uuid, ZOO, name or uuid, ("Concept",), "", START)


def entities(uuids: Iterable[str]) -> list[Entity]:
    return [entity(uuid) for uuid in sorted(set(uuids))]


def facts(*pairs: str) -> list[Fact]:
    """Return a fact for each pair of one-letter uuids, such as `ab`; two turns state them."""
    return [
        fact(
            f"f{number}",
            f"{pair} {number}",
            source=pair[0],
            target=pair[1],
            turns=(TurnId(f"t{number % 2}"),),
        )
        for number, pair in enumerate(pairs)
    ]


def clique(uuids: str) -> list[str]:
    """Return all pairs of these one-letter uuids."""
    return [one + other for one in uuids for other in uuids if one < other]
