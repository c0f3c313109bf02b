"""The first hour: from an empty home to a found answer, by what the command itself proposes."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, run_in_process
from tests.cli.typed_terminal import answered
from tests.printed import printed
from turnetl.base.model import GroupId
from turnetl.index.index_report import IndexedGroup, IndexStatus
from turnetl.ingestion.ingest_report import GroupCounts
from turnetl.status_report import GroupStatus, StatusReport
from turnetl.views import status as view


def test_without_anything_read_the_next_step_is_a_backfill(tmp_path: Path) -> None:
    result = run_in_process(folder=tmp_path)
    assert result.exit_code == 0
    assert result.stdout.startswith("Nothing has been read yet.\n")
    assert re.search(r"^  \S+ backfill  ", result.stdout, re.MULTILINE)
    assert len(result.stdout.splitlines()) <= 6
    assert not (tmp_path / ".turnetl").exists()


def test_without_an_index_the_next_step_is_to_make_it_again(
    filled_samples: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    shutil.copytree(filled_samples, tmp_path, dirs_exist_ok=True)
    index = tmp_path / ".turnetl" / "lake" / "index"
    for state in ("damaged", "missing"):
        with subtests.test(state=state):
            for path in filter(Path.is_file, index.rglob("*")):
                path.write_bytes(b"damaged")
            if state == "missing":
                shutil.rmtree(index)
            result = run_in_process(folder=tmp_path)
            assert result.exit_code == 0
            assert "Nothing has been read" not in result.stdout
            assert "index --rebuild" in result.stdout


@pytest.mark.full
@pytest.mark.journey
def test_from_an_empty_home_what_is_proposed_leads_to_an_answer(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "bookshop", tmp_path / ".claude" / "projects" / "bookshop")
    first = run_in_process(folder=tmp_path).stdout
    (proposed,) = re.findall(r"^  \S+ (\w+)  ", first, re.MULTILINE)
    output, code = answered(proposed, folder=tmp_path, typed="y\n")
    assert code == 0, output
    assert output.count("[y/N]") == 1
    *_, question = re.findall(r"^  .*turnetl (search .*)$", output, re.MULTILINE)
    hits = run_in_process(*shlex.split(question), "--json", folder=tmp_path).json["hits"]
    assert hits[0]["match"] == "strong"
    assert hits[0]["missing_words"] == []
    after = run_in_process(folder=tmp_path).stdout
    assert re.match(r"[1-9]\d* turns of 1 project, last read 20", after)
    assert "search" in after
    assert "serve" in after


def group(number: int, quarantined: int = 0) -> GroupStatus:
    return GroupStatus(
        GroupId(f"project_of_a_customer_{number}"),
        turns=100 + number,
        committed=90,
        noise={"empty": 10},
        counts=GroupCounts(90, 1_000, 2_000),
        quarantined=quarantined,
    )


def test_a_status_of_many_groups_fits_one_screen_and_hides_none_with_work(
    subtests: pytest.Subtests,
) -> None:
    for width in (40, 80):
        for count in (1, 3, 11, 12, 50):
            with subtests.test(width=width, count=count):
                groups = tuple(group(number) for number in range(count - 1))
                with_work = group(0, quarantined=3)
                report = StatusReport((*groups, with_work))
                text = printed(view.view(report), width=width)
                assert max(map(len, text.splitlines())) <= width
                assert re.search(r"pending: 3 quarantined", text)
                if width == 80:
                    assert (f"and {count - 10} more groups" in text) == (count > 11)
                    assert len(text.splitlines()) <= 24
                    assert text.rstrip().endswith("next: `turnetl retry` for 3 quarantined turns")
                row = re.search(r"^ *all .*", text, re.MULTILINE)
                assert row
                turns = sum(one.turns for one in report.groups)
                assert row[0].split()[1:] == [f"{turns:,}", f"{90 * count:,}", f"{10 * count}", "3"]


def test_a_group_with_a_name_that_says_nothing_is_explained_once() -> None:
    groups = [
        GroupStatus(GroupId(name), turns=2, committed=2)
        for name in ("no_project", "59b923df4d", "shop")
    ]
    text = printed(view.view(StatusReport(tuple(groups))))
    assert text.count("turns whose archive names no folder") == 1
    assert text.count("59b923df4d: a folder whose name is an id") == 1


def test_the_next_step_names_the_installation() -> None:
    groups = (IndexedGroup(GroupId("shop"), 3, 3),)
    read = IndexStatus(Path("/index"), groups, 0, 0, 0, "static", None)
    text = printed(view.next_step(read, _typed))
    assert "turnetl install" in text
    assert text.startswith("3 turns of 1 project, ")


def _typed(*words: str) -> str:
    return " ".join(("turnetl", *words))
