"""`turnetl backfill`, on both graphs."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import ladybug
import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import (
    SAMPLES,
    clean_environment,
    command_line,
    run_in_process,
    turnetl_process,
)
from tests.cli.test_assumed_time import MARCH

GRAPH = Path(".turnetl/lake/graph.lbug")


def two_samples() -> list[Path]:
    """Return a short archive of each group."""
    return [
        SAMPLES / "shoebox" / "2026-04-19-heic.jsonl",
        SAMPLES / "bookshop" / "2026-05-05-export.jsonl",
    ]


def small_sample() -> Path:
    """Return an archive of three turns."""
    return two_samples()[0]


@pytest.mark.journey
def test_archives_become_a_graph_whose_hits_have_file_and_line(
    graph_url: str, tmp_path: Path
) -> None:
    graph = ("--graph", graph_url, "--json")
    done = turnetl_process("backfill", SAMPLES, *graph, folder=tmp_path).json
    assert done["committed"] > 20
    assert done["quarantined"] == 0
    assert {group["group"] for group in done["groups"]} == {"bookshop", "shoebox"}
    query = "why did the checkout tests fail"
    hit = run_in_process("search", query, *graph, folder=tmp_path).json["hits"][0]
    assert set(hit) >= {
        "fact", "score", "valid_at", "turn_id", "session_id", "archive", "first_line", "last_line"
    }  # fmt: skip
    line = Path(hit["archive"]).read_bytes().split(b"\n")[hit["first_line"] - 1]
    assert b'"user"' in line


def test_a_second_backfill_writes_nothing(graph_url: str, tmp_path: Path) -> None:
    command: tuple[str | Path, ...] = ("backfill", *two_samples(), "--graph", graph_url)
    run = run_in_process(*command, "--json", folder=tmp_path)
    assert run.exit_code == 0, run.stderr
    first = run.json
    assert len(first["groups"]) == 2
    before = modification_times(tmp_path)
    # Another process: another hash seed, and nothing in memory.
    second = turnetl_process(*command, "--json", folder=tmp_path)
    assert second.exit_code == 0, second.stderr
    assert (second.json["committed"], second.json["already_committed"]) == (0, first["committed"])
    archives = second.json["parsed"]["archives"]
    assert archives["unchanged"] == sum(first["parsed"]["archives"].values())
    assert modification_times(tmp_path) == before
    assert "nothing new" in run_in_process(*command, folder=tmp_path).stdout


def modification_times(folder: Path) -> dict[Path, int]:
    """Return every file of the lake and the graph, with its modification time."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.full
def test_an_archive_that_grew_adds_only_its_new_turns(graph_url: str, tmp_path: Path) -> None:
    lines = small_sample().read_bytes().splitlines(keepends=True)
    archive = tmp_path / "grows.jsonl"
    command = ("backfill", archive, "--graph", graph_url, "--json")
    archive.write_bytes(b"".join(lines[: len(lines) // 2]))
    first = run_in_process(*command, folder=tmp_path).json
    archive.write_bytes(b"".join(lines))
    second = run_in_process(*command, folder=tmp_path).json
    assert first["committed"] > 0
    assert second["committed"] > 0
    assert second["already_committed"] == first["committed"]


@pytest.mark.full
def test_an_emptied_lake_causes_no_duplicates(graph_url: str, tmp_path: Path) -> None:
    command = ("backfill", small_sample(), "--graph", graph_url, "--json")
    first = run_in_process(*command, "--lake", tmp_path / "one", folder=tmp_path).json
    second = run_in_process(*command, "--lake", tmp_path / "two", folder=tmp_path).json
    assert first["committed"] > 0
    assert (second["committed"], second["already_committed"]) == (0, first["committed"])


@pytest.mark.full
def test_status_counts_every_turn_with_a_reason(graph_url: str, tmp_path: Path) -> None:
    run_in_process("backfill", SAMPLES, "--graph", graph_url, "--limit", "4", folder=tmp_path)
    status = run_in_process("status", "--graph", graph_url, "--json", folder=tmp_path).json
    assert [group["group"] for group in status["groups"]] == ["bookshop", "shoebox"]
    for group in status["groups"]:
        missing = sum(group["noise"].values()) + sum(group["uncommitted_reasons"].values())
        assert group["turns"] == group["committed"] + missing
        assert group["episodes"] == group["committed"] == 4
        assert group["pending"] == group["uncommitted_reasons"]["ready"] > 0


@pytest.mark.full
def test_an_interrupted_run_continues_where_it_was(graph_url: str, tmp_path: Path) -> None:
    stop_signal = signal.SIGTERM if graph_url.startswith("ladybug") else signal.SIGINT
    command = ("backfill", SAMPLES, "--graph", graph_url, "--json")
    running = subprocess.Popen(
        command_line(*command),
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The tables exist: the ingest has begun, or begins now.
    while not list(tmp_path.glob(".turnetl/lake/episodes/*.parquet")):
        assert running.poll() is None
        time.sleep(0.005)
    running.send_signal(stop_signal)
    stdout, stderr = running.communicate(timeout=60)
    assert running.returncode == 130, stderr
    assert "finished work is kept" in stderr
    assert json.loads(stdout)["exit_code"] == 130
    finished = run_in_process(*command, folder=tmp_path)
    again = run_in_process(*command, folder=tmp_path).json
    assert finished.exit_code == 0
    assert (again["committed"], again["pending"]) == (0, 0)
    assert (
        finished.json["committed"] + finished.json["already_committed"]
        == again["already_committed"]
        == 27
    )


def test_an_empty_folder_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = run_in_process("backfill", "empty", folder=tmp_path)
    assert result.exit_code == 1
    assert len(result.messages) == 1
    assert "`empty` holds no" in result.messages[0]


@pytest.mark.full
def test_an_unreadable_file_is_named_and_the_other_archives_are_ingested(tmp_path: Path) -> None:
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    archives = ("nowhere", "loop.jsonl", small_sample())
    result = run_in_process("backfill", *archives, "--json", folder=tmp_path)
    assert result.exit_code == 1
    assert result.json["committed"] == 3
    assert any("nowhere` does not exist" in sentence for sentence in result.messages)
    assert any("loop.jsonl" in sentence for sentence in result.messages)


@pytest.mark.full
def test_an_invalid_line_is_named_with_its_number_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("shopping: bread, milk\n")
    lines = small_sample().read_bytes().split(b"\n")
    lines[4:4] = [b'{"type":"user","mess']
    (tmp_path / "broken.jsonl").write_bytes(b"\n".join(lines))
    result = run_in_process("backfill", "broken.jsonl", "notes.jsonl", "--json", folder=tmp_path)
    assert (result.exit_code, result.json["committed"]) == (0, 3)
    assert any("broken.jsonl` line 5" in sentence for sentence in result.messages)
    assert any("notes.jsonl" in sentence for sentence in result.messages)


@pytest.mark.full
def test_a_graph_file_that_another_process_uses_is_one_message(shop: Path) -> None:
    hold = f"import ladybug, sys; db = ladybug.Database({str(shop / GRAPH)!r}); "
    hold += "print('open', flush=True); sys.stdin.read()"
    holding = subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holding.stdout is not None
    holding.stdout.readline()
    result = run_in_process("backfill", small_sample(), folder=shop)
    holding.communicate("")
    assert (result.exit_code, len(result.messages)) == (1, 1)
    assert GRAPH.name in result.messages[0]


def test_a_wrong_password_is_one_message(neo4j_url: str, tmp_path: Path) -> None:
    scheme, _, rest = neo4j_url.partition("://")
    wrong = f"{scheme}://neo4j:not-the-password@{rest.partition('@')[2]}"
    result = run_in_process("backfill", small_sample(), "--graph", wrong, folder=tmp_path)
    assert result.exit_code == 1
    assert len(result.messages) == 1
    assert "password" in result.messages[0]
    assert "not-the-password" not in result.stderr + result.stdout


@pytest.mark.full
def test_a_graph_of_another_embedder_is_rejected_before_the_first_write(shop: Path) -> None:
    """Only the archive is read; the group stays as it was."""
    with (
        ladybug.Database(str(shop / GRAPH)) as database,
        ladybug.Connection(database) as connection,
    ):
        connection.execute("MATCH (g:TurnGroup) SET g.embedder = 'another 1.0', g.dimensions = 384")
    more = write_archive(shop / "b.jsonl", conversation("Refund it", session="s2", at=MARCH))
    result = run_in_process("backfill", more, folder=shop)
    assert result.exit_code == 1
    assert "another 1.0" in result.stdout + result.stderr


@pytest.mark.full
def test_archives_are_never_changed(tmp_path: Path) -> None:
    (tmp_path / "copied").mkdir()
    copies = [Path(shutil.copy(path, tmp_path / "copied")) for path in two_samples()]
    before = [path.read_bytes() for path in copies]
    run_in_process("backfill", "copied", folder=tmp_path)
    assert [path.read_bytes() for path in copies] == before


def test_problems_of_archives_are_reported_even_when_the_graph_is_down(
    tmp_path: Path,
) -> None:
    down = ("--graph", "bolt://neo4j:x@127.0.0.1:9", "--json")
    result = run_in_process("backfill", "nowhere", small_sample(), *down, folder=tmp_path)
    assert result.exit_code == 1
    assert len(result.messages) == 2
    assert result.json["parsed"]["archives"]["new"] == 1
    assert result.json["committed"] == 0
    assert "127.0.0.1:9" in result.json["error"]


def test_invalid_options_are_rejected_before_anything_is_read(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for option, value in (
        ("--graph", "nonsense"),
        ("--graph", "ladybug:/tmp/x.lbug"),
        ("--graph", "bolt://host:port"),
        ("--graph", "bolt://[::1"),
        ("--graph", "bolt://host:7687/films"),
        ("--extractor", "llm"),
        ("--limit", "-3"),
        ("--group", ""),
    ):
        with subtests.test(option=option, value=value):
            result = run_in_process("backfill", small_sample(), option, value, folder=tmp_path)
            assert (result.exit_code, len(result.messages)) == (2, 1)
            assert list(tmp_path.iterdir()) == []


def test_turns_that_are_not_filtered_yet_are_not_ingested(tmp_path: Path) -> None:
    run_in_process("parse", small_sample(), folder=tmp_path)
    result = run_in_process("ingest", "--json", folder=tmp_path)
    assert (result.exit_code, result.json["committed"]) == (1, 0)
    assert "run `turnetl filter`" in result.messages[0]


@pytest.mark.full
def test_archives_that_move_to_another_group_are_not_ingested_in_both(tmp_path: Path) -> None:
    down = ("--graph", "bolt://neo4j:x@127.0.0.1:9")
    run_in_process("backfill", small_sample(), *down, folder=tmp_path)
    other = ("--group", "Other Shop", "--json")
    moved = run_in_process("backfill", small_sample(), *other, folder=tmp_path)
    assert [group["group"] for group in moved.json["groups"]] == ["other_shop"]
    later = run_in_process("ingest", "--json", folder=tmp_path)
    assert later.json["committed"] == 0
    assert run_in_process("filter", folder=tmp_path).exit_code == 0
    assert run_in_process("status", *other, folder=tmp_path).json["pending"] == 0
    # A group that lost its archives after they were ingested is not an error.
    run_in_process("backfill", small_sample(), "--group", "mix", folder=tmp_path)
    assert run_in_process("ingest", folder=tmp_path).exit_code == 0
    groups = run_in_process("status", "--json", folder=tmp_path).json["groups"]
    assert {group["error"] for group in groups} == {None}


def test_a_dry_run_writes_nothing_to_the_graph(tmp_path: Path) -> None:
    status = run_in_process("backfill", small_sample(), "--dry-run", "--json", folder=tmp_path).json
    assert status["committed"] == 0
    assert status["groups"][0]["uncommitted_reasons"]["ready"] > 0
    assert not (tmp_path / ".turnetl/lake/graph.lbug").exists()


@pytest.mark.full
def test_since_and_until_limit_the_ingest_and_the_search(tmp_path: Path) -> None:
    april = ("--since", "2026-04", "--until", "2026-04")
    run_in_process("backfill", *two_samples(), *april, folder=tmp_path)
    hits = run_in_process("search", "shoebox photos", "--json", folder=tmp_path).json["hits"]
    assert {hit["valid_at"][:7] for hit in hits} == {"2026-04"}
    earlier = ("search", "shoebox photos", "--until", "2026-03", "--json")
    assert run_in_process(*earlier, folder=tmp_path).json["hits"] == []


@pytest.mark.full
def test_a_backfill_that_committed_turns_suggests_searches_that_have_hits(tmp_path: Path) -> None:
    """They run as they are printed."""
    command: tuple[str | Path, ...] = ("backfill", *two_samples(), "--lake", "my lake")
    first = run_in_process(*command, folder=tmp_path)
    suggested, _, then = first.stdout.partition("Try a search:\n")[2].partition("\n\nThen:\n")
    assert " serve --lake " in then
    assert " install --lake " in then
    for line in suggested.splitlines():
        words = shlex.split(line)
        arguments = words[words.index("search") :]
        assert run_in_process(*arguments, "--json", folder=tmp_path).json["hits"]
    again = run_in_process(*command, folder=tmp_path).stdout
    assert "Try a search" not in again
    assert "Then:" not in again


@pytest.mark.full
def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        command_line("status", "--json"),
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        assert running.stderr.read() == ""


@pytest.mark.full
def test_a_hit_has_the_path_of_its_archive_in_any_folder(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    shutil.copy(small_sample(), folder / "one.jsonl")
    graph = ("--graph", f"ladybug://{tmp_path / 'g.lbug'}")
    run_in_process("backfill", "one.jsonl", *graph, folder=folder)
    hit = run_in_process("search", "photos", *graph, "--json", folder=elsewhere).json["hits"][0]
    assert Path(hit["archive"]) == folder / "one.jsonl"
    text = run_in_process("search", "photos", "-v", *graph, folder=folder).stdout
    assert f" one.jsonl:{hit['first_line']}-" in text.replace("  ", " ")


def test_status_with_another_lake_still_reports_the_graph(shop: Path) -> None:
    options = ("--graph", f"ladybug://{shop / GRAPH}", "--lake", "none", "--json")
    status = run_in_process("status", *options, folder=shop).json
    assert status["committed"] == status["groups"][0]["missing_from_lake"] == 2
