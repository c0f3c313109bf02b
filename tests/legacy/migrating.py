"""Commands of a migration on a session-level graph of the samples, and what the graph holds."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.graph.graph_dump import dump_graph
from tests.graph.statements import run_statement
from tests.legacy.graphs import DIMENSIONS, write_foreign_data, write_legacy_graph
from tests.legacy.sessions import LegacySession
from tests.legacy.styles import LegacyStyle, legacy_episode
from turnetl.base.clock import now
from turnetl.base.ids import turns_group
from turnetl.base.model import GroupId
from turnetl.base.progress import ProgressUpdate
from turnetl.graph.migrations import TurnMigration, migration_row
from turnetl.graph.open import open_graph
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.moves import MigrationCommand
from turnetl.settings import load_settings

GROUP = GroupId("old-summaries")
"""No name that turnetl makes: another program named the group."""


def fill(
    url: str,
    sessions: Sequence[LegacySession],
    *,
    group: str = GROUP,
    dimensions: int = DIMENSIONS,
) -> None:
    """Write a summary of each session, and foreign data, into one group."""

    async def write() -> None:
        episodes = [legacy_episode(session, LegacyStyle.NAME) for session in sessions]
        await write_legacy_graph(url, episodes, group, dimensions=dimensions)
        await write_foreign_data(url, group, dimensions=dimensions)

    asyncio.run(write())


def turnetl(folder: Path, graph: str, *arguments: str | Path) -> CommandResult:
    return run_in_process(*map(str, arguments), "--graph", graph, folder=folder)


def migrate(folder: Path, graph: str, command: str, *options: str) -> CommandResult:
    """Run a command that writes the group, confirmed, with `--json`."""
    return turnetl(folder, graph, "migrate", command, *options, "--yes", "--json")


def migrated(folder: Path, graph: str) -> dict[str, object]:
    """Run the migration of all samples; return its state."""
    result = turnetl(folder, graph, "migrate", "run", SAMPLES, "--json")
    assert result.exit_code == 0, result.stderr
    [state] = result.json["migrations"]
    assert state["phase"] == "ready"
    return dict(state)


class Migrations:
    """Migrations up to their cutover: that of an embedded graph is run once, and then copied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ready: dict[tuple[str, ...], tuple[Path, dict[str, object]]] = {}

    def ready(
        self, folder: Path, graph: str, sessions: Sequence[LegacySession]
    ) -> dict[str, object]:
        """Fill an empty graph and run the migration of all samples in it; return its state.

        Args:
            folder: where commands run, with the lake, and with `graph.lbug` if it is embedded.
            graph: its URL.
            sessions: those of which the group has a summary.
        """
        if graph != _embedded(folder):
            fill(graph, sessions)
            return migrated(folder, graph)
        names = tuple(session.session_id for session in sessions)
        if names not in self._ready:
            filled = self._folder / str(len(self._ready))
            filled.mkdir()
            fill(_embedded(filled), sessions)
            self._ready[names] = filled, migrated(filled, _embedded(filled))
        filled, state = self._ready[names]
        shutil.copytree(filled, folder, dirs_exist_ok=True)
        return state


def dumped(url: str) -> list[str]:
    return asyncio.run(dump_graph(url))


def of_readers(url: str, group: GroupId = GROUP) -> list[str]:
    """Return what the graph holds outside of the shadow group of the turns."""
    return without_group(dumped(url), turns_group(group))


def without_group(lines: Sequence[str], group: str) -> list[str]:
    """Return the lines without those of a group."""
    hidden = {line for line in lines if group in line}
    # An edge of an embedded graph has no group of its own.
    nodes = {json.loads(line)[1].get("uuid") for line in hidden} - {None}
    return [line for line in lines if line not in hidden and not nodes & set(_ends(line))]


def state_of(url: str) -> TurnMigration:
    """Return the latest migration of the graph."""
    *_, latest = states_of(url)
    return latest


def states_of(url: str) -> Sequence[TurnMigration]:
    """Return all migrations of the graph."""
    return asyncio.run(states_of_graph(url))


async def states_of_graph(url: str) -> Sequence[TurnMigration]:
    """Return all migrations of the graph."""
    store = await open_graph(url, user="", password="", write=False)
    states = await store.migrations()
    await store.close()
    return states


def stopped(
    folder: Path, graph: str, command: MigrationCommand, *, steps: int, discard: bool = False
) -> None:
    """Stop a change between two transactions, after this many steps that move or mark data."""
    settings = load_settings(None, lake=folder / ".turnetl" / "lake", graph=graph)
    options = ChangeOptions(command, accept=True, discard=discard)
    with pytest.raises(StoppedError):
        asyncio.run(execute_change(settings, options, now, progress=StopAfter(steps)))


def set_layout(url: str, state: str | None = None, **changes: object) -> None:
    """Replace fields of the state of the only migration, as another version would write it."""
    if state is None:
        state = json.dumps(json.loads(migration_row(state_of(url))["state"]) | changes)
    # A JSON text without a backslash or a quotation mark of the query language's own.
    asyncio.run(run_statement(url, f"MATCH (m:TurnMigration) SET m.state = '{state}'"))


class StoppedError(Exception):
    """A test stops a change."""


class StopAfter:
    """`Progress` that stops a change after a number of steps."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def __call__(self, update: ProgressUpdate) -> None:
        if update.stage == "migrate":
            self._left -= 1
            if not self._left:
                raise StoppedError


def _embedded(folder: Path) -> str:
    return f"ladybug://{folder / 'graph.lbug'}"


def _ends(line: str) -> list[str]:
    label, _ = json.loads(line)
    return label[1:] if isinstance(label, list) and len(label) == 3 else []
