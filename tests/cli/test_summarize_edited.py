"""`turnetl summarize` and summaries that were edited by hand: kept, named, and written again."""

import asyncio
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.cli.summarize_runs import (
    BURSTS,
    FIRST_TURNS,
    UNFLUSHED,
    backfill,
    contents,
    embedded,
    summaries,
    summarize,
    unflushed_graph,
)
from tests.conftest import GRAPHS
from tests.graph.statements import run_statement
from turnetl.base.graph_model import GroupContents


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest, unflushed_samples: Path, tmp_path: Path) -> str:
    return unflushed_graph(request, unflushed_samples, tmp_path)


def edit(graph: str, where: str = "true") -> None:
    """Change summaries by hand, of the entities that the condition selects."""
    query = f"MATCH (n:Entity) WHERE n.summary <> '' AND {where} SET n.summary = 'by hand'"
    asyncio.run(run_statement(graph, query))


def edited_names(graph: str) -> dict[str, list[str]]:
    """Return the names of the entities with an edited summary, sorted, by group."""
    return {
        group.group_id: sorted(one.name for one in group.entities if one.summary == "by hand")
        for group in contents(graph)
    }


@pytest.mark.full
def test_edited_summaries_that_are_kept_are_counted_and_ten_are_named_with_the_remedy(
    graph: str, tmp_path: Path
) -> None:
    edit(graph, "n.group_id = 'bookshop'")
    names = edited_names(graph)
    assert len(names["bookshop"]) > 10
    for options in (("--dry-run",), ()):
        assert_kept(summarize(tmp_path, graph, "--json", *options), names)
        assert edited_names(graph) == names
    assert "edited, kept" in summarize(tmp_path, graph).stdout


def assert_kept(result: CommandResult, names: dict[str, list[str]]) -> None:
    """The edited summaries of a group are counted, and ten are named with the remedy."""
    assert result.exit_code == 0
    found = {one["group"]: (one["edited"], one["edited_entities"]) for one in result.json["groups"]}
    assert found == {
        "bookshop": (len(names["bookshop"]), names["bookshop"][:10]),
        "shoebox": (0, []),
    }
    [message] = [line for line in result.messages if "edited by hand" in line]
    assert message.startswith(
        f"turnetl: group `bookshop`: {len(names['bookshop'])} summaries edited by hand are kept, "
        f"of `{names['bookshop'][0]}`, "
    )
    assert message.endswith(
        f"`{names['bookshop'][9]}` and {len(names['bookshop']) - 10} more; "
        "`turnetl summarize --edited` writes them again"
    )


def test_a_graph_without_edited_summaries_says_nothing_about_them(
    graph: str, tmp_path: Path
) -> None:
    result = summarize(tmp_path, graph, "--dry-run", "--json")
    assert [group["edited"] for group in result.json["groups"]] == [0, 0]
    assert result.messages == []


FACT_LINE = re.compile(r"(?:[A-Z][a-z ]+, )?\d{4}-\d\d-\d\d: ")


def facts_told(groups: Sequence[GroupContents]) -> dict[str, list[str]]:
    """Return the facts that each summary tells, without what the entity is.

    That may have been learnt after the summary; a later one begins with it.
    """
    return {
        uuid: [line for line in summary.splitlines() if FACT_LINE.match(line)]
        for uuid, summary in summaries(groups).items()
    }


@pytest.mark.full
def test_edited_writes_edited_summaries_again_as_if_nobody_had_edited_them(
    graph: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    flushed = tmp_path_factory.mktemp("flushed")
    backfill(flushed, *FIRST_TURNS, **BURSTS)
    expected = facts_told(contents(embedded(flushed)))
    edit(graph)
    edited = contents(graph)
    preview = summarize(tmp_path, graph, "--edited", "--dry-run", "--json").json["groups"]
    assert contents(graph) == edited
    done = summarize(tmp_path, graph, "--edited", "--json")
    assert done.exit_code == 0
    assert [group["edited"] for group in done.json["groups"]] == [0, 0]
    written = [group["written"] for group in done.json["groups"]]
    assert written == [group["to_write"] for group in preview]
    assert sum(written) >= list(summaries(edited).values()).count("by hand") > 0
    assert facts_told(contents(graph)) == expected
    after = contents(graph)
    again = summarize(tmp_path, graph, "--edited", "--json").json["groups"]
    assert [(group["to_write"], group["edited"]) for group in again] == [(0, 0), (0, 0)]
    assert contents(graph) == after


@pytest.mark.full
def test_edited_writes_the_named_group_only_and_later_turns_decide_about_it_again(
    graph: str, tmp_path: Path
) -> None:
    edit(graph)
    _, shoebox = edited_names(graph).values()
    summarize(tmp_path, graph, "--edited", "--group", "bookshop")
    assert edited_names(graph) == {"bookshop": [], "shoebox": shoebox}
    result = run_in_process(
        "backfill", SAMPLES, "--graph", graph, "--json", folder=tmp_path, **UNFLUSHED
    )
    groups = result.json["groups"]
    skipped = {group["group"]: group["summary_skipped"].get("edited", 0) for group in groups}
    assert skipped["bookshop"] == 0 < skipped["shoebox"]


@pytest.mark.full
def test_an_undo_after_it_restores_what_turns_wrote_and_not_the_edited_summaries(
    graph: str, unflushed_samples: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    never_edited = tmp_path_factory.mktemp("never-edited")
    shutil.copytree(unflushed_samples, never_edited, dirs_exist_ok=True)
    edit(graph)
    assert summarize(tmp_path, graph, "--edited").exit_code == 0
    latest = [*contents(graph)[0].summaries][-1]
    for folder, url in ((tmp_path, graph), (never_edited, embedded(never_edited))):
        arguments = ("--turn", latest, "--yes", "--group", "bookshop")
        undone = run_in_process("undo", *arguments, "--graph", url, folder=folder)
        assert undone.exit_code == 0, undone.stderr
    bookshop, never = (contents(url)[:1] for url in (graph, embedded(never_edited)))
    assert summaries(bookshop) == summaries(never)
    assert bookshop[0].summaries == never[0].summaries


def test_what_another_program_wrote_is_neither_counted_as_edited_nor_written_again(
    graph: str, tmp_path: Path
) -> None:
    [uuid, *_] = (one.uuid for one in contents(graph)[0].entities)
    foreign = (
        f"MATCH (n:Entity) WHERE n.uuid = '{uuid}' "
        "CREATE (:Entity {uuid: 'foreign', group_id: n.group_id, name: 'foreign', "
        "summary: 'of another program', created_at: n.created_at, labels: n.labels, "
        "name_embedding: n.name_embedding})"
    )
    asyncio.run(run_statement(graph, foreign))
    result = summarize(tmp_path, graph, "--edited", "--json")
    assert [group["edited"] for group in result.json["groups"]] == [0, 0]
    assert summaries(contents(graph))["foreign"] == "of another program"
