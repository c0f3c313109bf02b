"""The page of a comparison: whatever old data hold is text, and nothing is loaded or run."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import GROUP, START
from turnetl.errors import BadUsage
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
from turnetl.model import GroupId, SessionId
from turnetl.report.migration_page import migration_page
from turnetl.report.page_file import check_page, write_page

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=y>\" onload='z' &amp; \x1b[31m\u202e"
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "section"),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary", "strong", "span"),
    *("ul", "li"),
}


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


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


@pytest.mark.parametrize("text", [HOSTILE, "plain"])
def test_whatever_the_data_hold_is_text(text: str) -> None:
    found = Tags(migration_page(report(text, reasons=(text,))))
    assert {tag for tag, _ in found.tags} <= ALLOWED
    attributes = {name for tag, values in found.tags for name in values if tag != "meta"}
    assert attributes <= {"class", "lang", "open"}
    assert found.open == []
    assert any(text[:20] in one for one in found.texts)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", "".join(found.texts))


def test_the_policy_of_the_page_allows_its_style_sheet_and_nothing_else() -> None:
    page = migration_page(report())
    [policy] = [
        values["content"]
        for tag, values in Tags(page).tags
        if values.get("http-equiv") == "Content-Security-Policy"
    ]
    style = re.search(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    assert style
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"(?i)https?:|url\(|@import|<script|\son\w+=", page)


def test_the_page_says_whether_a_cutover_is_refused_and_why() -> None:
    refused = migration_page(report(reasons=("9 facts are missing",)))
    assert "A cutover is refused" in refused
    assert "9 facts are missing" in refused
    assert "The turns may replace the old data" in migration_page(report())


@given(st.text())
def test_any_text_leaves_the_page_well_formed(text: str) -> None:
    found = Tags(migration_page(report(text, reasons=(text,))))
    assert found.open == []
    assert {tag for tag, _ in found.tags} <= ALLOWED


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
