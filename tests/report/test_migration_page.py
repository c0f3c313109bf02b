"""The page of a comparison: whatever old data hold is text, and nothing is loaded or run."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import GROUP, START
from tests.html.html_parsing import ParsedPage
from tests.html.test_pages import HOSTILE
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId, SessionId
from turnetl.migration.comparison import (
    ComparedSession,
    DataSize,
    FactDates,
    GroupComparison,
    LostFact,
    MigrationComparison,
    ProbeResult,
    SearchProbe,
)
from turnetl.report_pages.migration_page import migration_page
from turnetl.report_pages.own_file import check_page, write_page


def report(text: str = "a", *, reasons: tuple[str, ...] = ()) -> MigrationComparison:
    session = ComparedSession(
        session_id=SessionId(text),
        format="claude_code",
        started_at=START,
        old=DataSize(1, 2, 1, 3),
        new=DataSize(2, 3, 4, 5),
        lost_facts=(LostFact("uuid", text, None, text, 0.4, shares_entity=True),),
        entities_lost=(text,),
        entities_gained=(text,),
        old_dates=FactDates(1, 0, 1),
        new_dates=FactDates(4, 0, 0),
    )
    group = GroupComparison(
        group=GroupId(text),
        migration_id="0" * 8,
        sessions=(session, replace(session, session_id=None, started_at=None)),
        old=DataSize(1, 2, 2, 3),
        new=DataSize(2, 3, 4, 5),
        entities_lost=(text,) * 300,
        entities_gained=(text,),
        probes=(ProbeResult(SearchProbe(text, (SessionId(text),)), 1, None),),
        are_probes_generated=True,
        reasons=reasons,
    )
    return MigrationComparison((group,), 0.6, 10, START)


def shape(page: str) -> list[tuple[str, list[str]]]:
    """The tags with the names of their attributes."""
    return [(tag, sorted(found)) for tag, found in ParsedPage(page).tags]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_the_data_hold_is_text(text: str) -> None:
    page = migration_page(report(text, reasons=(text,)))
    assert shape(page) == PLAIN
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)
    assert not re.search(r"https?:|url\(|@import", page)
    assert ParsedPage(page).attributes("href") == ["#content"]


def test_the_page_says_whether_a_cutover_is_refused_and_why() -> None:
    refused = migration_page(report(reasons=("9 facts are missing",)))
    assert "A cutover is refused" in refused
    assert "9 facts are missing" in refused
    assert "The turns may replace the old data" in migration_page(report())


@pytest.mark.full
@given(st.text(min_size=1))
def test_no_text_adds_a_tag_or_an_attribute(text: str) -> None:
    assert shape(migration_page(report(text, reasons=(text,)))) == PLAIN


PLAIN = shape(migration_page(report("plain", reasons=("plain",))))


def test_a_list_of_names_says_how_many_it_leaves_out() -> None:
    assert "200 of 300 names are shown." in ParsedPage(migration_page(report())).text


def test_a_page_is_written_for_its_user_only_and_replaces_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(path, migration_page(report("old")))
    check_page(path)
    write_page(path, migration_page(report(f"{GROUP}\ud800")))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().startswith(b"<!DOCTYPE html>")


def test_a_file_that_is_no_page_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "notes.html"
    path.write_text("<!DOCTYPE html>mine", encoding="utf-8")
    for refused in (check_page, lambda path: write_page(path, migration_page(report()))):
        with pytest.raises(BadUsage, match="is no page of turnetl: delete it, or name another"):
            refused(path)
    assert path.read_text("utf-8") == "<!DOCTYPE html>mine"


def test_a_page_in_a_folder_that_does_not_exist_is_refused_before_the_comparison(
    tmp_path: Path,
) -> None:
    for path in (tmp_path, tmp_path / "missing" / "page.html"):
        with pytest.raises(BadUsage, match="name a file for the page"):
            check_page(path)
