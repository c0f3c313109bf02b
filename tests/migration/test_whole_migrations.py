"""Whatever a group holds: what a migration writes is taken back completely, or completed exactly.

Every command is stopped at any boundary of its batches, and repeated.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.cli.archives import conversation, write_archive
from tests.graph.graph_dump import dump_graph
from tests.legacy.generated import LegacyGraph, legacy_graphs
from tests.legacy.graphs import write_foreign_data
from tests.legacy.migrating import StopAfter, StoppedError, states_of_graph
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode
from tests.servers.neo4j_server import Neo4jServer
from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.ids import turns_group
from turnetl.base.model import GroupId
from turnetl.graph.migrations import MigrationPhase
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.moves import MigrationCommand
from turnetl.migration.plan import MigrationOptions
from turnetl.migration.run_migration import run_migration
from turnetl.settings import Settings

GROUP = GroupId("old-summaries")
CUTOVER, ROLLBACK = MigrationCommand.CUTOVER, MigrationCommand.ROLLBACK
FINISH = MigrationCommand.FINISH
EXAMPLES = {"ladybug": 4, "neo4j": 2}
"""One example takes two seconds of CPU."""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the archives of three sessions."""
    folder = tmp_path_factory.mktemp("archives")
    prompts = (
        ("Edit `cart.py`.", "Round the totals."),
        ("Test `orders.py`.",),
        ("Mail the invoice of `tax.py`.",),
    )
    for number, texts in enumerate(prompts):
        session = f"session-{number:04}-abcd"
        at = datetime(2026, 3, 2, 9 + number, tzinfo=UTC)
        write_archive(folder / f"{session}.jsonl", conversation(*texts, session=session, at=at))
    return folder


@dataclass(frozen=True)
class Stops:
    """After how many steps each command is stopped; 0: never."""

    batch: int
    steps: tuple[int, ...]


STOPS = st.builds(Stops, st.integers(1, 4), st.tuples(*(st.integers(0, 12) for _ in range(4))))


@dataclass(frozen=True)
class Migrating:
    """A migration of a generated graph."""

    url: str
    archives: Path
    lake: Path

    @property
    def settings(self) -> Settings:
        return Settings(lake=self.lake, graph=self.url, jobs=1)

    async def run(self) -> None:
        report = await run_migration(
            [str(self.archives)],
            self.settings,
            MigrationOptions(groups=(GROUP,)),
            pipeline.RunOptions(),
            now,
        )
        assert [state.phase for state in report.migrations] == [MigrationPhase.READY]

    async def change(
        self, command: MigrationCommand, stops: Stops, steps: int, *, discard: bool = False
    ) -> None:
        """Carry the change out; if it was stopped before, once more."""
        options = ChangeOptions(command, GROUP, accept=True, discard=discard, batch=stops.batch)
        try:
            await execute_change(self.settings, options, now, progress=StopAfter(steps))
        except StoppedError:
            report = await execute_change(self.settings, options, now)
            assert report.is_done, report

    async def check(self, graph: LegacyGraph, stops: Stops, ends: Sequence[str]) -> None:
        """Check every command on the graph, and these ends: each but the last one on a copy."""
        await graph.write(self.url)
        await write_foreign_data(self.url, "other-data")
        before_run = await dump_graph(self.url)
        await self.run()
        ready = await dump_graph(self.url)
        await self.change(CUTOVER, stops, stops.steps[0])
        await self.change(ROLLBACK, stops, stops.steps[1])
        assert await dump_graph(self.url) == ready
        await self.change(CUTOVER, stops, stops.steps[2])
        for end in ends[:-1]:
            await self.copy(end).check_end(end, graph, stops, before_run, ready)
        await self.check_end(ends[-1], graph, stops, before_run, ready)

    def copy(self, name: str) -> "Migrating":
        """Return a copy of an embedded graph."""
        path = Path(self.url.removeprefix("ladybug://"))
        copied = path.with_name(f"{path.stem}-{name}.lbug")
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, str(file).replace(str(path), str(copied)))
        return replace(self, url=f"ladybug://{copied}")

    async def check_end(
        self, end: str, graph: LegacyGraph, stops: Stops, before_run: list[str], ready: list[str]
    ) -> None:
        if end == "rollback":
            await self.change(ROLLBACK, stops, stops.steps[3], discard=True)
            assert await dump_graph(self.url) == before_run
            return
        *_, state = await states_of_graph(self.url)
        await self.change(FINISH, stops, stops.steps[3])
        turns = Counter(ready) - Counter(before_run)
        expected = [line.replace(turns_group(GROUP), GROUP) for line in turns.elements()]
        expected += map(_marked, graph.left_by(state.moved, before_run))
        assert await dump_graph(self.url) == sorted(expected)


def _marked(line: str) -> str:
    """Return the line with the mark of session-level data, if it is of an episode of the group."""
    label, row = msgspec.json.decode(line)
    if label not in ("Episodic", ["Episodic"]) or row["group_id"] != GROUP:
        return line
    return msgspec.json.encode(
        [label, row | {"turnetl_granularity": "session"}], order="sorted"
    ).decode()


def with_communities(sessions: Sequence[LegacySession]) -> LegacyGraph:
    """Return a graph whose communities are moved in one batch and their entities in another."""
    episodes = [
        replace(legacy_episode(session, LegacyStyle.NAME), files=(f"{number}.py",))
        for number, session in enumerate(sessions[:2])
    ]
    return LegacyGraph(GROUP, tuple(episodes), (), (("1.py",), ("1.py",)))


ENDS = ("rollback", "finish")


@pytest.mark.full
@pytest.mark.parametrize(
    ("url", "ends"),
    [
        ("ladybug", ENDS),
        *(
            pytest.param("neo4j", (end,), marks=pytest.mark.neo4j, id=f"neo4j-{end}")
            for end in ENDS
        ),
    ],
)
def test_any_migration_is_taken_back_completely_or_completed_exactly(
    url: str, ends: Sequence[str], tmp_path: Path, archives: Path, request: pytest.FixtureRequest
) -> None:
    sessions = legacy_sessions(archives)
    number = iter(range(1_000))

    def empty_graph() -> str:
        if url == "ladybug":
            return f"ladybug://{tmp_path / f'{next(number)}.lbug'}"
        server: Neo4jServer = request.getfixturevalue("neo4j")
        server.clear()
        return server.url

    # Without shrinking: an example takes seconds.
    @settings(
        max_examples=settings().max_examples * EXAMPLES[url] // 25,
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
    )
    @example(with_communities(sessions), Stops(2, (0, 10, 0, 0)))
    @given(legacy_graphs(sessions, GROUP), STOPS)
    def check(graph: LegacyGraph, stops: Stops) -> None:
        migrating = Migrating(empty_graph(), archives, tmp_path / "lake")
        asyncio.run(migrating.check(graph, stops, ends))

    check()
