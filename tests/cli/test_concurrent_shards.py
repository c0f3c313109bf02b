"""Shards that run at the same time, or are killed, make the lake and graph of one machine."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.command import clean_environment, command_line, run_in_process
from tests.cli.provider_setup import model_environment
from tests.cli.sharded import LakeAndGraph, assert_equal, write_projects
from tests.cli.test_waiting_runs import held_open
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider

WAIT = ("--wait", "300")


def start(
    place: LakeAndGraph, *arguments: str | Path, **environment: str
) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command_line(*place.arguments(*map(str, arguments))),
        cwd=place.folder,
        env=clean_environment(place.folder) | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_together(place: LakeAndGraph, archives: Path, shards: Sequence[str]) -> None:
    running = [start(place, "backfill", archives, "--shard", shard, *WAIT) for shard in shards]
    outputs = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * len(shards), outputs


@pytest.mark.neo4j
def test_shards_of_different_counts_that_run_together_commit_every_turn_once(
    neo4j: Neo4jServer, tmp_path: Path
) -> None:
    archives = write_projects(tmp_path / "archives", ["shop", "kitchen", "attic"])
    one, many = (
        LakeAndGraph(tmp_path / "one", neo4j.url),
        LakeAndGraph(tmp_path / "many", neo4j.url),
    )
    one.folder.mkdir()
    one.run("backfill", archives)
    expected = one.tables(), one.contents()
    neo4j.clear()
    run_together(many.with_key_of(one), archives, ("1/2", "2/2", "1/1"))
    assert_equal(many, expected)


@pytest.mark.full
def test_shards_that_run_together_wait_for_the_one_writer_of_an_embedded_graph(
    tmp_path: Path,
) -> None:
    archives = write_projects(tmp_path / "archives", ["shop", "kitchen"])
    one, many = LakeAndGraph(tmp_path / "one"), LakeAndGraph(tmp_path / "many")
    one.folder.mkdir()
    one.run("backfill", archives)
    run_together(many.with_key_of(one), archives, ("1/2", "2/2"))
    assert_equal(many, (one.tables(), one.contents()))


@pytest.mark.full
def test_without_the_option_to_wait_a_shard_refuses_an_embedded_graph_that_another_one_writes(
    tmp_path: Path,
) -> None:
    place, archives = LakeAndGraph(tmp_path), write_projects(tmp_path / "archives", ["shop"])
    place.run("backfill", archives, "--limit", "1")
    shard = place.arguments("backfill", archives, "--shard", "1/1")
    with held_open(place.graph, tmp_path):
        refused = run_in_process(*shard, folder=tmp_path)
    assert refused.exit_code == 1
    assert "another turnetl process" in refused.stderr
    assert "use a Neo4j graph, which several processes can share" in refused.stderr


@pytest.mark.full
def test_a_killed_shard_is_completed_by_its_repetition(
    tmp_path: Path, provider: FakeProvider
) -> None:
    archives = write_projects(tmp_path / "archives", ["shop", "garden", "attic"])
    environment = model_environment(provider)
    one, many = LakeAndGraph(tmp_path / "one"), LakeAndGraph(tmp_path / "many")
    one.folder.mkdir()
    one.run("backfill", archives, **environment)
    many.with_key_of(one)
    expected, requests = (one.tables(), one.contents()), len(provider.requests)
    for _ in range(requests):
        assert provider.arrived.acquire(timeout=60)

    killed = start(many, "backfill", archives, "--shard", "1/2", **environment)
    for _ in range(requests // 3):
        assert provider.arrived.acquire(timeout=60)
    killed.kill()
    killed.communicate()
    for shard in ("1/2", "2/2"):
        many.run("backfill", archives, "--shard", shard, **environment)
    assert_equal(many, expected)
