"""`turnetl parse`: formats, jobs, groups, and the counts of lines."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.archives import conversation, row, write_archive
from tests.cli.command import SAMPLES, run_in_process, write_config
from turnetl import formats

BOOKSHOP, SHOEBOX = SAMPLES / "bookshop", SAMPLES / "shoebox"


def groups(folder: Path, *options: str | Path) -> list[str]:
    result = run_in_process("parse", SAMPLES, *options, "--dry-run", "--json", folder=folder)
    assert result.exit_code == 0, result.stderr
    names: list[str] = result.json["groups"]
    return names


def test_a_group_can_be_a_name_or_a_template(tmp_path: Path) -> None:
    assert groups(tmp_path) == ["bookshop", "shoebox"]
    assert groups(tmp_path, "--group", "My Work") == ["my_work"]
    by_format = groups(tmp_path, "--group", "{format}-{project}")
    assert by_format == ["claude_code_bookshop", "claude_code_shoebox"]


def test_a_file_has_exceptions_from_the_group(tmp_path: Path) -> None:
    exceptions = tmp_path / "groups.toml"
    exceptions.write_text('[[group]]\nname = "games"\nfolders = ["**/shoebox"]\n')
    assert groups(tmp_path, "--group-map", exceptions) == ["bookshop", "games"]


def test_the_group_is_a_setting_too(tmp_path: Path) -> None:
    write_config(tmp_path, turnetl={"group": "by-config"})
    assert groups(tmp_path) == ["by_config"]
    assert groups(tmp_path, "--group", "by-hand") == ["by_hand"]


def test_projects_that_share_a_group_only_by_name_are_reported_once(tmp_path: Path) -> None:
    for owner in ("acme", "globex"):
        folder = f"/srv/{owner}/api"
        write_archive(
            tmp_path / f"{owner}.jsonl",
            [row("user", "add a cart", owner, sessionId=owner, cwd=folder)],
        )
    command = ("parse", tmp_path, "--json")
    for result in (
        run_in_process(*command, "--dry-run", folder=tmp_path),
        run_in_process(*command, folder=tmp_path),
    ):
        assert result.json["name_collisions"] == [
            {"group": "api", "folders": ["/srv/acme/api", "/srv/globex/api"]}
        ]
        assert ["--group-map" in message for message in result.messages] == [True]
    # A repeated run does not repeat the message.
    assert run_in_process(*command, folder=tmp_path).messages == []
    meant = run_in_process(*command, "--group", "all", "--dry-run", folder=tmp_path)
    assert (meant.messages, meant.json["name_collisions"]) == ([], [])


def test_an_invalid_option_is_a_usage_error_and_nothing_is_written(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for wrong in (
        ("--format", "clay_tablets"),
        ("--group", "{planet}"),
        ("--group", " "),
        ("--group-map", "nowhere.toml"),
        ("--jobs", "0"),
        ("--jobs", "many"),
    ):
        for command in ("parse", "backfill"):
            with subtests.test(command=command, wrong=wrong):
                result = run_in_process(command, SAMPLES, *wrong, folder=tmp_path)
                assert (result.exit_code, len(result.messages)) == (2, 1)
                assert list(tmp_path.iterdir()) == []
                known = formats.FORMATS if wrong[0] == "--format" else ()
                assert [one.name for one in known if one.name not in result.messages[0]] == []


def test_a_named_format_overrides_detection(tmp_path: Path) -> None:
    bare = '{"type": "user", "message": {"content": "add a cart"}}'
    unknown = write_archive(tmp_path / "odd.jsonl", [bare])
    assert (
        run_in_process("parse", unknown, "--json", folder=tmp_path).json["archives"]["unknown"] == 1
    )
    named = run_in_process("parse", unknown, "--format", "claude_code", "--json", folder=tmp_path)
    assert named.json["archives"]["new"] == 1
    assert named.json["files"][0]["format"] == "claude_code"


def test_a_named_format_that_reads_nothing_fails_and_nothing_is_written(tmp_path: Path) -> None:
    result = run_in_process("parse", SHOEBOX, "--format", "codex", "--json", folder=tmp_path)
    assert (result.exit_code, result.json["groups"]) == (1, [])
    assert {problem["reason"] for problem in result.json["problems"]} == {"wrong_format"}
    assert not list(tmp_path.rglob("*.parquet"))


def test_files_of_unknown_formats_are_summed_up_by_folder_and_extension(tmp_path: Path) -> None:
    for number in range(12):
        write_archive(tmp_path / "todos" / f"{number:02}.json", ['{"to": "do"}'])
    write_archive(tmp_path / "history.jsonl", ['{"display": "hi"}'])
    write_archive(tmp_path / "talk.jsonl", conversation("add a cart"))
    result = run_in_process("parse", tmp_path, "--json", folder=tmp_path)
    assert result.exit_code == 0
    assert len(result.messages) == 3
    assert "13 files" in result.messages[0]
    assert (
        f"12 `{tmp_path}/todos/*.json`: `00.json`, `01.json`, `02.json` ..." in result.messages[1]
    )
    assert f"1 `{tmp_path}/*.jsonl`: `history.jsonl`" in result.messages[2]
    assert len(result.json["problems"]) == 13


def test_files_without_turns_fail_a_run_only_if_there_is_nothing_else(tmp_path: Path) -> None:
    write_archive(tmp_path / "all" / "talk.jsonl", conversation("add a cart"))
    (tmp_path / "all" / "empty.jsonl").touch()
    (tmp_path / "all" / "link.jsonl").symlink_to(tmp_path / "nowhere")
    result = run_in_process("parse", tmp_path / "all", "--json", folder=tmp_path)
    assert (result.exit_code, len(result.messages)) == (0, 2)
    assert [problem["reason"] for problem in result.json["problems"]] == ["other_entry", "empty"]
    (tmp_path / "all" / "talk.jsonl").unlink()
    assert (
        run_in_process("parse", tmp_path / "all", "--lake", "other", folder=tmp_path).exit_code == 1
    )


def test_databases_and_packed_files_in_a_folder_are_counted(tmp_path: Path) -> None:
    write_archive(tmp_path / "all" / "talk.jsonl", conversation("add a cart"))
    for name in ("opencode.db", "a.zip", "b.tar.gz", "c.7z", "d.rar", "e.tgz", "f.jsonl.bz2"):
        (tmp_path / "all" / name).write_bytes(b"{}")
    [first, *_] = run_in_process("parse", tmp_path / "all", folder=tmp_path).stdout.splitlines()
    assert first == "1 archive: 1 new; 7 other files not read: 1 database, 6 packed"


def test_files_that_are_no_archives_are_counted_once_and_do_not_fail(tmp_path: Path) -> None:
    write_archive(tmp_path / "all" / "in" / "talk.jsonl", conversation("add a cart"))
    for name in ("a.txt", "c.jsonl.bak"):
        (tmp_path / "all" / "in" / name).touch()
    folders = (tmp_path / "all", tmp_path / "all" / "in")
    result = run_in_process("parse", *folders, "--json", folder=tmp_path)
    assert (result.exit_code, result.messages) == (0, [])
    assert result.json["other_files"] == {"other_file": 1, "renamed": 1}
    [first, *_] = run_in_process("parse", *folders, folder=tmp_path).stdout.splitlines()
    assert first == "1 archive: 1 unchanged; 2 other files not read: 1 no archive, 1 renamed"


def test_any_number_of_jobs_gives_the_same_tables(tmp_path: Path) -> None:
    serial, parallel = tmp_path / "serial", tmp_path / "parallel"
    for lake, jobs in ((serial, "1"), (parallel, "3")):
        lake.mkdir()
        (lake / "redaction.key").write_text("5e" * 32)
        assert (
            run_in_process(
                "parse", SAMPLES, "--lake", lake, "--jobs", jobs, folder=tmp_path
            ).exit_code
            == 0
        )

    def tables(lake: Path) -> dict[Path, bytes]:
        return {path.relative_to(lake): path.read_bytes() for path in lake.rglob("*.parquet")}

    assert tables(serial) == tables(parallel)
    assert len(tables(serial)) == 10


def test_a_dry_run_reports_what_would_be_read_and_writes_nothing(tmp_path: Path) -> None:
    archives, lake = tmp_path / "archives", tmp_path / "lake"
    for name in ("same", "grows"):
        write_archive(archives / f"{name}.jsonl", conversation("add a cart", session=name))
    command = ("parse", archives, "--lake", lake)
    assert run_in_process(*command, "--dry-run", folder=tmp_path).exit_code == 0
    assert not lake.exists()
    run_in_process(*command, folder=tmp_path)
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*")}
    write_archive(
        archives / "grows.jsonl", conversation("add a cart", "test the cart", session="grows")
    )
    write_archive(archives / "new.jsonl", conversation("ship the cart", session="new"))
    write_archive(archives / "notes.jsonl", ["bread, milk"])
    result = run_in_process(*command, "--dry-run", "--json", folder=tmp_path)
    files = {
        Path(file["archive"]).stem: (file["outcome"], file["group"])
        for file in result.json["files"]
    }
    assert files == {
        "same": ("unchanged", "shop"),
        "grows": ("changed", "shop"),
        "new": ("new", "shop"),
        "notes": ("unknown", None),
    }
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*")} == before
    shown = run_in_process(*command, "--dry-run", folder=tmp_path).stdout
    assert "1 changed, 1 new, 1 unchanged" in " ".join(shown.split())
    assert "nothing was written" in shown


def test_every_line_is_counted_once_per_archive_and_in_total(tmp_path: Path) -> None:
    damaged = write_archive(
        tmp_path / "crooked.jsonl",
        [
            *conversation("add a cart"),
            '{"type": "user", "mess',
            "",
            row("user", "one", "g1", sessionId="s1") + row("assistant", "two", "g2"),
            '{"type": "something-new"}',
            "[1, 2]",
            "3",
        ],
    )
    report = run_in_process("parse", damaged, BOOKSHOP, "--json", folder=tmp_path).json
    for counts in (report["read"], *report["files"]):
        assert counts["lines"] == counts["used"] + sum(counts["skipped"].values())
    lines = {file["archive"]: file["lines"] for file in report["files"]}
    assert lines == {str(path): physical_lines(path) for path in map(Path, lines)}
    assert report["read"]["lines"] == sum(lines.values())
    (problem,) = [problem for problem in report["problems"] if problem["path"] == str(damaged)]
    assert problem["line"] == 3


def physical_lines(archive: Path) -> int:
    data = archive.read_bytes()
    return data.count(b"\n") + (not data.endswith(b"\n"))


def test_an_unchanged_archive_keeps_its_counts(tmp_path: Path) -> None:
    def files() -> list[dict[str, Any]]:
        counts: list[dict[str, Any]] = run_in_process(
            "parse", SHOEBOX, "--json", folder=tmp_path
        ).json["files"]
        return [{name: file[name] for name in file if name != "outcome"} for file in counts]

    assert files() == files()
