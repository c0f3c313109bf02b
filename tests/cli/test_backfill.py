"""The main job as a person runs it, on both graphs."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import ladybug

from tests.cli.command import SAMPLES, clean, line, turnetl


def one_sample() -> Path:
    return max(SAMPLES.glob("bookshop/*.jsonl"), key=lambda path: path.stat().st_size)


def test_archives_become_a_graph_that_answers_with_file_and_line(
    graph_url: str, tmp_path: Path
) -> None:
    graph = ("--graph", graph_url, "--json")
    done = turnetl("backfill", SAMPLES, *graph, folder=tmp_path).json
    assert done["committed"] > 20
    assert done["quarantined"] == 0
    assert {group["group"] for group in done["groups"]} == {"bookshop", "shoebox"}
    hit = turnetl("search", "why did the checkout tests fail", *graph, folder=tmp_path).json[
        "hits"
    ][0]
    assert set(hit) >= {
        "fact", "score", "valid_at", "turn_id", "session_id", "archive", "first_line", "last_line"
    }  # fmt: skip
    said = Path(hit["archive"]).read_bytes().split(b"\n")[hit["first_line"] - 1]
    assert b'"user"' in said


def test_a_second_backfill_writes_nothing_and_says_so(graph_url: str, tmp_path: Path) -> None:
    command = ("backfill", SAMPLES, "--graph", graph_url)
    first = turnetl(*command, "--json", folder=tmp_path).json
    before = written(tmp_path)
    second = turnetl(*command, "--json", folder=tmp_path)
    assert second.code == 0
    assert (second.json["committed"], second.json["skipped"]) == (0, first["committed"])
    archives = second.json["parsed"]["archives"]
    assert archives["unchanged"] == sum(first["parsed"]["archives"].values())
    assert written(tmp_path) == before
    assert "nothing new" in turnetl(*command, folder=tmp_path).out


def written(folder: Path) -> dict[Path, int]:
    """Return every file of lake and graph, with the time it was last written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_an_archive_that_grew_adds_only_its_new_turns(graph_url: str, tmp_path: Path) -> None:
    whole = one_sample().read_bytes().splitlines(keepends=True)
    archive = tmp_path / "grows.jsonl"
    command = ("backfill", archive, "--graph", graph_url, "--json")
    archive.write_bytes(b"".join(whole[: len(whole) // 2]))
    first = turnetl(*command, folder=tmp_path).json
    archive.write_bytes(b"".join(whole))
    second = turnetl(*command, folder=tmp_path).json
    assert first["committed"] > 0
    assert second["committed"] > 0
    assert second["skipped"] == first["committed"]


def test_an_emptied_lake_makes_no_duplicates(graph_url: str, tmp_path: Path) -> None:
    command = ("backfill", SAMPLES, "--graph", graph_url, "--json")
    first = turnetl(*command, "--lake", tmp_path / "one", folder=tmp_path).json
    second = turnetl(*command, "--lake", tmp_path / "two", folder=tmp_path).json
    assert (second["committed"], second["skipped"]) == (0, first["committed"])


def test_status_says_what_is_there_and_why_the_rest_is_not(graph_url: str, tmp_path: Path) -> None:
    turnetl("backfill", SAMPLES, "--graph", graph_url, folder=tmp_path)
    for group in turnetl("status", "--graph", graph_url, "--json", folder=tmp_path).json["groups"]:
        noise = sum(group["noise"].values())
        waiting = group["pending"] + group["quarantined"]
        assert group["turns"] == group["skipped"] + noise + waiting
        assert group["episodes"] == group["skipped"]


def test_a_run_that_is_interrupted_goes_on_where_it_was(graph_url: str, tmp_path: Path) -> None:
    command = ("backfill", SAMPLES, "--graph", graph_url, "--json")
    running = subprocess.Popen(
        line(*command),
        cwd=tmp_path,
        env=clean(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert "Traceback" not in said
    finished = turnetl(*command, folder=tmp_path)
    again = turnetl(*command, folder=tmp_path).json
    assert finished.code == 0
    assert (again["committed"], again["pending"]) == (0, finished.json["pending"])
    assert finished.json["committed"] + finished.json["skipped"] == again["skipped"]


def test_a_path_that_does_not_exist_is_named_and_the_rest_is_done(tmp_path: Path) -> None:
    ran = turnetl("backfill", tmp_path / "nowhere", one_sample(), "--json", folder=tmp_path)
    assert ran.code == 1
    assert ran.json["committed"] > 0
    assert any("nowhere` does not exist" in sentence for sentence in ran.said)


def test_an_empty_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = turnetl("backfill", "empty", folder=tmp_path)
    assert ran.code == 1
    assert len(ran.said) == 1
    assert "`empty` holds no" in ran.said[0]


def test_a_file_that_is_no_archive_is_left_alone_and_named(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("shopping: bread, milk\n")
    ran = turnetl("backfill", "notes.jsonl", one_sample(), "--json", folder=tmp_path)
    assert ran.json["committed"] > 0
    assert any("notes.jsonl" in sentence for sentence in ran.said)


def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_done(tmp_path: Path) -> None:
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    ran = turnetl("backfill", "loop.jsonl", one_sample(), "--json", folder=tmp_path)
    assert ran.code == 1
    assert ran.json["committed"] > 0
    assert any("loop.jsonl" in sentence for sentence in ran.said)


def test_a_broken_line_is_named_with_its_number_and_the_others_are_read(tmp_path: Path) -> None:
    lines = one_sample().read_bytes().split(b"\n")
    lines[4:4] = [b'{"type":"user","mess']
    (tmp_path / "broken.jsonl").write_bytes(b"\n".join(lines))
    ran = turnetl("backfill", "broken.jsonl", "--json", folder=tmp_path)
    assert ran.code == 0
    assert ran.json["committed"] > 0
    assert any("broken.jsonl` line 5" in sentence for sentence in ran.said)


def test_a_second_process_on_the_same_file_is_told_so(tmp_path: Path) -> None:
    graph = f"ladybug://{tmp_path / 'one.lbug'}"
    turnetl("backfill", one_sample(), "--graph", graph, folder=tmp_path)
    hold = f"import ladybug, sys; db = ladybug.Database({str(tmp_path / 'one.lbug')!r}); "
    hold += "print('open', flush=True); sys.stdin.read()"
    holding = subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holding.stdout is not None
    holding.stdout.readline()
    ran = turnetl("backfill", SAMPLES, "--graph", graph, folder=tmp_path)
    holding.communicate("")
    assert ran.code == 1
    assert len(ran.said) == 1
    assert "one.lbug" in ran.said[0]


def test_a_wrong_password_is_one_sentence(neo4j_url: str, tmp_path: Path) -> None:
    scheme, _, rest = neo4j_url.partition("://")
    wrong = f"{scheme}://neo4j:not-the-password@{rest.partition('@')[2]}"
    ran = turnetl("backfill", one_sample(), "--graph", wrong, folder=tmp_path)
    assert ran.code == 1
    assert len(ran.said) == 1
    assert "password" in ran.said[0]
    assert "not-the-password" not in ran.err + ran.out


def test_a_graph_that_is_down_is_one_sentence(tmp_path: Path) -> None:
    ran = turnetl(
        "backfill", one_sample(), "--graph", "bolt://neo4j:x@127.0.0.1:9", folder=tmp_path
    )
    assert ran.code == 1
    assert len(ran.said) == 1
    assert "127.0.0.1:9" in ran.said[0]


def test_a_graph_of_another_embedder_is_refused_before_the_first_write(tmp_path: Path) -> None:
    """Nothing but the archive is read; the group keeps what it had."""
    graph = f"ladybug://{tmp_path / 'one.lbug'}"
    turnetl("backfill", one_sample(), "--graph", graph, folder=tmp_path)
    with (
        ladybug.Database(str(tmp_path / "one.lbug")) as database,
        ladybug.Connection(database) as connection,
    ):
        connection.execute("MATCH (g:TurnGroup) SET g.embedder = 'another 1.0', g.dimensions = 384")
    ran = turnetl("backfill", SAMPLES, "--graph", graph, folder=tmp_path)
    assert ran.code == 1
    assert "another 1.0" in ran.out + ran.err


def test_samples_stay_as_they_are(tmp_path: Path) -> None:
    copied = shutil.copytree(SAMPLES, tmp_path / "copied")
    before = {path: path.read_bytes() for path in copied.rglob("*.jsonl")}
    turnetl("backfill", copied, folder=tmp_path)
    assert {path: path.read_bytes() for path in copied.rglob("*.jsonl")} == before
