"""Archives to turns files: changed ones are parsed, all are redacted, no failure stops the rest."""

import json
import os
import random
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.redactors import CallbackRedactor, FailingRedactor, NoRedactor, WordRedactor
from tests.parse.parse_runs import counts_every_line, outcomes, row, run
from tests.scale import scaled
from turnetl import parsing
from turnetl.base.model import GroupId, Turn
from turnetl.base.reason import SkipReason
from turnetl.lake import Lake

SMALL = Path(__file__).parents[1] / "archives" / "claude_code"
SHOP = GroupId("shop")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text(row("user", "Mend the cart.", "p0") + row("assistant", "Mended.", "a0"))
    return path


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def prompts(lake: Lake, group: GroupId = SHOP) -> list[str]:
    return [turn.user_text for turn in lake.turns(group)]


def only_turn(lake: Lake, group: GroupId = SHOP) -> Turn:
    (turn,) = lake.turns(group)
    return turn


def test_an_archive_becomes_a_turns_file_of_its_project(archive: Path, lake: Lake) -> None:
    report = run(lake, archive)
    assert outcomes(report) == ["new"]
    assert report.groups == (SHOP,)
    turn = only_turn(lake)
    assert (turn.user_text, turn.assistant_text) == ("Mend the cart.", "Mended.")
    assert (turn.archive, turn.first_line, turn.last_line) == (str(archive), 1, 2)
    assert turn.chars == len("Mend the cart.") + len("Mended.")
    assert (turn.closed, turn.closed_by) == (False, None)


def test_an_archive_with_the_same_size_and_time_is_not_opened(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    before = archive.stat()
    archive.write_text(archive.read_text().replace("Mend the cart.", "Tear it apart."))
    os.utime(archive, ns=(before.st_atime_ns, before.st_mtime_ns))
    report = run(lake, archive)
    assert outcomes(report) == ["unchanged"]
    assert report.read.lines == 0
    assert report.archives[0].counts.turns == 1
    assert prompts(lake) == ["Mend the cart."]


def test_an_archive_with_the_same_content_is_not_parsed_again(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    before = only_turn(lake)
    os.utime(archive, ns=(1, 1))
    assert outcomes(run(lake, archive, redactor=FailingRedactor())) == ["unchanged"]
    assert only_turn(lake) == before


def test_a_touched_archive_is_opened_only_once(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    os.utime(archive, ns=(1, 1))
    run(lake, archive)
    archive.write_text(archive.read_text().replace("Mend the cart.", "Tear it apart."))
    os.utime(archive, ns=(1, 1))
    assert outcomes(run(lake, archive)) == ["unchanged"]


def test_a_grown_archive_is_parsed_completely_and_replaced(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    first = only_turn(lake)
    with archive.open("a") as file:
        file.write(row("user", "Push it.", "p1"))
    assert outcomes(run(lake, archive)) == ["changed"]
    assert len(lake.turn_paths()) == 1
    turns = list(lake.turns(SHOP))
    assert [turn.user_text for turn in turns] == ["Mend the cart.", "Push it."]
    assert turns[0].turn_id == first.turn_id
    assert turns[0].content_hash == first.content_hash
    assert [turn.closed for turn in turns] == [True, False]


def test_lines_appended_during_a_run_are_read_by_the_next_run(archive: Path, lake: Lake) -> None:
    def append() -> None:
        with archive.open("a") as file:
            file.write(row("user", "Push it.", "p1"))

    run(lake, archive, redactor=CallbackRedactor(append))
    assert prompts(lake) == ["Mend the cart."]
    assert outcomes(run(lake, archive)) == ["changed"]
    assert prompts(lake) == ["Mend the cart.", "Push it."]


def test_an_archive_in_another_group_leaves_no_old_file(archive: Path, lake: Lake) -> None:
    run(lake, archive)
    assert outcomes(run(lake, archive, grouping=parsing.Grouping("till"))) == ["changed"]
    assert lake.groups() == ["till"]
    assert prompts(lake, GroupId("till")) == ["Mend the cart."]


def test_an_explicit_group_stays_when_it_is_not_named_again(archive: Path, lake: Lake) -> None:
    run(lake, archive, grouping=parsing.Grouping("till"))
    assert outcomes(run(lake, archive)) == ["unchanged"]
    with archive.open("a") as file:
        file.write(row("user", "Push it.", "p1"))
    assert outcomes(run(lake, archive)) == ["changed"]
    assert lake.groups() == ["till"]


def test_the_older_of_two_files_that_a_killed_run_left_is_deleted(
    archive: Path, lake: Lake
) -> None:
    run(lake, archive)
    (old,) = lake.turn_paths()
    left = old.read_bytes()
    run(lake, archive, grouping=parsing.Grouping("till"))
    old.write_bytes(left)
    os.utime(old, ns=(1, 1))
    assert outcomes(run(lake, archive)) == ["unchanged"]
    assert lake.groups() == ["till"]


def test_a_bad_archive_does_not_affect_the_others(
    archive: Path, lake: Lake, tmp_path: Path
) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "other.jsonl").write_text('{"type":"session_meta","payload":{}}\n')
    (tmp_path / "folder.jsonl").mkdir()
    paths = [tmp_path / name for name in ("missing", "empty.jsonl", "other.jsonl", "folder.jsonl")]
    report = run(lake, *paths, archive)
    assert outcomes(report) == ["unreadable", "unknown", "unknown", "unreadable", "new"]
    assert [problem.reason for problem in report.problems] == [
        SkipReason.MISSING,
        SkipReason.EMPTY,
        SkipReason.UNKNOWN_FORMAT,
        SkipReason.FOLDER,
    ]
    for problem, path in zip(report.problems, paths, strict=True):
        assert f"`{path}`" in problem.message
        assert problem.message.count(".") - str(path).count(".") == 1
    assert prompts(lake) == ["Mend the cart."]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file"
)
def test_an_archive_without_read_permission_is_reported(archive: Path, lake: Lake) -> None:
    archive.chmod(0)
    (problem,) = run(lake, archive).problems
    assert "check its permissions" in problem.message


def test_an_invalid_line_is_reported_and_affects_no_other_line(lake: Lake) -> None:
    report = run(lake, SMALL / "lines.jsonl")
    (problem,) = report.problems
    assert (problem.line, problem.reason) == (5, SkipReason.INVALID_JSON)
    assert "lines.jsonl` line 5 and 1 more" in problem.message
    assert report.read.turns == 3


def test_a_report_counts_every_line_and_reports_of_batches_add_up(lake: Lake) -> None:
    paths = sorted(SMALL.glob("*.jsonl"))
    total = run(lake, *paths[:3]) + run(lake, *paths[3:])
    assert total.outcomes == Counter({parsing.Outcome.NEW: len(paths)})
    assert counts_every_line(total)
    assert total.read.lines == sum(path.read_bytes().count(b"\n") for path in paths) + 1
    assert total.read.turns == sum(1 for group in lake.groups() for _ in lake.turns(group))


def test_an_archive_whose_name_is_not_valid_utf8_is_parsed_once(lake: Lake, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff.jsonl")
    odd.write_text(row("user", "Mend the cart.", "p0"))
    archives = parsing.expand([tmp_path]).archives
    assert outcomes(run(lake, *archives)) == ["new"]
    assert outcomes(run(lake, *archives)) == ["unchanged"]
    assert only_turn(lake).archive.endswith("odd\\udcff.jsonl")


def test_progress_is_reported_after_each_archive(archive: Path, lake: Lake) -> None:
    updates: list[tuple[int, int]] = []
    parsing.parse_archives(
        [archive, SMALL / "answers.jsonl"],
        lake,
        redactor=NoRedactor(),
        progress=lambda done, total: updates.append((done, total)),
    )
    assert updates == [(1, 2), (2, 2)]


def test_the_same_archive_gives_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        run(Lake(tmp_path / name), archive)
        (path,) = Lake(tmp_path / name).turn_paths()
        written.append(path.read_bytes())
    assert written[0] == written[1]


ALL_SAMPLES = b"".join(path.read_bytes() for path in sorted(SMALL.glob("*.jsonl")))


@settings(max_examples=scaled(30))
@given(st.lists(st.tuples(st.integers(0, len(ALL_SAMPLES)), st.binary(max_size=9)), max_size=20))
def test_a_damaged_archive_is_written_or_reported_as_unknown(
    damages: list[tuple[int, bytes]],
) -> None:
    damaged = bytearray(ALL_SAMPLES)
    for at, put in damages:
        damaged[at : at + len(put)] = put
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "damaged.jsonl")
        path.write_bytes(damaged)
        report = run(Lake(Path(folder, "lake")), path)
    assert outcomes(report) in (["new"], ["unknown"])
    assert counts_every_line(report)


def secretive(secret: str) -> str:
    """Return an archive with a secret in every place that is written."""
    place = {"cwd": f"/srv/{secret}", "gitBranch": f"fix-{secret}"}
    edit = {"file_path": f"/{secret}.py", "old_string": "a", "new_string": f"key = {secret}"}
    uses = [
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"echo {secret}"}},
        {"type": "tool_use", "id": "t2", "name": "Task", "input": {"prompt": f"Use {secret}"}},
        {"type": "tool_use", "id": "t3", "name": "Edit", "input": edit},
    ]
    long = "x" * 1190 + secret + "y" * 3000
    refusal = f"To tell you how to proceed, the user said:\nnot {secret}"
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": long},
        {"type": "tool_result", "tool_use_id": "t2", "content": refusal, "is_error": True},
        {"type": "text", "text": f"and {secret} too"},
    ]
    blocks = [{"type": "text", "text": f"I see {secret}."}, *uses]
    return (
        row("user", f"My key is {secret}", "p0", **place)
        + row("assistant", blocks, "a0", **place)
        + row("user", results, "r0", **place)
    )


def test_no_secret_reaches_the_table_even_where_a_result_is_truncated(
    lake: Lake, tmp_path: Path
) -> None:
    secret = random.randbytes(20).hex()
    path = tmp_path / "s1.jsonl"
    path.write_text(secretive(secret))
    run(lake, path, redactor=WordRedactor(secret), grouping=parsing.Grouping("shop"))
    turn = only_turn(lake)
    assert secret[:6] not in repr(turn)
    assert turn.steering == ("and [cut] too",)
    assert turn.user_answers == ("not [cut]",)
    assert turn.subagent_prompts == ("Use [cut]",)
    assert (turn.cwd, turn.git_branch) == ("/srv/[cut]", "fix-[cut]")
    assert [call.input for call in turn.tool_calls][::2] == [
        "echo [cut]",
        "/[cut].py :: - a + key = [cut]",
    ]
    assert turn.redactions == 13
    assert b"[cut]" not in path.read_bytes()


def test_a_group_is_never_named_after_a_secret(lake: Lake, tmp_path: Path) -> None:
    secret = random.randbytes(20).hex()
    path = tmp_path / "s1.jsonl"
    path.write_text(secretive(secret))
    assert run(lake, path, redactor=WordRedactor(secret)).groups == ("cut",)


def test_long_texts_keep_head_and_tail_and_the_number_of_omitted_characters(
    lake: Lake, tmp_path: Path
) -> None:
    command = "echo start\n" + "echo x; " * 200 + "\necho end"
    result_text = "A" * 5000 + "the error is here"
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": result_text}
    path = tmp_path / "s1.jsonl"
    rows = row("user", "Go.", "p0"), row("assistant", [use], "a0"), row("user", [result], "r0")
    path.write_text("".join(rows))
    run(lake, path)
    turn = only_turn(lake)
    (call,) = turn.tool_calls
    assert call.input.startswith("echo start echo x;")
    assert call.input.endswith("echo end")
    assert "\n" not in call.input
    assert call.result.endswith("the error is here")
    assert f"[... {len(result_text) - 2000} characters left out ...]" in call.result
    assert turn.chars == len("Go.") + len(json.dumps({"command": command})) - 1 + len(result_text)


def test_of_a_text_that_an_agent_wrote_for_people_more_is_kept(lake: Lake, tmp_path: Path) -> None:
    plan = "Keep prices in cents. " * 100
    use = {"type": "tool_use", "id": "t1", "name": "ExitPlanMode", "input": {"plan": plan}}
    body = f"gh pr create --title Cents --body '{plan * 2}'"
    create = {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": body}}
    path = tmp_path / "s1.jsonl"
    path.write_text(row("user", "Go.", "p0") + row("assistant", [use, create], "a0"))
    run(lake, path)
    first, second = only_turn(lake).tool_calls
    assert plan in first.input
    assert second.input.count("cents.") in range(130, 140)
    assert f"[... {len(body) - 3000} characters left out ...]" in second.input


@pytest.mark.parametrize(
    ("cwd", "group"),
    [
        ("/home/dev/My Shop-2.0", "my_shop_2_0"),
        ("/home/dev/shop/", "shop"),
        ("C:\\Users\\dev\\shop", "shop"),
        ("/home/dev/shop/.worktrees/fix/cart", "shop"),
        ("/home/dev/shop/.worktrees/fix/cart/src", "shop"),
        ("/home/dev/shop/.claude/worktrees/fix", "shop"),
        ("/home/dev/café", "cafe"),
        ("/", "no_project"),
        (None, "no_project"),
    ],
)
def test_the_group_is_the_project_of_the_first_working_folder(
    cwd: str | None, group: str, lake: Lake, tmp_path: Path
) -> None:
    path = tmp_path / "s1.jsonl"
    later = "/elsewhere" if cwd else None
    path.write_text(row("user", "Hi.", "p0", cwd=cwd) + row("user", "Ho.", "p1", cwd=later))
    assert run(lake, path).groups == (group,)


def test_projects_in_another_script_are_different_groups(lake: Lake, tmp_path: Path) -> None:
    for name in ("магазин", "касса"):
        (tmp_path / f"{name}.jsonl").write_text(row("user", "Hi.", name, cwd=f"/srv/{name}"))
    report = run(lake, *sorted(tmp_path.glob("*.jsonl")))
    assert len(report.groups) == 2
    assert all(group.startswith("project_") for group in report.groups)


def test_archives_are_parsed_again_when_the_redactor_changes(tmp_path: Path) -> None:
    archive = tmp_path / "s1.jsonl"
    archive.write_text(row("user", "the word is sesame", "p0"))
    lake = Lake(tmp_path / "lake")
    run(lake, archive, redactor=NoRedactor())
    again = run(lake, archive, redactor=WordRedactor("sesame", version="2"))
    assert again.outcomes == Counter({parsing.Outcome.CHANGED: 1})
    assert [turn.user_text for turn in lake.turns(GroupId("shop"))] == ["the word is [cut]"]


def test_an_incomplete_last_line_is_read_once_it_is_complete(tmp_path: Path) -> None:
    archive = tmp_path / "s1.jsonl"
    complete = row("user", "first", "p0") + row("user", "second", "p1")
    archive.write_text(complete[:-30])
    lake = Lake(tmp_path / "lake")
    (problem,) = run(lake, archive).problems
    assert (problem.line, problem.reason) == (2, SkipReason.TRUNCATED)
    archive.write_text(complete)
    assert run(lake, archive).problems == ()
    assert [turn.user_text for turn in lake.turns(SHOP)] == ["first", "second"]
