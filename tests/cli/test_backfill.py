"""The main job as a person runs it, on both graphs."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import ladybug
import pytest

from tests.cli.command import SAMPLES, clean_environment, command_line, turnetl_process


def one_sample() -> Path:
    return max(SAMPLES.glob("bookshop/*.jsonl"), key=lambda path: path.stat().st_size)


def test_archives_become_a_graph_that_answers_with_file_and_line(
    graph_url: str, tmp_path: Path
) -> None:
    graph = ("--graph", graph_url, "--json")
    done = turnetl_process("backfill", SAMPLES, *graph, folder=tmp_path).json
    assert done["committed"] > 20
    assert done["quarantined"] == 0
    assert {group["group"] for group in done["groups"]} == {"bookshop", "shoebox"}
    hit = turnetl_process(
        "search", "why did the checkout tests fail", *graph, folder=tmp_path
    ).json["hits"][0]
    assert set(hit) >= {
        "fact", "score", "valid_at", "turn_id", "session_id", "archive", "first_line", "last_line"
    }  # fmt: skip
    said = Path(hit["archive"]).read_bytes().split(b"\n")[hit["first_line"] - 1]
    assert b'"user"' in said


def test_a_second_backfill_writes_nothing_and_says_so(graph_url: str, tmp_path: Path) -> None:
    command = ("backfill", SAMPLES, "--graph", graph_url)
    first = turnetl_process(*command, "--json", folder=tmp_path).json
    before = written(tmp_path)
    second = turnetl_process(*command, "--json", folder=tmp_path)
    assert second.exit_code == 0
    assert (second.json["committed"], second.json["skipped"]) == (0, first["committed"])
    archives = second.json["parsed"]["archives"]
    assert archives["unchanged"] == sum(first["parsed"]["archives"].values())
    assert written(tmp_path) == before
    assert "nothing new" in turnetl_process(*command, folder=tmp_path).stdout


def written(folder: Path) -> dict[Path, int]:
    """Return every file of lake and graph, with the time it was last written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_an_archive_that_grew_adds_only_its_new_turns(graph_url: str, tmp_path: Path) -> None:
    whole = one_sample().read_bytes().splitlines(keepends=True)
    archive = tmp_path / "grows.jsonl"
    command = ("backfill", archive, "--graph", graph_url, "--json")
    archive.write_bytes(b"".join(whole[: len(whole) // 2]))
    first = turnetl_process(*command, folder=tmp_path).json
    archive.write_bytes(b"".join(whole))
    second = turnetl_process(*command, folder=tmp_path).json
    assert first["committed"] > 0
    assert second["committed"] > 0
    assert second["skipped"] == first["committed"]


def test_an_emptied_lake_makes_no_duplicates(graph_url: str, tmp_path: Path) -> None:
    command = ("backfill", SAMPLES, "--graph", graph_url, "--json")
    first = turnetl_process(*command, "--lake", tmp_path / "one", folder=tmp_path).json
    second = turnetl_process(*command, "--lake", tmp_path / "two", folder=tmp_path).json
    assert (second["committed"], second["skipped"]) == (0, first["committed"])


def test_status_says_what_is_there_and_why_the_rest_is_not(graph_url: str, tmp_path: Path) -> None:
    turnetl_process("backfill", SAMPLES, "--graph", graph_url, "--limit", "4", folder=tmp_path)
    said = turnetl_process("status", "--graph", graph_url, "--json", folder=tmp_path).json
    assert [group["group"] for group in said["groups"]] == ["bookshop", "shoebox"]
    for group in said["groups"]:
        missing = sum(group["noise"].values()) + sum(group["pending_reasons"].values())
        assert group["turns"] == group["committed"] + missing
        assert group["episodes"] == group["committed"] == 4
        assert group["pending"] == group["pending_reasons"]["ready"] > 0
    assert (
        "ready for `turnetl ingest`"
        in turnetl_process("status", "--graph", graph_url, folder=tmp_path).stdout
    )


@pytest.mark.parametrize("stops", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_says_so_and_goes_on_where_it_was(
    stops: signal.Signals, graph_url: str, tmp_path: Path
) -> None:
    command = ("backfill", SAMPLES, "--graph", graph_url, "--json")
    running = subprocess.Popen(
        command_line(*command),
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The tables are there: it is at the graph now, or about to be.
    while not list(tmp_path.glob("data/lake/episodes/*.parquet")):
        assert running.poll() is None
    running.send_signal(stops)
    out, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert "finished work is kept" in said
    assert json.loads(out)["exit_code"] == 130
    finished = turnetl_process(*command, folder=tmp_path)
    again = turnetl_process(*command, folder=tmp_path).json
    assert finished.exit_code == 0
    assert (again["committed"], again["pending"]) == (0, 0)
    assert finished.json["committed"] + finished.json["skipped"] == again["skipped"] == 27


def test_a_path_that_does_not_exist_is_named_and_the_rest_is_done(tmp_path: Path) -> None:
    ran = turnetl_process("backfill", tmp_path / "nowhere", one_sample(), "--json", folder=tmp_path)
    assert ran.exit_code == 1
    assert ran.json["committed"] > 0
    assert any("nowhere` does not exist" in sentence for sentence in ran.messages)


def test_an_empty_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = turnetl_process("backfill", "empty", folder=tmp_path)
    assert ran.exit_code == 1
    assert len(ran.messages) == 1
    assert "`empty` holds no" in ran.messages[0]


def test_a_file_that_is_no_archive_is_left_alone_and_named(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("shopping: bread, milk\n")
    ran = turnetl_process("backfill", "notes.jsonl", one_sample(), "--json", folder=tmp_path)
    assert ran.json["committed"] > 0
    assert any("notes.jsonl" in sentence for sentence in ran.messages)


def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_done(tmp_path: Path) -> None:
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    ran = turnetl_process("backfill", "loop.jsonl", one_sample(), "--json", folder=tmp_path)
    assert ran.exit_code == 1
    assert ran.json["committed"] > 0
    assert any("loop.jsonl" in sentence for sentence in ran.messages)


def test_a_broken_line_is_named_with_its_number_and_the_others_are_read(tmp_path: Path) -> None:
    lines = one_sample().read_bytes().split(b"\n")
    lines[4:4] = [b'{"type":"user","mess']
    (tmp_path / "broken.jsonl").write_bytes(b"\n".join(lines))
    ran = turnetl_process("backfill", "broken.jsonl", "--json", folder=tmp_path)
    assert ran.exit_code == 0
    assert ran.json["committed"] > 0
    assert any("broken.jsonl` line 5" in sentence for sentence in ran.messages)


def test_a_second_process_on_the_same_file_is_told_so(tmp_path: Path) -> None:
    graph = f"ladybug://{tmp_path / 'one.lbug'}"
    turnetl_process("backfill", one_sample(), "--graph", graph, folder=tmp_path)
    hold = f"import ladybug, sys; db = ladybug.Database({str(tmp_path / 'one.lbug')!r}); "
    hold += "print('open', flush=True); sys.stdin.read()"
    holding = subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holding.stdout is not None
    holding.stdout.readline()
    ran = turnetl_process("backfill", SAMPLES, "--graph", graph, folder=tmp_path)
    holding.communicate("")
    assert ran.exit_code == 1
    assert len(ran.messages) == 1
    assert "one.lbug" in ran.messages[0]


def test_a_wrong_password_is_one_sentence(neo4j_url: str, tmp_path: Path) -> None:
    scheme, _, rest = neo4j_url.partition("://")
    wrong = f"{scheme}://neo4j:not-the-password@{rest.partition('@')[2]}"
    ran = turnetl_process("backfill", one_sample(), "--graph", wrong, folder=tmp_path)
    assert ran.exit_code == 1
    assert len(ran.messages) == 1
    assert "password" in ran.messages[0]
    assert "not-the-password" not in ran.stderr + ran.stdout


def test_a_graph_that_is_down_is_one_sentence(tmp_path: Path) -> None:
    ran = turnetl_process(
        "backfill", one_sample(), "--graph", "bolt://neo4j:x@127.0.0.1:9", folder=tmp_path
    )
    assert ran.exit_code == 1
    assert len(ran.messages) == 1
    assert "127.0.0.1:9" in ran.messages[0]


def test_a_graph_of_another_embedder_is_refused_before_the_first_write(tmp_path: Path) -> None:
    """Nothing but the archive is read; the group keeps what it had."""
    graph = f"ladybug://{tmp_path / 'one.lbug'}"
    turnetl_process("backfill", one_sample(), "--graph", graph, folder=tmp_path)
    with (
        ladybug.Database(str(tmp_path / "one.lbug")) as database,
        ladybug.Connection(database) as connection,
    ):
        connection.execute("MATCH (g:TurnGroup) SET g.embedder = 'another 1.0', g.dimensions = 384")
    ran = turnetl_process("backfill", SAMPLES, "--graph", graph, folder=tmp_path)
    assert ran.exit_code == 1
    assert "another 1.0" in ran.stdout + ran.stderr


def test_samples_stay_as_they_are(tmp_path: Path) -> None:
    copied = shutil.copytree(SAMPLES, tmp_path / "copied")
    before = {path: path.read_bytes() for path in copied.rglob("*.jsonl")}
    turnetl_process("backfill", copied, folder=tmp_path)
    assert {path: path.read_bytes() for path in copied.rglob("*.jsonl")} == before


def test_what_went_wrong_before_the_graph_is_told_also_when_the_graph_is_down(
    tmp_path: Path,
) -> None:
    down = ("--graph", "bolt://neo4j:x@127.0.0.1:9", "--json")
    ran = turnetl_process("backfill", "nowhere", one_sample(), *down, folder=tmp_path)
    assert ran.exit_code == 1
    assert len(ran.messages) == 2
    assert ran.json["parsed"]["archives"]["new"] == 1
    assert ran.json["committed"] == 0
    assert "127.0.0.1:9" in ran.json["error"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--graph", "nonsense"),
        ("--graph", "ladybug:/tmp/x.lbug"),
        ("--graph", "bolt://host:port"),
        ("--graph", "bolt://[::1"),
        ("--graph", "bolt://host:7687/films"),
        ("--extractor", "llm"),
        ("--limit", "0"),
        ("--limit", "-3"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_read(
    wrong: tuple[str, str], tmp_path: Path
) -> None:
    ran = turnetl_process("backfill", one_sample(), *wrong, folder=tmp_path)
    assert ran.exit_code == 2
    assert len(ran.messages) == 1
    assert list(tmp_path.iterdir()) == []


def test_turns_that_changed_since_they_were_filtered_are_not_ingested(tmp_path: Path) -> None:
    turnetl_process("parse", one_sample(), folder=tmp_path)
    ran = turnetl_process("ingest", "--json", folder=tmp_path)
    assert (ran.exit_code, ran.json["committed"]) == (1, 0)
    assert "run `turnetl filter`" in ran.messages[0]


def test_archives_that_move_to_another_group_are_not_ingested_under_both(tmp_path: Path) -> None:
    down = ("--graph", "bolt://neo4j:x@127.0.0.1:9")
    turnetl_process("backfill", one_sample(), *down, folder=tmp_path)
    moved = turnetl_process(
        "backfill", one_sample(), "--group", "Other Shop", "--json", folder=tmp_path
    )
    assert [group["group"] for group in moved.json["groups"]] == ["other_shop"]
    later = turnetl_process("ingest", "--json", folder=tmp_path)
    assert later.json["committed"] == 0
    assert turnetl_process("filter", folder=tmp_path).exit_code == 0
    assert (
        turnetl_process("status", "--group", "Other Shop", "--json", folder=tmp_path).json[
            "pending"
        ]
        == 0
    )


def test_a_dry_run_brings_nothing_into_the_graph(tmp_path: Path) -> None:
    said = turnetl_process("backfill", one_sample(), "--dry-run", "--json", folder=tmp_path).json
    assert said["committed"] == 0
    assert said["groups"][0]["pending_reasons"]["ready"] > 0
    assert not (tmp_path / "data/lake/graph.lbug").exists()


def test_only_turns_of_the_time_named_are_taken_and_found(tmp_path: Path) -> None:
    april = ("--since", "2026-04-01", "--until", "2026-05-01")
    turnetl_process("backfill", SAMPLES, *april, folder=tmp_path)
    hits = turnetl_process("search", "shoebox photos", "--json", folder=tmp_path).json["hits"]
    assert {hit["valid_at"][:7] for hit in hits} == {"2026-04"}
    none = turnetl_process(
        "search", "shoebox photos", "--until", "2026-04-01", "--json", folder=tmp_path
    )
    assert none.json["hits"] == []


def test_the_searches_that_are_proposed_can_be_typed_as_they_stand(tmp_path: Path) -> None:
    lake = tmp_path / "my lake"
    out = turnetl_process("backfill", SAMPLES, "--lake", lake, folder=tmp_path).stdout
    proposed = [entry.strip() for entry in out.splitlines() if " search " in entry]
    assert len(proposed) == 3
    for command in proposed:
        _, *arguments = shlex.split(command)
        assert turnetl_process(*arguments, "--json", folder=tmp_path).json["hits"]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
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


def test_a_hit_leads_to_its_file_from_any_folder(tmp_path: Path) -> None:
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    there.mkdir()
    elsewhere.mkdir()
    shutil.copy(one_sample(), there / "one.jsonl")
    graph = ("--graph", f"ladybug://{tmp_path / 'g.lbug'}")
    turnetl_process("backfill", "one.jsonl", *graph, folder=there)
    hits = turnetl_process("search", "books", *graph, "--json", folder=elsewhere).json["hits"]
    assert Path(hits[0]["archive"]) == there / "one.jsonl"
    assert f" one.jsonl:{hits[0]['first_line']}-" in turnetl_process(
        "search", "books", *graph, folder=there
    ).stdout.replace("  ", " ")


def test_a_group_that_lost_its_archives_to_another_stops_nothing(tmp_path: Path) -> None:
    turnetl_process("backfill", one_sample(), folder=tmp_path)
    turnetl_process("backfill", one_sample(), "--group", "mix", folder=tmp_path)
    assert turnetl_process("ingest", folder=tmp_path).exit_code == 0
    groups = turnetl_process("status", "--json", folder=tmp_path).json["groups"]
    assert [of["error"] for of in groups] == [None, None]


def test_a_group_needs_a_name(tmp_path: Path) -> None:
    ran = turnetl_process("backfill", one_sample(), "--group", "", folder=tmp_path)
    assert ran.exit_code == 2
    assert len(ran.messages) == 1


def test_status_of_another_lake_still_says_what_the_graph_holds(tmp_path: Path) -> None:
    graph = ("--graph", f"ladybug://{tmp_path / 'g.lbug'}")
    done = turnetl_process("backfill", one_sample(), *graph, "--json", folder=tmp_path).json
    said = turnetl_process("status", *graph, "--lake", "none", "--json", folder=tmp_path).json
    assert said["committed"] == done["committed"] == said["groups"][0]["missing_from_lake"]


def test_an_empty_graph_is_told_from_a_question_without_an_answer(tmp_path: Path) -> None:
    ran = turnetl_process("search", "books", "--json", folder=tmp_path)
    assert (ran.exit_code, ran.json) == (0, {"hits": []})
    assert "holds nothing yet" in ran.messages[0]
