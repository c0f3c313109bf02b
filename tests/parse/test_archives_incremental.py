"""A second run: unchanged archives are not opened, and new choices of the user take effect."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.redactors import FailingRedactor, WordRedactor
from tests.parse.parse_runs import one_turn, outcomes, row, run
from turnetl import formats, parsing
from turnetl.base import damaged_copies
from turnetl.base.model import GroupId
from turnetl.base.reason import SkipReason
from turnetl.episodes import build
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

SHOP, TILL = GroupId("shop"), GroupId("till")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text(one_turn())
    return path


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def prompts(lake: Lake, group: GroupId = SHOP) -> list[str]:
    return [turn.user_text for turn in lake.turns(group)]


def make_unreadable_unnoticed(path: Path) -> None:
    """Replace the content by an unknown format, with the same size and modification time."""
    before = path.stat()
    path.write_bytes(b"x" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_turns_stay_that_an_archive_no_longer_holds_and_are_counted(
    archive: Path, lake: Lake
) -> None:
    archive.write_text(one_turn() + one_turn("Push it.", "p1"))
    run(lake, archive)
    archive.write_text(one_turn("Push it again.", "p1"))
    report = run(lake, archive)
    assert (outcomes(report), report.read.turns, report.retained_turns) == (["changed"], 1, 1)
    assert prompts(lake) == ["Push it again.", "Mend the cart."]
    again = run(lake, archive)
    assert (outcomes(again), again.archives[0].retained_turns) == (["unchanged"], 1)
    os.utime(archive, ns=(1, 1))
    assert run(lake, archive).archives[0].retained_turns == 1
    assert prompts(lake) == ["Push it again.", "Mend the cart."]


def test_a_turn_that_an_archive_holds_again_is_no_longer_counted(archive: Path, lake: Lake) -> None:
    both = one_turn() + one_turn("Push it.", "p1")
    for content in (both, one_turn(), both):
        archive.write_text(content)
        report = run(lake, archive)
    assert report.retained_turns == 0
    assert prompts(lake) == ["Mend the cart.", "Push it."]


@pytest.mark.full
def test_retained_turns_change_what_the_filter_builds_from(archive: Path, lake: Lake) -> None:
    short, long = one_turn(), one_turn() + one_turn("Push it.", "p1")
    for content in (short, long, short):
        archive.write_text(content)
        run(lake, archive)
        built = build(lake, lake.groups())
    assert built.turns == 2


def test_an_archive_is_read_again_if_an_older_turnetl_recorded_its_tokens(
    archive: Path, lake: Lake
) -> None:
    """Its turns stay, with those that it no longer holds."""
    usage = {"input_tokens": 7, "output_tokens": 2}
    message = {"message": {"role": "assistant", "content": "Read.", "usage": usage}}
    subagent = row("assistant", "Read.", "x1", isSidechain=True, **message)
    archive.write_text(one_turn() + one_turn("Push it.", "p1"))
    run(lake, archive)
    archive.write_text(one_turn() + subagent)
    run(lake, archive)
    [file] = lake.turn_files()
    older = replace(file.metadata, subagent_usage=None, tokens=0)
    lake.write_turns(lake.read_turns_file(file.path), older)
    report = run(lake, archive)
    assert (outcomes(report), report.retained_turns) == (["changed"], 1)
    assert [one.metadata for one in lake.turn_files()] == [file.metadata]
    [used] = file.metadata.subagent_usage or ()
    assert (used.input_tokens, used.output_tokens) == (7, 2)
    assert prompts(lake) == ["Mend the cart.", "Push it."]
    assert outcomes(run(lake, archive)) == ["unchanged"]


def test_a_secret_in_the_place_of_a_subagents_model_is_redacted(archive: Path, lake: Lake) -> None:
    message = {"role": "assistant", "content": "Read.", "model": "hunter2-large"}
    usage = {"usage": {"input_tokens": 7, "output_tokens": 2}}
    archive.write_text(
        one_turn() + row("assistant", "", "x1", isSidechain=True, message=message | usage)
    )
    run(lake, archive, redactor=WordRedactor("hunter2"))
    [file] = lake.turn_files()
    assert [one.model for one in file.metadata.subagent_usage or ()] == ["[cut]-large"]


def test_an_archive_whose_turns_file_is_damaged_is_parsed_again(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    (path,) = lake.turn_paths()
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    os.utime(archive, ns=(1, 1))
    run(lake, archive)
    assert prompts(lake) == ["Mend the cart."]


@pytest.mark.parametrize("damaged_byte", [20, -20], ids=["rows", "footer"])
def test_a_damaged_turns_file_with_turns_that_its_archive_lost_is_kept_and_named(
    archive: Path, lake: Lake, damaged_byte: int
) -> None:
    """So is one with an unreadable footer: nobody knows what it holds."""
    archive.write_text(one_turn() + one_turn("Push it.", "p1"))
    run(lake, archive)
    archive.write_text(one_turn("Push it again.", "p1"))
    assert run(lake, archive).retained_turns == 1
    (path,) = lake.turn_paths()
    data = bytearray(path.read_bytes())
    data[damaged_byte] ^= 1
    path.write_bytes(data)
    archive.write_text(one_turn("Push it again.", "p1") + one_turn("Tag it.", "p2"))
    for dry_run in (True, False):
        report = run(lake, archive, dry_run=dry_run)
        (problem,) = report.problems
        assert (problem.path, problem.reason) == (str(path), SkipReason.DAMAGED_TABLE)
        assert len(list(path.parent.iterdir())) == (1 if dry_run else 2)
    assert prompts(lake) == ["Push it again.", "Tag it."]
    (kept,) = set(path.parent.iterdir()) - {path}
    assert kept.read_bytes() == bytes(data)
    assert f"`{kept}`" in problem.message
    assert ("1 turns" in problem.message) == (damaged_byte > 0)
    assert run(lake, archive).problems == ()


def test_only_the_newest_damaged_turns_files_are_kept(archive: Path, lake: Lake) -> None:
    for number in range(damaged_copies.KEPT + 2):
        archive.write_text(one_turn(f"Mend cart {number}."))
        run(lake, archive)
        (path,) = lake.turn_paths()
        path.write_bytes(b"%d" % number)
        os.utime(path, (number, number))
    archive.write_text(one_turn("Mend it."))
    run(lake, archive)
    kept = sorted(path.parent.glob("*.damaged-*"))
    assert [file.read_bytes() for file in kept] == [b"2", b"3", b"4"]


def test_an_archive_of_another_project_changes_its_group(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    archive.write_text(row("user", "Count it.", "p9", cwd="/home/dev/till"))
    assert outcomes(run(lake, archive)) == ["changed"]
    assert lake.groups() == [TILL]


def test_a_deleted_archive_keeps_its_turns(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    archive.unlink()
    assert outcomes(run(lake, archive)) == ["unreadable"]
    assert prompts(lake) == ["Mend the cart."]


@pytest.mark.parametrize("data", ["", "{}\n", '{"other":"tool"}\n' * 9])
def test_an_archive_that_lost_its_content_keeps_its_turns(
    archive: Path, lake: Lake, data: str
) -> None:
    run(lake, archive)
    archive.write_text(data)
    assert outcomes(run(lake, archive))[0] in ("unreadable", "unknown")
    assert prompts(lake) == ["Mend the cart."]


def test_another_grouping_moves_an_unchanged_archive(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    grouping = parsing.Grouping("{format}_{project}")
    assert outcomes(run(lake, archive, grouping=grouping)) == ["changed"]
    assert lake.groups() == ["claude_code_shop"]
    make_unreadable_unnoticed(archive)
    assert outcomes(run(lake, archive, grouping=grouping)) == ["unchanged"]


def test_an_explicit_group_stays_without_opening_the_archive(archive: Path, lake: Lake) -> None:
    run(lake, archive, grouping=parsing.Grouping("till"))
    make_unreadable_unnoticed(archive)
    assert outcomes(run(lake, archive)) == ["unchanged"]
    assert lake.groups() == [TILL]


def test_naming_the_current_group_makes_it_explicit(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    same_group = parsing.Grouping("shop")
    assert outcomes(run(lake, archive, grouping=same_group, redactor=FailingRedactor())) == [
        "unchanged"
    ]
    archive.write_text(row("user", "Count it.", "p9", cwd="/home/dev/till"))
    run(lake, archive)
    assert lake.groups() == [SHOP]


def test_a_newly_named_group_replaces_one_named_before(archive: Path, lake: Lake) -> None:
    run(lake, archive, grouping=parsing.Grouping("till"))
    assert outcomes(run(lake, archive, grouping=parsing.Grouping("{project}"))) == ["changed"]
    assert lake.groups() == [SHOP]


def test_an_explicit_format_stays_as_well(lake: Lake, tmp_path: Path) -> None:
    claude_code = formats.by_name("claude_code")
    path = tmp_path / "odd.txt"
    path.write_text(line := '{"type":"user","message":{"content":"Mend it."}}\n')
    assert outcomes(run(lake, path)) == ["unknown"]
    assert outcomes(run(lake, path, explicit_format=claude_code)) == ["new"]
    assert outcomes(run(lake, path)) == ["unchanged"]
    path.write_text(line + line)
    assert outcomes(run(lake, path)) == ["changed"]


def test_another_explicit_format_parses_an_unchanged_archive_again(
    lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"messages":[{"role":"user","content":"Mend the cart."}]}\n')
    assert run(lake, path).archives[0].format == "openai_conv"
    report = run(lake, path, explicit_format=formats.by_name("sharegpt"))
    assert (outcomes(report), report.archives[0].format) == (["changed"], "sharegpt")
    assert len(lake.turn_paths()) == 1


def test_an_explicit_format_without_matching_content_loses_no_stored_turn(
    archive: Path, lake: Lake
) -> None:
    run(lake, archive)
    before = prompts(lake)
    report = run(lake, archive, explicit_format=formats.by_name("codex"))
    assert outcomes(report) == ["unknown"]
    (problem,) = report.problems
    assert problem.reason is SkipReason.WRONG_FORMAT
    assert "looks like `claude_code`" in problem.message
    assert prompts(lake) == before
    assert outcomes(run(lake, archive)) == ["unchanged"]


def test_another_redactor_parses_everything_again(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    for key in (b"a", b"b"):
        assert outcomes(run(lake, archive, redactor=SecretRedactor(key))) == ["changed"]
        assert outcomes(run(lake, archive, redactor=SecretRedactor(key))) == ["unchanged"]


def test_a_dry_run_reports_the_outcomes_and_writes_nothing(
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


def test_a_dry_run_changes_no_stored_file(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    (stored,) = lake.turn_paths()
    before = stored.read_bytes()
    os.utime(archive, ns=(1, 1))
    assert outcomes(run(lake, archive, dry_run=True)) == ["unchanged"]
    archive.write_text(one_turn() + one_turn("Push it.", "p1"))
    assert outcomes(run(lake, archive, dry_run=True)) == ["changed"]
    till = parsing.Grouping("till")
    report = run(lake, archive, dry_run=True, grouping=till)
    assert (outcomes(report), report.groups) == (["changed"], (TILL,))
    assert [path.read_bytes() for path in lake.turn_paths()] == [before]


def test_a_dry_run_keeps_both_files_that_a_killed_run_left(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    (stored,) = lake.turn_paths()
    left = lake.root / "turns" / "old" / stored.name
    left.parent.mkdir()
    left.write_bytes(stored.read_bytes())
    os.utime(left, ns=(1, 1))
    assert outcomes(run(lake, archive, dry_run=True)) == ["unchanged"]
    assert len(lake.turn_paths()) == 2
    run(lake, archive)
    assert lake.turn_paths() == [stored]
