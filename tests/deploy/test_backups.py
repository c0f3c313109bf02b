"""Backup and restore of lake and graph, with the programs that docs/operations.md names."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, run_in_process
from tests.servers import neo4j_server

SAMPLES = Path(__file__).parents[2] / "data" / "archives" / "shoebox"


def succeeds(*arguments: str | Path, folder: Path) -> CommandResult:
    done = run_in_process(*map(str, arguments), folder=folder)
    assert done.exit_code == 0, done.stdout + done.stderr
    return done


def read(folder: Path, lake: Path, *graph: str) -> tuple[int, list[str]]:
    """Return the number of committed turns and what a search finds; verify finds nothing."""
    at: list[str | Path] = ["--lake", lake, *graph, "--json"]
    assert succeeds("verify", *at, folder=folder).json["wrong"] == 0
    hits = succeeds("search", "heic", *at, folder=folder).json["hits"]
    return succeeds("status", *at, folder=folder).json["committed"], [
        hit["turn_id"] for hit in hits
    ]


def tar(*arguments: str | Path) -> None:
    subprocess.run(["tar", *arguments], check=True)


@pytest.mark.full
def test_a_lake_that_was_restored_elsewhere_is_complete_and_goes_on(tmp_path: Path) -> None:
    """An embedded graph is a file of the lake."""
    archives = shutil.copytree(SAMPLES, tmp_path / "archives")
    lake, restored = tmp_path / "lake", tmp_path / "restored"
    succeeds("backfill", archives, "--lake", lake, folder=tmp_path)
    before = read(tmp_path, lake)
    tar("--create", "--file", tmp_path / "lake.tar", "--directory", lake, ".")
    shutil.rmtree(lake)
    restored.mkdir(mode=0o700)
    tar("--extract", "--file", tmp_path / "lake.tar", "--directory", restored)
    assert read(tmp_path, restored) == before
    again = succeeds("backfill", archives, "--lake", restored, "--json", folder=tmp_path)
    assert (again.json["committed"], again.json["already_committed"]) == (0, before[0])


@pytest.mark.full
@pytest.mark.neo4j
@pytest.mark.skipif(
    not neo4j_server.CAN_START, reason="a server that the test may stop needs Java and Maven"
)
def test_a_graph_that_was_dumped_and_loaded_into_another_server_is_complete(
    tmp_path: Path,
) -> None:
    lake, dumps, first, second = (tmp_path / name for name in ("lake", "dumps", "first", "second"))
    dumps.mkdir()
    with neo4j_server.started(first) as server:
        graph = ("--graph", server.url)
        succeeds("backfill", SAMPLES, "--lake", lake, *graph, folder=tmp_path)
        before = read(tmp_path, lake, *graph)
        neo4j_server.stop(server)
    neo4j_server.admin(first, "database", "dump", "neo4j", f"--to-path={dumps}")
    # A server's first start makes its password, which is not part of the dump.
    with neo4j_server.started(second) as server:
        neo4j_server.stop(server)
    load = ("database", "load", "neo4j", f"--from-path={dumps}", "--overwrite-destination=true")
    neo4j_server.admin(second, *load)
    with neo4j_server.restarted(server, second) as again:
        assert read(tmp_path, lake, "--graph", again.url) == before
