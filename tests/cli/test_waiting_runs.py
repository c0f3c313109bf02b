"""A run on a group or a graph that another process writes fails immediately, or waits."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.archives import two_turns
from tests.cli.command import clean_environment, command_line, run_in_process
from tests.cli.provider_setup import SESSION_START
from tests.graph.sample_changes import PROFILE
from tests.graph.test_store_opening import KEEPS_THE_FILE_OPEN
from turnetl.base.graph_model import LONGEST_LEASE, GroupProfile
from turnetl.base.model import GroupId
from turnetl.graph.open import open_graph

OTHER = "elsewhere:1234:5678abcd"
LONG = LONGEST_LEASE


@pytest.fixture
def folder(tmp_path: Path, graph_url: str) -> Path:
    """A lake with two turns in each of two groups, and an empty graph."""
    archive = two_turns(tmp_path, SESSION_START)
    for group in ("busy", "free"):
        copy = archive.rename(tmp_path / f"{group}.jsonl")
        run_in_process("parse", copy, "--group", group, folder=tmp_path)
        archive = two_turns(tmp_path, SESSION_START)
    assert run_in_process("filter", folder=tmp_path).exit_code == 0
    assert graph_url
    return tmp_path


async def lease(url: str, ttl: timedelta) -> None:
    """Lease the group `busy` to a process on another machine."""
    profile = GroupProfile(PROFILE.embedder, PROFILE.dimensions, PROFILE.recipe)
    store = await open_graph(url, user="", password="")
    await store.prepare()
    await store.acquire(
        GroupId("busy"),
        profile,
        owner=OTHER,
        now=datetime.now(UTC),  # noqa: TID251 - the command compares it with its clock
        ttl=ttl,
        is_dead=lambda _: False,
    )
    await store.close()


@pytest.mark.full
def test_a_leased_group_fails_and_names_its_owner_and_the_others_are_ingested(
    folder: Path, graph_url: str
) -> None:
    asyncio.run(lease(graph_url, LONG))
    result = run_in_process("ingest", "--json", "--graph", graph_url, folder=folder)
    busy, free = result.json["groups"]
    assert result.exit_code == 1
    assert (busy["committed"], busy["pending"], free["committed"]) == (0, 2, 2)
    assert f"`{OTHER}` until" in busy["error"]
    assert "this command waits" not in result.stderr


@pytest.mark.full
def test_a_run_that_waits_ingests_a_leased_group_when_the_lease_has_expired(
    folder: Path, graph_url: str
) -> None:
    asyncio.run(lease(graph_url, timedelta(seconds=6)))
    command = ("ingest", "--json", "--graph", graph_url, "--wait", "300")
    result = run_in_process(*command, folder=folder)
    assert result.exit_code == 0, result.stderr
    assert result.json["committed"] == 4
    (told,) = [line for line in result.stderr.splitlines() if "this command waits" in line]
    assert f"group `busy` is being written by `{OTHER}` until" in told


@pytest.mark.full
def test_a_run_that_has_waited_long_enough_fails_as_one_that_does_not_wait(
    folder: Path, graph_url: str
) -> None:
    asyncio.run(lease(graph_url, LONG))
    result = run_in_process("ingest", "--json", "--graph", graph_url, "--wait", "1", folder=folder)
    assert result.exit_code == 1
    assert [group["committed"] for group in result.json["groups"]] == [0, 2]
    assert "this command waits for up to 1 s" in result.stderr


@contextmanager
def held_open(url: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a process that has the file of an embedded graph open until its input ends."""
    other = subprocess.Popen(
        [sys.executable, "-c", KEEPS_THE_FILE_OPEN, url],
        env=clean_environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        yield other


@pytest.mark.full
@pytest.mark.parametrize("graph_url", ["ladybug"], indirect=True)
def test_a_run_on_an_open_file_reports_the_turns_of_the_lake_as_pending(
    folder: Path, graph_url: str
) -> None:
    with held_open(graph_url, folder):
        result = run_in_process("ingest", "--json", "--graph", graph_url, folder=folder)
    assert result.exit_code == 1
    assert (result.json["committed"], result.json["pending"]) == (0, 4)
    reasons = [group["uncommitted_reasons"] for group in result.json["groups"]]
    assert reasons == [{"unknown": 2}, {"unknown": 2}]
    assert "has graph" in result.json["error"]


@pytest.mark.full
@pytest.mark.parametrize("graph_url", ["ladybug"], indirect=True)
def test_a_run_that_waits_for_an_open_file_ingests_when_it_is_closed(
    folder: Path, graph_url: str
) -> None:
    command = command_line("ingest", "--graph", graph_url, "--wait", "300")
    with held_open(graph_url, folder) as other:
        run = subprocess.Popen(
            command, cwd=folder, env=clean_environment(folder), stderr=subprocess.PIPE, text=True
        )
        assert run.stderr is not None
        assert "this command waits for up to 5 minutes" in run.stderr.readline()
        other.communicate("")
        _, errors = run.communicate()
    assert run.returncode == 0, errors
    after = run_in_process("status", "--json", "--graph", graph_url, folder=folder)
    assert [group["pending"] for group in after.json["groups"]] == [0, 0]
