"""A second run: what is unchanged is not opened, what a person says anew is done."""

import os
from pathlib import Path

import pytest

from tests.parse.readers import Untouched, outcomes, row, run, talk
from turnetl import formats, parse
from turnetl.lake import Lake
from turnetl.model import GroupId
from turnetl.redact import SecretRedactor

SHOP, TILL = GroupId("shop"), GroupId("till")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text(talk())
    return path


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def prompts(lake: Lake, group: GroupId = SHOP) -> list[str]:
    return [turn.user_text for turn in lake.turns(group)]


def shut(path: Path) -> None:
    """Replace what an archive says, so that nobody would know it, and hide that it changed."""
    before = path.stat()
    path.write_bytes(b"x" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_archive_that_shrank_is_replaced(archive: Path, lake: Lake) -> None:
    archive.write_text(talk() + talk("Push it.", "p1"))
    run(lake, archive)
    archive.write_text(talk("Push it.", "p1"))
    assert outcomes(run(lake, archive)) == ["changed"]
    assert prompts(lake) == ["Push it."]


def test_an_archive_that_gives_another_project_moves(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    archive.write_text(row("user", "Count it.", "p9", cwd="/home/dev/till"))
    assert outcomes(run(lake, archive)) == ["changed"]
    assert lake.groups() == [TILL]


def test_an_archive_that_vanished_keeps_its_turns(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    archive.unlink()
    assert outcomes(run(lake, archive)) == ["unreadable"]
    assert prompts(lake) == ["Mend the cart."]


@pytest.mark.parametrize("data", ["", "{}\n", '{"other":"tool"}\n' * 9])
def test_an_archive_that_says_nothing_any_more_keeps_its_turns(
    archive: Path, lake: Lake, data: str
) -> None:
    run(lake, archive)
    archive.write_text(data)
    assert outcomes(run(lake, archive))[0] in ("unreadable", "unknown")
    assert prompts(lake) == ["Mend the cart."]


def test_another_grouping_moves_an_archive_that_did_not_change(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    by = parse.Grouping("{format}_{project}")
    assert outcomes(run(lake, archive, grouping=by)) == ["changed"]
    assert lake.groups() == ["claude_code_shop"]
    shut(archive)
    assert outcomes(run(lake, archive, grouping=by)) == ["unchanged"]


def test_a_group_that_was_named_once_needs_no_look_at_the_archive(
    archive: Path, lake: Lake
) -> None:
    run(lake, archive, grouping=parse.Grouping("till"))
    shut(archive)
    assert outcomes(run(lake, archive)) == ["unchanged"]
    assert lake.groups() == [TILL]


def test_naming_the_group_that_an_archive_is_in_fixes_it_there(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    same = parse.Grouping("shop")
    assert outcomes(run(lake, archive, grouping=same, redactor=Untouched())) == ["unchanged"]
    archive.write_text(row("user", "Count it.", "p9", cwd="/home/dev/till"))
    run(lake, archive)
    assert lake.groups() == [SHOP]


def test_a_group_named_anew_wins_over_one_named_before(archive: Path, lake: Lake) -> None:
    run(lake, archive, grouping=parse.Grouping("till"))
    assert outcomes(run(lake, archive, grouping=parse.Grouping("{project}"))) == ["changed"]
    assert lake.groups() == [SHOP]


def test_the_format_that_a_person_named_stays_too(lake: Lake, tmp_path: Path) -> None:
    known = formats.by_name("claude_code")
    path = tmp_path / "odd.txt"
    path.write_text(said := '{"type":"user","message":{"content":"Mend it."}}\n')
    assert outcomes(run(lake, path)) == ["unknown"]
    assert outcomes(run(lake, path, explicit_format=known)) == ["new"]
    assert outcomes(run(lake, path)) == ["unchanged"]
    path.write_text(said + said)
    assert outcomes(run(lake, path)) == ["changed"]


def test_another_format_reads_an_archive_that_did_not_change_anew(
    lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"messages":[{"role":"user","content":"Mend the cart."}]}\n')
    assert run(lake, path).archives[0].format == "openai_conv"
    report = run(lake, path, explicit_format=formats.by_name("sharegpt"))
    assert (outcomes(report), report.archives[0].format) == (["changed"], "sharegpt")
    assert len(lake.turn_paths()) == 1


def test_a_named_format_that_reads_nothing_costs_no_turn_that_was_read_before(
    archive: Path, lake: Lake
) -> None:
    run(lake, archive)
    before = prompts(lake)
    report = run(lake, archive, explicit_format=formats.by_name("codex"))
    assert outcomes(report) == ["unknown"]
    (problem,) = report.problems
    assert problem.reason == "format"
    assert "looks like `claude_code`" in problem.message
    assert prompts(lake) == before
    assert outcomes(run(lake, archive)) == ["unchanged"]


def test_another_redactor_reads_everything_anew(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    assert outcomes(run(lake, archive, redactor=SecretRedactor())) == ["changed"]
    assert outcomes(run(lake, archive, redactor=SecretRedactor())) == ["unchanged"]


def test_a_dry_run_says_what_would_be_and_writes_nothing(
    archive: Path, lake: Lake, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    missing = tmp_path / "missing"
    report = run(lake, archive, other, missing, dry_run=True)
    assert report.dry_run
    assert outcomes(report) == ["new", "unknown", "unreadable"]
    assert report.folders == {SHOP: ("/home/dev/shop",)}
    assert (report.read.lines, report.read.turns) == (2, 1)
    assert not lake.root.exists()
    assert run(lake, archive, other, missing).archives == report.archives


def test_a_dry_run_changes_nothing_that_is_there(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    (held,) = lake.turn_paths()
    before = held.read_bytes()
    os.utime(archive, ns=(1, 1))
    assert outcomes(run(lake, archive, dry_run=True)) == ["unchanged"]
    archive.write_text(talk() + talk("Push it.", "p1"))
    assert outcomes(run(lake, archive, dry_run=True)) == ["changed"]
    by = parse.Grouping("till")
    report = run(lake, archive, dry_run=True, grouping=by)
    assert (outcomes(report), report.groups) == (["changed"], (TILL,))
    assert [path.read_bytes() for path in lake.turn_paths()] == [before]


def test_of_two_files_that_a_dead_run_left_a_dry_run_drops_none(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    (held,) = lake.turn_paths()
    left = lake.root / "turns" / "old" / held.name
    left.parent.mkdir()
    left.write_bytes(held.read_bytes())
    os.utime(left, ns=(1, 1))
    assert outcomes(run(lake, archive, dry_run=True)) == ["unchanged"]
    assert len(lake.turn_paths()) == 2
    run(lake, archive)
    assert lake.turn_paths() == [held]
