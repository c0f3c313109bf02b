"""The sample archives are as data/README.md describes them."""

import re
from collections import Counter
from pathlib import Path

import pytest

from turnetl import parsing
from turnetl.base.model import ClosedBy, GroupId, Turn
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

ROOT = Path(__file__).parents[2]
ARCHIVES = ROOT / "data" / "archives"
ELSEWHERE = re.compile(r"/(?:home/(?!dev/)|Users/|root/)|[A-Z]:\\\\")
"""Home folders of other users than `dev`."""
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.(?:com|org|net|io|dev|de)\b")

EXPECTED = {
    "bookshop/2026-03-03-checkout": (4, 0, 2, 0),
    "bookshop/2026-03-10-search": (5, 1, 0, 0),
    "bookshop/2026-03-24-payments": (4, 1, 0, 0),
    "bookshop/2026-03-24-payments/subagents/agent-a7c41fe": (0, 0, 0, 0),
    "bookshop/2026-03-31-postgres": (5, 0, 0, 0),
    "bookshop/2026-05-05-export": (2, 0, 0, 1),
    "bookshop/backup/2026-03-31-postgres": (1, 0, 0, 0),
    "shoebox/2026-02-21-first-steps": (3, 0, 0, 0),
    "shoebox/2026-03-28-duplicates": (4, 1, 0, 0),
    "shoebox/2026-04-19-heic": (3, 0, 0, 0),
}
"""By file: turns, steering prompts, user answers, concatenated lines."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="module")
def report(lake: Lake) -> parsing.ParseReport:
    return parsing.parse_archives(
        parsing.expand([ARCHIVES]).archives, lake, redactor=SecretRedactor()
    )


def _turns(lake: Lake, group: str) -> list[Turn]:
    return list(lake.turns(GroupId(group)))


def _session(turns: list[Turn], file: str) -> list[Turn]:
    return [turn for turn in turns if turn.archive == str(ARCHIVES / f"{file}.jsonl")]


def test_each_file_has_the_expected_turns_and_prompts(report: parsing.ParseReport) -> None:
    counts = {
        str(Path(archive.archive).relative_to(ARCHIVES).with_suffix("")): (
            archive.counts.turns,
            archive.counts.steering,
            archive.counts.user_answers,
            archive.counts.concatenated_lines,
        )
        for archive in report.archives
    }
    assert counts == EXPECTED


def test_the_readme_lists_the_same_number_of_turns_for_every_file() -> None:
    text = (ROOT / "data" / "README.md").read_text()
    rows = re.findall(r"^\| `(.+)\.jsonl` \| (\d+) \|", text, re.MULTILINE)
    assert {file: int(turns) for file, turns in rows} == {f: n[0] for f, n in EXPECTED.items()}


def test_no_archive_has_problems(report: parsing.ParseReport) -> None:
    assert report.problems == ()


@pytest.mark.usefixtures("report")
def test_two_projects_have_thirty_turns_and_one_copy(lake: Lake) -> None:
    projects = {group: Counter(t.turn_id for t in lake.turns(group)) for group in lake.groups()}
    assert {group: len(ids) for group, ids in projects.items()} == {"bookshop": 20, "shoebox": 10}
    copies = [turn for ids in projects.values() for turn, times in ids.items() if times > 1]
    assert len(copies) == 1


@pytest.mark.usefixtures("report")
def test_every_turn_has_a_time_in_spring_2026_and_a_response(lake: Lake) -> None:
    for group in lake.groups():
        for turn in lake.turns(group):
            assert turn.started_at is not None
            assert (turn.started_at.year, turn.started_at.month // 6) == (2026, 0)
            assert turn.assistant_text


@pytest.mark.usefixtures("report")
def test_commands_fail_and_pass_later_in_the_same_session(lake: Lake) -> None:
    for turn in _session(_turns(lake, "bookshop"), "bookshop/2026-03-03-checkout")[:2]:
        tests = [call.is_error for call in turn.tool_calls if "pytest" in call.input]
        assert tests == [True, False]


@pytest.mark.usefixtures("report")
def test_the_stopped_rewrite_is_an_interrupted_turn(lake: Lake) -> None:
    stopped = _session(_turns(lake, "bookshop"), "bookshop/2026-03-10-search")[2]
    assert stopped.closed_by is ClosedBy.INTERRUPTED


@pytest.mark.usefixtures("report")
def test_both_kinds_of_subagents_belong_to_the_turn_that_started_them(lake: Lake) -> None:
    turns = [*_turns(lake, "bookshop"), *_turns(lake, "shoebox")]
    files = [Path(turn.archive).name for turn in turns for _ in turn.subagent_prompts]
    assert files == ["2026-03-24-payments.jsonl", "2026-02-21-first-steps.jsonl"]


@pytest.mark.usefixtures("report")
def test_the_resumed_session_has_the_same_id_in_a_newer_version(lake: Lake) -> None:
    session = _session(_turns(lake, "bookshop"), "bookshop/2026-03-31-postgres")
    assert len({turn.session_id for turn in session}) == 1
    assert session[0].app_version != session[-1].app_version


def test_the_backup_is_a_prefix_of_the_file_it_copies() -> None:
    complete = (ARCHIVES / "bookshop/2026-03-31-postgres.jsonl").read_bytes()
    assert complete.startswith(
        (ARCHIVES / "bookshop/backup/2026-03-31-postgres.jsonl").read_bytes()
    )


def test_one_file_ends_without_a_newline() -> None:
    ends = {path.name: path.read_bytes()[-1:] for path in ARCHIVES.rglob("*.jsonl")}
    assert [name for name, end in ends.items() if end != b"\n"] == ["2026-04-19-heic.jsonl"]


@pytest.mark.usefixtures("report")
def test_they_contain_no_secret(lake: Lake) -> None:
    assert [turn.turn_id for g in lake.groups() for turn in lake.turns(g) if turn.redactions] == []


def test_they_contain_no_email_address_and_no_home_but_that_of_dev() -> None:
    for path in ARCHIVES.rglob("*.jsonl"):
        text = path.read_text()
        assert ADDRESS.findall(text) == []
        assert ELSEWHERE.findall(text) == []


def test_together_they_are_small() -> None:
    assert sum(path.stat().st_size for path in ARCHIVES.rglob("*.jsonl")) < 400_000
