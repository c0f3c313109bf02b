"""A migration whose old data has everything that moves, and commands that are killed between steps.

The clock is read before each transaction: one that raises is a kill there.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from graphiti_core.edges import CommunityEdge, HasEpisodeEdge
from graphiti_core.nodes import CommunityNode, SagaNode

from tests.builders import START
from tests.cli.command import SAMPLES
from tests.graph.test_graphiti_reads import graphiti
from tests.legacy.graphs import DIMENSIONS, entity_uuid, vector
from tests.legacy.migrating import GROUP, dumped, fill, migrated, turnetl
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode
from turnetl.base.clock import now
from turnetl.base.ids import turns_group
from turnetl.base.model import GroupId
from turnetl.graph.open import open_graph
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.moves import MigrationChange, MigrationCommand
from turnetl.settings import load_settings

SESSIONS = 3
COMMUNITY = "7c4f6f0e-5f0b-5a4e-8f64-0d5a3f3e8a11"
"""Derived from its members, as those of turnetl."""


class StepKilled(BaseException):
    """The process died."""


def ready(folder: Path, url: str) -> list[str]:
    """Migrate a few sessions up to the cutover; return the graph.

    Their files are in a community, their episodes in a saga, the turns in communities.
    """
    sessions = few_sessions()
    fill(url, sessions)
    asyncio.run(_write_saga_and_community(url, sessions))
    migrated(folder, url)
    built = turnetl(folder, url, "communities", "build", "--group", turns_group(GROUP))
    assert built.exit_code == 0, built.stderr
    return dumped(url)


def few_sessions() -> Sequence[LegacySession]:
    """Return sessions with files, each with a custom label."""
    return [one for one in legacy_sessions(Path(SAMPLES)) if len(one.files) > 1][:SESSIONS]


def change(
    folder: Path,
    url: str,
    command: MigrationCommand,
    clock: Callable[[], datetime] = now,
    *,
    discard: bool = False,
) -> MigrationChange:
    settings = load_settings(None, graph=url, lake=folder / "lake")
    options = ChangeOptions(command, accept=True, discard=discard)
    done = asyncio.run(execute_change(settings, options, clock))
    assert done.is_done, done.error
    return done


def killed(
    folder: Path, url: str, command: MigrationCommand, reading: int, *, discard: bool = False
) -> bool:
    """Kill the command at a reading of the clock; return whether it read it that often."""
    left = reading

    def clock() -> datetime:
        nonlocal left
        left -= 1
        if left == 0:
            raise StepKilled
        return now()

    try:
        change(folder, url, command, clock, discard=discard)
    except StepKilled:
        return True
    return False


def uuids(url: str, kind: str, group: GroupId) -> list[str]:
    """Return the uuids of the nodes of a kind of a group."""

    async def read() -> list[str]:
        store = await open_graph(url, user="", password="", write=False)
        tables = await store.tables(group)
        communities = await store.communities(group)
        await store.close()
        if kind == "communities":
            return [one.uuid for one in communities]
        return list(getattr(tables, kind)["uuid"])

    return asyncio.run(read())


async def _write_saga_and_community(url: str, sessions: Sequence[LegacySession]) -> None:
    driver = await graphiti(url)
    episodes = [legacy_episode(one, LegacyStyle.NAME).uuid for one in sessions]
    saga = SagaNode(uuid="saga-old", name="all sessions", group_id=GROUP, created_at=START)
    community = CommunityNode(
        uuid=COMMUNITY,
        name="files",
        group_id=GROUP,
        created_at=START,
        summary="What is changed.",
        name_embedding=vector("files", DIMENSIONS),
    )
    await saga.save(driver)
    await community.save(driver)
    for place, episode in enumerate(episodes):
        await HasEpisodeEdge(
            uuid=f"has-episode-{place}",
            source_node_uuid=saga.uuid,
            target_node_uuid=episode,
            group_id=GROUP,
            created_at=START,
        ).save(driver)
    for place, entity in enumerate(_entities_of(sessions)):
        await CommunityEdge(
            uuid=f"has-member-{place}",
            source_node_uuid=community.uuid,
            target_node_uuid=entity,
            group_id=GROUP,
            created_at=START,
        ).save(driver)
    await driver.close()


def _entities_of(sessions: Sequence[LegacySession]) -> list[str]:
    names = {file for one in sessions for file in one.files}
    return sorted(entity_uuid(GROUP, name) for name in names)
