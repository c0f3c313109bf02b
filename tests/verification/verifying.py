"""Verify the sample group of a graph, and plant errors in it, as another program could."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from tests.builders import GROUP
from tests.graph import committing
from tests.graph.committing import acquire, opened
from tests.graph.sample_changes import NOW, TTL, change, entity, fact, history, long_history
from tests.graph.statements import run_statements
from turnetl.base.graph_model import GroupVersion
from turnetl.base.model import Change, SessionId
from turnetl.graph.port import GraphStore
from turnetl.verification.check import Check
from turnetl.verification.verify import IndexedTurns, read_group, verify_group
from turnetl.verification.verify_report import GroupVerification

LAKE = pl.Schema({"turn_id": pl.String, "content_hash": pl.String, "noise": pl.String})


def sample_turns() -> list[Change]:
    """Return two sessions: one of three turns, two of them in chunks, and one of one turn."""
    other = entity("other.py")
    note = entity("a note", "Concept")
    alone = change(
        "q0",
        [other, note],
        [fact(history()[0].episode.turn_id, other, note, "a note about other.py")],
        session_id=SessionId("s2"),
    )
    return [*long_history(), alone]


async def fill(url: str, turns: Sequence[Change] | None = None) -> None:
    """Commit the turns, by default the sample turns."""
    await committing.fill(url, sample_turns() if turns is None else turns)


async def plant(url: str, *statements: str) -> None:
    """Run the statements, each of which must be valid Cypher of the store."""
    await run_statements(url, *statements)


async def verify_store(
    store: GraphStore, lake: pl.DataFrame | None = None, indexed: IndexedTurns | None = None
) -> GroupVerification:
    state = await read_group(store, GROUP)
    version = (await store.versions()).get(GROUP, GroupVersion(0, 0))
    turns = state.known_commits.select("turn_id", "content_hash", noise=pl.lit(None, pl.String))
    return verify_group(state, turns if lake is None else lake, indexed, version, examples=5)


async def verify_url(url: str) -> GroupVerification:
    async with opened(url) as store:
        return await verify_store(store)


async def repair_store(store: GraphStore) -> int:
    """Make all repairs; return their number."""
    repairs = (await verify_store(store)).repairs
    lease = await acquire(store)
    for repair in repairs:
        await store.repair(lease, repair, now=NOW, ttl=TTL)
    await store.release(lease)
    return len(repairs)


def found(verification: GroupVerification) -> dict[Check, int]:
    return {finding.check: finding.count for finding in verification.findings}


@dataclass(frozen=True)
class PlantedError:
    """An error that statements plant in the sample group, and exactly what must be found."""

    name: str
    ladybug: tuple[str, ...]
    neo4j: tuple[str, ...]
    expected: dict[Check, int]
    is_repaired: bool = False
    only: str = ""
    """The only store in which it can exist."""
    expected_in_neo4j: dict[Check, int] = field(default_factory=dict)
    """If it differs: a fact there is a relationship, and goes with its entity."""

    def statements(self, url: str) -> tuple[str, ...]:
        return self.ladybug if url.startswith("ladybug") else self.neo4j

    def findings(self, url: str) -> dict[Check, int]:
        is_ladybug = url.startswith("ladybug")
        return self.expected if is_ladybug else self.expected_in_neo4j or self.expected
