"""`turnetl communities build`: what it writes, when it stops, and that it can be repeated."""

import asyncio
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.cli.provider_setup import model_environment
from tests.conftest import GRAPHS
from tests.graph.sample_changes import NOW, TTL
from tests.servers.canned_responses import Json
from tests.servers.provider import FakeProvider
from tests.servers.summary_responses import RESPONDERS
from turnetl.base.graph_model import Community, CommunityBatch
from turnetl.base.model import GroupId
from turnetl.graph.open import open_graph
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.llm.vectors import pack


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest, filled_samples: Path, tmp_path: Path) -> Iterator[str]:
    """A graph of the samples of either kind."""
    if request.param == "ladybug":
        shutil.copytree(filled_samples, tmp_path, dirs_exist_ok=True)
        yield f"ladybug://{tmp_path / '.turnetl' / 'lake' / 'graph.lbug'}"
        return
    url = str(request.getfixturevalue("neo4j_url"))
    assert run_in_process("backfill", SAMPLES, "--graph", url, folder=tmp_path).exit_code == 0
    yield url


GROUP = GroupId("bookshop")


def build(folder: Path, graph: str, *arguments: str, **environment: str) -> CommandResult:
    command = ("communities", "build", "--graph", graph, *arguments)
    return run_in_process(*command, folder=folder, **environment)


def written(graph: str) -> Mapping[str, tuple[str, str, tuple[str, ...]]]:
    """Return name, summary and members of every community, by its uuid."""

    async def read() -> list[Community]:
        store = await open_graph(graph, user="", password="")
        found = [one for group in await store.groups() for one in await store.communities(group)]
        await store.close()
        return found

    return {one.uuid: (one.name, one.summary, one.members) for one in asyncio.run(read())}


@pytest.mark.full
def test_a_build_writes_the_communities_a_second_one_nothing_and_those_of_others_are_replaced(
    graph: str, tmp_path: Path
) -> None:
    first = build(tmp_path, graph, "--json")
    assert first.exit_code == 0
    after = written(graph)
    assert sum(group["written"] for group in first.json["groups"]) == len(after) > 4
    assert all(name and summary for name, summary, _ in after.values())
    assert first.json["usage"]["calls"] == 0
    second = build(tmp_path, graph, "--json")
    assert [group["written"] + group["removed"] for group in second.json["groups"]] == [0, 0]
    assert sum(group["kept"] for group in second.json["groups"]) == len(after)
    assert written(graph) == after
    add_foreign(graph, members_in(graph))
    preview = build(tmp_path, graph, "--dry-run", "--json")
    assert [group["to_remove"] for group in preview.json["groups"]] == [1, 0]
    assert len(written(graph)) == len(after) + 1
    assert build(tmp_path, graph).exit_code == 0
    assert written(graph) == after


def members_in(graph: str) -> tuple[str, ...]:
    """Return the members of a community of the group."""

    async def read() -> tuple[str, ...]:
        store = await open_graph(graph, user="", password="")
        found = await store.communities(GROUP)
        await store.close()
        return found[0].members

    return asyncio.run(read())


def add_foreign(graph: str, members: tuple[str, ...]) -> None:
    """Write a community as Graphiti does, with a random uuid."""

    async def write() -> None:
        store = await open_graph(graph, user="", password="", write=True)
        profile = await store.profile(GROUP)
        assert profile is not None
        vector = pack([0.1] * profile.dimensions)
        foreign = Community("random", GROUP, "x", "", NOW, vector, members)
        batch = CommunityBatch((), (foreign,))
        run = IngestRun("other", "o", lambda: NOW, TTL)
        async with held_lease(store, GROUP, profile, run) as lease:
            await store.write_communities(lease, batch, now=NOW, ttl=TTL)
        await store.close()

    asyncio.run(write())


@pytest.mark.full
def test_a_build_that_runs_out_of_time_ends_with_4_and_continues(
    graph: str, tmp_path: Path
) -> None:
    dry = build(tmp_path, graph, "--dry-run", "--json")
    assert all(group["to_write"] for group in dry.json["groups"])
    stopped = build(tmp_path, graph, "--max-seconds", "0", "--json")
    assert (stopped.exit_code, stopped.json["out_of_time"]) == (4, True)
    assert "the time is up" in stopped.messages[0]
    assert written(graph) == {}
    assert build(tmp_path, graph).exit_code == 0
    before = written(graph)
    assert before
    # Nothing is left to do: the limit does not matter.
    assert build(tmp_path, graph, "--max-seconds", "0").exit_code == 0
    command = ("--algorithm", "label-propagation", "--json")
    stopped = build(tmp_path, graph, *command, "--max-seconds", "0")
    assert stopped.exit_code == 4
    errors = [group["error"] for group in stopped.json["groups"]]
    assert all("the time was up before the communities were found" in one for one in errors)
    assert "group `bookshop`: the time was up" in stopped.messages[0]
    assert written(graph) == before
    assert build(tmp_path, graph, *command, "--max-seconds", "600").exit_code == 0
    assert written(graph) not in ({}, before)


def described(prompt: str) -> Json:
    numbers = re.findall(r"^Community (\d+), ", prompt, re.MULTILINE)
    return {
        "communities": [
            {"number": int(number), "name": f"canned {number}", "summary": "what it is about"}
            for number in numbers
        ]
    }


@pytest.fixture
def describing(provider: FakeProvider) -> FakeProvider:
    provider.responders = {**RESPONDERS, "communities": described}
    return provider


@pytest.mark.full
def test_the_model_of_a_run_names_communities_once_and_after_a_used_up_budget(
    filled_samples: Path, describing: FakeProvider, tmp_path: Path
) -> None:
    shutil.copytree(filled_samples, tmp_path, dirs_exist_ok=True)
    command, environment = ("communities", "build", "--json"), model_environment(describing)
    estimated = run_in_process(*command, "--dry-run", folder=tmp_path, **environment)
    stopped = run_in_process(*command, "--budget", "1 token", folder=tmp_path, **environment)
    assert stopped.exit_code == 4
    assert "budget" in stopped.messages[-1]
    assert describing.requests == []
    first = run_in_process(*command, folder=tmp_path, **environment)
    assert first.exit_code == 0
    assert first.json["usage"]["calls"] == estimated.json["usage"]["calls"] > 1
    assert first.json["model"].endswith("/canned")
    assert "asking `" in first.messages[0]
    sent = len(describing.requests)
    # The responses are in the journal.
    again = run_in_process(*command, "--all", folder=tmp_path, **environment)
    assert sum(group["written"] for group in again.json["groups"])
    assert (again.json["usage"]["calls"], len(describing.requests)) == (0, sent)
    rules = run_in_process(
        *command, "--all", "--extractor", "structural", folder=tmp_path, **environment
    )
    assert rules.json["model"] is None


def test_an_invalid_argument_is_a_sentence(
    filled_samples: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    shutil.copytree(filled_samples, tmp_path, dirs_exist_ok=True)
    for arguments, message in (
        (("--resolution", "0"), "resolution"),
        (("--group", "nothing"), "nothing"),
        (("--extractor", "llm"), "none is configured"),
        (("--max-seconds", "-1"), "max-seconds"),
    ):
        with subtests.test(arguments=arguments):
            result = run_in_process("communities", "build", *arguments, folder=tmp_path)
            assert (result.exit_code, result.stdout) == (2, "")
            assert message in result.messages[0]


def test_without_a_graph_a_message_says_where_it_would_be(tmp_path: Path) -> None:
    result = run_in_process("communities", "build", folder=tmp_path)
    assert result.exit_code == 1
    assert "there is no graph at" in result.messages[0]
