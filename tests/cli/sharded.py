"""Archives of several projects, and what one machine makes of them: the comparison for shards."""

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START
from tests.crashes.results import canonical_graph

PROJECTS = ("shop", "kitchen", "bookshop", "garden", "attic", "cellar")
LONG_AGO = timedelta(days=20)


def write_projects(folder: Path, projects: Sequence[str] = PROJECTS) -> Path:
    """Write two archives of each project, whose sessions alternate; return their folder."""
    for number, project in enumerate(projects):
        for session in ("one", "two"):
            write_session(folder, project, session, 3 + number % 2)
    return folder


def write_session(folder: Path, project: str, session: str, turns: int) -> Path:
    """Write an archive; a session of more turns begins with those of one with fewer."""
    late = timedelta(minutes=30 * (session == "two"))
    rows = [
        json.dumps(json.loads(row) | {"cwd": f"/home/dev/{project}"})
        for turn in range(turns)
        for row in conversation(
            f"Look again: `{session}{turn}.py` of {project} uses `sqlite`, `part{turn}.py` not.",
            session=f"{project}-{session}-{turn}",
            at=SESSION_START + timedelta(hours=turn) + late,
        )
    ]
    return write_archive(folder / project / f"{session}.jsonl", rows)


@dataclass(frozen=True)
class LakeAndGraph:
    """A lake with its graph."""

    folder: Path
    url: str | None = None
    """Of a graph on a server; None: an embedded one in the lake."""

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def graph(self) -> str:
        return self.url or f"ladybug://{self.lake / 'graph.lbug'}"

    def with_key_of(self, other: "LakeAndGraph") -> "LakeAndGraph":
        """Let the lakes have one redaction key: versions of tables depend on it."""
        self.lake.mkdir(parents=True)
        shutil.copy(other.lake / "redaction.key", self.lake)
        return self

    def arguments(self, command: str, *arguments: str | Path) -> tuple[str, ...]:
        names = (command, *arguments, "--lake", self.lake)
        graph = () if command in ("parse", "filter") else ("--graph", self.graph)
        return tuple(map(str, (*names, *graph)))

    def run(self, command: str, *arguments: str | Path, **environment: str) -> CommandResult:
        words = self.arguments(command, *arguments)
        result = run_in_process(*words, folder=self.folder, **environment)
        assert result.exit_code == 0, (result.stdout, result.stderr)
        return result

    def tables(self) -> Mapping[str, bytes]:
        return {
            str(path.relative_to(self.lake)): path.read_bytes()
            for path in sorted(self.lake.rglob("*.parquet"))
        }

    def contents(self) -> list[str]:
        """Return a line for each node and edge, without what differs between two runs."""
        return sorted(asyncio.run(canonical_graph(self.graph)))


def assert_equal(found: LakeAndGraph, expected: Sequence[object]) -> None:
    """Compare tables byte for byte, and graphs without what differs between two runs."""
    tables, graph = expected
    assert found.tables() == tables
    assert found.contents() == graph
