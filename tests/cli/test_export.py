"""`turnetl export` and `turnetl import`."""

import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.cli.archives import conversation, row, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START
from turnetl.base.model import GroupId
from turnetl.lake import Lake

FORMATS = ("markdown", "jsonl", "parquet", "graphml", "cypher", "atif")


@pytest.fixture(scope="module")
def home(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home folder in which the samples are ingested."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("home"), dirs_exist_ok=True)


def export(home: Path, output: Path, *arguments: str) -> CommandResult:
    result = run_in_process("export", "--output", output, *arguments, "--json", folder=home)
    assert result.exit_code == 0, result.stderr
    return result


def objects(path: Path, kind: str) -> list[dict[str, Any]]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if row["kind"] == kind]


def turns(lake: Path) -> pl.DataFrame:
    """Return all turns of a lake without the machine of their archives."""
    opened = Lake(lake)
    rows = pl.concat([opened.scan_turns(group).collect() for group in opened.groups()])
    plain = rows.with_columns(pl.col("archive").str.replace(r"^[\w.-]+:/", "/"))
    return plain.sort("turn_id", "archive", "content_hash")


@dataclass(frozen=True)
class Exports:
    """An export of the samples in every format; they are only read."""

    paths: dict[str, Path]
    results: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def exports(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Exports:
    folder = tmp_path_factory.mktemp("exports")
    paths = {name: folder / name for name in FORMATS}
    return Exports(
        paths, {name: export(home, path, "--format", name).json for name, path in paths.items()}
    )


def test_every_format_is_written_and_a_second_run_changes_nothing(
    home: Path, exports: Exports, subtests: pytest.Subtests
) -> None:
    for name, first in exports.results.items():
        with subtests.test(name=name):
            second = export(home, exports.paths[name], "--format", name).json
            assert first["format"] == name
            assert first["turns"] > 20
            assert first["facts"] > 100
            changes = (first["changed"], second["changed"], second["removed"])
            assert changes == (first["files"], 0, 0)


def test_jsonl_holds_every_turn_entity_and_fact(home: Path, exports: Exports) -> None:
    output, counts = exports.paths["jsonl"], exports.results["jsonl"]
    rows = {kind: objects(output, kind) for kind in ("turn", "entity", "fact")}
    assert len(rows["turn"]) == counts["turns"]
    assert len(rows["entity"]) == counts["entities"]
    assert len(rows["fact"]) == counts["facts"]
    by_id = {row["turn_id"]: row for row in rows["turn"]}
    lake = Lake(home / ".turnetl" / "lake")
    for group in lake.groups():
        for episode in lake.episodes(group):
            row = by_id.pop(episode.turn_id)
            assert row["user_text"] == episode.turn.user_text
            assert row["noise"] == episode.noise
    assert not by_id


def test_graphml_is_the_graph_of_the_facts(exports: Exports) -> None:
    counts = exports.results["graphml"]
    content = io.BytesIO(exports.paths["graphml"].read_bytes())
    graph = nx.read_graphml(content, force_multigraph=True)
    kinds = [data["kind"] for _, data in graph.nodes(data=True)]
    assert (kinds.count("turn"), kinds.count("entity")) == (counts["turns"], counts["entities"])
    relations = [data["relation"] for *_, data in graph.edges(data=True)]
    assert len(relations) - relations.count("MENTIONS") == counts["facts"]


def test_parquet_reads_back_equal(home: Path, exports: Exports) -> None:
    output, counts = exports.paths["parquet"], exports.results["parquet"]
    assert turns(output).equals(turns(home / ".turnetl" / "lake"))
    facts = pl.read_parquet(output / "facts.parquet")
    entities = pl.read_parquet(output / "entities.parquet")
    assert (facts.height, entities.height) == (counts["facts"], counts["entities"])
    assert set(facts["source"]) | set(facts["target"]) <= set(entities["uuid"])


def test_an_entity_without_a_fact_is_exported_and_leads_to_the_turn_that_names_it(
    exports: Exports,
) -> None:
    facts = objects(exports.paths["jsonl"], "fact")
    ends = {end for fact in facts for end in (fact["source"], fact["target"])}
    entities = objects(exports.paths["jsonl"], "entity")
    graph = nx.read_graphml(io.BytesIO(exports.paths["graphml"].read_bytes()))
    alone = [one for one in entities if one["uuid"] not in ends]
    named_by = {one["uuid"]: list(graph.predecessors(one["uuid"])) for one in alone}
    name, entity = next(
        (one["name"], one["uuid"]) for one in alone if len(named_by[one["uuid"]]) == 1
    )
    (turn,) = named_by[entity]
    assert graph.nodes[turn]["kind"] == "turn"
    mention = f"(a:Episodic {{uuid: '{turn}'}}), (b:Entity {{uuid: '{entity}'}})"
    assert mention in exports.paths["cypher"].read_text(encoding="utf-8")
    notes = exports.paths["markdown"]
    pages = {one: one.read_text("utf-8") for one in (notes / "entities").iterdir()}
    titles = {one: text.partition("\n")[0].replace("\\", "") for one, text in pages.items()}
    (page,) = (one for one, title in titles.items() if title == f"# {name}")
    assert f"#turn-{turn})." in page.read_text("utf-8")
    sessions = (notes / "sessions").iterdir()
    linked = [one for one in sessions if f"(../entities/{page.name})" in one.read_text("utf-8")]
    assert [f'<a id="turn-{turn}">' in one.read_text("utf-8") for one in linked] == [True]


def test_an_exported_lake_is_imported_equal(home: Path, exports: Exports, tmp_path: Path) -> None:
    source = ("import", exports.paths["parquet"], "--lake", "new", "--json")
    named = (*source, "--machine", "laptop")
    dry = run_in_process(*named[:-3], "--machine", "laptop", "--dry-run", folder=tmp_path)
    assert "turns of `laptop` would be added to" in dry.stdout
    assert not (tmp_path / "new").exists()
    result = run_in_process(*named, folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert result.json["machine"] == "laptop"
    assert turns(tmp_path / "new").equals(turns(home / ".turnetl" / "lake"))
    again = run_in_process(*named, folder=tmp_path).json
    assert (again["added"], again["outcomes"]["new"], again["outcomes"]["changed"]) == (0, 0, 0)
    # An export names its machine.
    unnamed = run_in_process(*source, "--dry-run", folder=tmp_path)
    assert unnamed.exit_code == 0, unnamed.stderr
    assert unnamed.json["machine"]


@pytest.mark.full
def test_imported_turns_are_ingested_and_their_archives_are_on_their_machine(
    home: Path, tmp_path: Path
) -> None:
    lake = home / ".turnetl" / "lake"
    run_in_process("import", lake, "--machine", "laptop", folder=tmp_path)
    assert run_in_process("filter", folder=tmp_path).exit_code == 0
    assert run_in_process("ingest", folder=tmp_path).exit_code == 0
    status = run_in_process("status", "--json", folder=tmp_path).json
    assert status["committed"] > 20
    assert all(group["missing_archives"] == [] for group in status["groups"])
    again = run_in_process("import", lake, "--machine", "laptop", folder=tmp_path)
    assert again.stdout.startswith("0 turns of `laptop` added\n")
    (hit,) = run_in_process("search", "cents", "-n", "1", "--json", folder=tmp_path).json["hits"]
    result = run_in_process("show", hit["id"], "--raw", folder=tmp_path)
    assert result.exit_code == 1
    (message,) = result.messages
    assert "is an archive of the machine `laptop`" in message
    assert "check the path" not in message


@pytest.mark.full
def test_after_an_import_the_turns_of_both_machines_are_ingested_once(
    home: Path, tmp_path: Path
) -> None:
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    before = run_in_process("status", "--json", folder=tmp_path).json["committed"]
    lake = home / ".turnetl" / "lake"
    run_in_process("import", lake, "--machine", "laptop", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    ingested = run_in_process("ingest", "--json", folder=tmp_path).json
    after = run_in_process("status", "--json", folder=tmp_path).json["committed"]
    assert (ingested["committed"], after) == (0, before)


def test_the_filters_of_a_search_select_turns(
    home: Path, exports: Exports, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    everything = objects(exports.paths["jsonl"], "turn")
    session = everything[0]["session_id"]
    conditions: list[tuple[str, str, Callable[[dict[str, Any]], bool]]] = [
        ("--group", "bookshop", lambda turn: turn["group_id"] == "bookshop"),
        ("--since", "2026-03-10", lambda turn: turn["started_at"] >= "2026-03-10"),
        ("--until", "2026-03-09", lambda turn: turn["started_at"] < "2026-03-10"),
        ("--tool", "bash", lambda turn: "Bash" in {one["name"] for one in turn["tool_calls"]}),
        ("--session", session[:12], lambda turn: turn["session_id"] == session),
    ]
    for option, value, meets in conditions:
        with subtests.test(option=option):
            export(home, tmp_path / "some.jsonl", "--format", "jsonl", option, value)
            some = [turn["turn_id"] for turn in objects(tmp_path / "some.jsonl", "turn")]
            assert some == [turn["turn_id"] for turn in everything if meets(turn)]
            assert 0 < len(some) < len(everything)
            facts = objects(tmp_path / "some.jsonl", "fact")
            assert all({*some} & {*fact["turns"]} for fact in facts)


def test_a_file_a_query_and_conditions_that_no_turn_meets_select_turns(
    home: Path, tmp_path: Path
) -> None:
    arguments = (tmp_path / "out.jsonl", "--format", "jsonl")
    assert export(home, *arguments, "--file", "export.py").json["turns"] > 0
    assert 0 < export(home, *arguments, "why integer cents", "-n", "3").json["turns"] <= 3
    none = export(home, *arguments, "--archive-format", "codex")
    assert none.json["turns"] == 0
    assert none.messages == ["turnetl: no turn of the lake meets these conditions"]


def test_without_a_graph_turns_are_exported_without_facts(home: Path, tmp_path: Path) -> None:
    lake = home / ".turnetl" / "lake"
    graph = f"ladybug://{tmp_path}/none.lbug"
    arguments = ("--format", "jsonl", "--lake", str(lake), "--graph", graph)
    result = export(home, tmp_path / "out.jsonl", *arguments)
    assert result.json["turns"] > 20
    assert result.json["facts"] == 0
    assert "there is no graph" in result.json["unread"]
    refused = run_in_process(
        "export", "-o", tmp_path / "x", "--file", "cart.py", *arguments, folder=home
    )
    assert refused.exit_code == 1
    assert "there is no graph" in refused.messages[-1]


def test_a_wrong_export_is_refused_and_changes_nothing(
    home: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    lake = ("--lake", str(home / ".turnetl" / "lake"))
    for arguments, message in (
        (lake, "needs --output"),
        (("-o", "out", "--limit", "3", *lake), "`--limit` needs a query"),
        (("-o", "out", "--archive-format", "", *lake), "`--archive-format` is empty"),
        (("-o", "out", "--session", " ", *lake), "`--session` is empty"),
        (("-o", "out", "--group", "nothing", *lake), "there is no group `nothing`"),
        (("-o", "out", "--entity", "no such", *lake), "no turn has a fact about the entity"),
        (("-o", ".", "--format", "markdown", *lake), "turnetl did not export"),
        (("-o", "mine.txt", "--format", "cypher", *lake), "is no export"),
        (("-o", "mine.txt", *lake), "is a file"),
        (("-o", "out", "--lake", "nowhere"), "holds no turns"),
    ):
        with subtests.test(arguments=arguments[:-2]):
            result = run_in_process("export", *arguments, folder=tmp_path)
            assert result.exit_code == 2
            assert message in result.messages[-1]
            assert (tmp_path / "mine.txt").read_text() == "mine"
            assert not (tmp_path / "out").exists()


def test_turns_that_only_the_graph_holds_are_counted_and_their_group_is_known(
    home: Path, tmp_path: Path
) -> None:
    shutil.copytree(home / ".turnetl", tmp_path / ".turnetl")
    lake = Lake(tmp_path / ".turnetl" / "lake")
    lost = lake.count_turns(GroupId("bookshop"))
    shutil.rmtree(lake.root / "turns" / "bookshop")
    (lake.root / "episodes" / "bookshop.parquet").unlink()
    for arguments in ((), ("--group", "bookshop")):
        result = export(tmp_path, tmp_path / "x.jsonl", "--format", "jsonl", *arguments)
        assert 0 < result.json["only_in_graph"] <= lost
        assert "that only the graph holds" in result.messages[0]
    assert result.json["turns"] == 0


@pytest.mark.full
def test_personal_data_is_redacted_on_request(tmp_path: Path) -> None:
    address = "maria.lopez@weberlab.io"
    rows = conversation(f"Send the invoice to {address}, please", session="s1", at=SESSION_START)
    write_archive(tmp_path / "a.jsonl", rows)
    run_in_process("backfill", "a.jsonl", folder=tmp_path)
    export(tmp_path, tmp_path / "as-is.jsonl", "--format", "jsonl")
    result = export(tmp_path, tmp_path / "out.jsonl", "--format", "jsonl", "--redact-pii")
    assert result.json["redactions"] > 0
    assert address in (tmp_path / "as-is.jsonl").read_text()
    assert address not in (tmp_path / "out.jsonl").read_text()


def test_what_is_no_lake_cannot_be_imported(tmp_path: Path, subtests: pytest.Subtests) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for source in ("nowhere", ".", "mine.txt", "s3://bucket/lake"):
        with subtests.test(source=source):
            result = run_in_process("import", source, "--machine", "x", "--json", folder=tmp_path)
            assert result.exit_code == 2
            assert not (tmp_path / ".turnetl").exists()


def bytes_of(folder: Path) -> bytes:
    """Return all names and contents below a folder; the texts of tables, too."""
    found = b""
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        found += str(path.relative_to(folder)).encode() + path.read_bytes()
        if path.suffix == ".parquet":
            found += repr(pl.read_parquet(path).to_dicts()).encode()
            found += repr(pq.read_metadata(path).metadata).encode()
    return found


@pytest.mark.full
def test_no_byte_of_a_redacted_export_or_import_names_a_person(tmp_path: Path) -> None:
    person = "kxqwvbaz"
    rows = [line.replace("/home/dev", f"/home/{person}") for line in conversation("Add a cart")]
    write_archive(tmp_path / "Users" / person / "a.jsonl", rows)
    run_in_process("parse", f"Users/{person}/a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    lake = tmp_path / ".turnetl" / "lake"
    run_in_process("import", lake, "--machine", f"{person}-pc", "--lake", "two", folder=tmp_path)
    run_in_process("filter", "--lake", "two", folder=tmp_path)
    assert person.encode() in bytes_of(tmp_path / "two")
    for name in FORMATS:
        result = run_in_process(
            *("export", "-o", f"out/{name}/x", "--format", name, "--redact-pii", "--lake", "two"),
            folder=tmp_path,
        )
        assert result.exit_code == 0, result.stderr
        assert person.encode() not in bytes_of(tmp_path / "out" / name), name
        assert not any("secrets redacted" in message for message in result.messages)
    arguments = ("import", lake, "--machine", "laptop", "--lake", "three", "--redact-pii")
    result = run_in_process(*arguments, folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert person.encode() not in bytes_of(tmp_path / "three")


def test_no_turn_of_an_earlier_import_names_a_person_after_a_redacted_one(
    tmp_path: Path,
) -> None:
    person = "kxqwvbaz"
    prompts = conversation("Add a cart", "Test it")
    rows = [line.replace("/home/dev", f"/home/{person}") for line in prompts]
    write_archive(tmp_path / "Users" / person / "a.jsonl", rows)
    run_in_process("parse", f"Users/{person}/a.jsonl", folder=tmp_path)
    arguments = ("import", ".turnetl/lake", "--machine", "laptop", "--lake", "two", "--json")
    run_in_process(*arguments, folder=tmp_path)
    assert person.encode() in bytes_of(tmp_path / "two")
    other = Lake(tmp_path / ".turnetl" / "lake")
    [file] = other.turn_files()
    fewer = replace(file.metadata, counts={**file.metadata.counts, "turns": 1})
    other.write_turns(other.read_turns_file(file.path)[:1], fewer, digest=file.path.stem)
    first, second = (
        run_in_process(*arguments, "--redact-pii", folder=tmp_path).json for _ in range(2)
    )
    assert (first["outcomes"]["changed"], second["outcomes"]["unchanged"]) == (1, 1)
    assert turns(tmp_path / "two").height == 2
    assert person.encode() not in bytes_of(tmp_path / "two")


def test_subagents_whose_turns_are_not_known_are_counted_in_a_message(tmp_path: Path) -> None:
    usage = {"input_tokens": 7, "output_tokens": 1}
    message = {"role": "assistant", "model": "opus", "content": "Read.", "id": "m", "usage": usage}
    of_subagent: dict[str, Any] = {
        "isSidechain": True,
        "agentId": "a",
        "sessionId": "gone",
        "message": message,
    }
    write_archive(
        tmp_path / "a.jsonl",
        [*conversation("Add a cart"), row("assistant", "", "x", **of_subagent)],
    )
    write_archive(tmp_path / "b.jsonl", [row("assistant", "", "y", **of_subagent)])
    run_in_process("parse", "a.jsonl", "b.jsonl", "--group", "shop", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    whole = export(tmp_path, tmp_path / "all", "--format", "parquet")
    part = export(tmp_path, tmp_path / "part", "--format", "parquet", "--session", "s1")
    assert (whole.json["subagents_left_out"], part.json["subagents_left_out"]) == (0, 1)
    assert "tokens of 1 subagent left out" in part.stderr
    assert "tokens of" not in whole.stderr
