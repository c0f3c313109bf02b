"""Markup, quotes and addresses in every text: pages show them, and no browser obeys them."""

import dataclasses
import re
from collections import deque
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2 import PackageLoader

import turnetl
from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.cli.hostile_text import FORBIDDEN
from tests.cli.test_assumed_time import MARCH
from tests.html.html_parsing import ParsedPage
from tests.html.test_pages import HOSTILE
from tests.web.visiting import visiting
from turnetl.base.model import GroupId
from turnetl.html.charts import Chart, Series, column_chart
from turnetl.html.pages import environment, render
from turnetl.web import forms
from turnetl.web.access import DIRECTIVES
from turnetl.web.forms import PageForm, read_form
from turnetl.web.routes.entities import EntityPage, FactPage, FixPage
from turnetl.web.routes.overview import OverviewPage, ProjectPage
from turnetl.web.routes.references import ChoicesPage
from turnetl.web.routes.search import SearchPage
from turnetl.web.routes.turns import LinesPage, SessionPage, TimelinePage, TurnPage

ENVIRONMENT = environment([PackageLoader("turnetl.web")])
VIEWS: dict[str, type] = {
    "overview.html": OverviewPage,
    "project.html": ProjectPage,
    "search.html": SearchPage,
    "timeline.html": TimelinePage,
    "fix.html": FixPage,
    "turn.html": TurnPage,
    "session.html": SessionPage,
    "fact.html": FactPage,
    "entity.html": EntityPage,
    "lines.html": LinesPage,
    "choices.html": ChoicesPage,
}
ADDRESSES = frozenset(
    {*("href", "previous", "next", "timeline", "fixes", "errors", "search", "more")}
)
"""Fields with the address of a page, which `links` makes."""
TAGS = frozenset({
    "a", "aside", "blockquote", "body", "br", "button", "caption", "code", "dd", "del", "details",
    "div", "dl", "dt", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "head", "header",
    "html", "input", "label", "li", "line", "main", "meta", "nav", "ol", "option", "p", "pre",
    "rect", "script", "section", "select", "span", "strong", "style", "summary", "svg", "table",
    "tbody", "td", "th", "thead", "time", "title", "tr", "ul",
})  # fmt: skip


def with_texts(value: Any, text: str, *, name: str = "") -> Any:  # noqa: PLR0911 - one a type
    """Return a view with this text in place of every text but addresses."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return "turn?id=1" if name in ADDRESSES else text
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)  # as all times of the index
    if isinstance(value, tuple):
        return tuple(with_texts(one, text) for one in value)
    if isinstance(value, Chart):
        return column_chart(text, text, (text,), [Series(text, (1.0,))])
    if isinstance(value, PageForm):
        values = dict.fromkeys(("since", "file", "session"), text)
        return PageForm(query=text, groups=(text,), values=values)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: with_texts(getattr(value, field.name), text, name=field.name)
            for field in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **changed)
    return value


def rendered(template: str, view: Any, text: str) -> ParsedPage:
    form = PageForm(query=text, groups=(text,), values={"since": text, "entity": text})
    page = render(
        ENVIRONMENT,
        template,
        title=text,
        directives=DIRECTIVES,
        is_inside=True,
        view=view,
        item=view,
        form=form,
        groups=(text,),
        problem=text,
        message=text,
        caught_up_at=None,
        warnings=[text],
    )
    assert FORBIDDEN.findall(page) == []
    return ParsedPage(page)


def structure(page: ParsedPage) -> list[tuple[str, list[str]]]:
    """Return the tags of a page with the names of their attributes.

    What a text quotes in backticks is code, and nothing else in it is a tag.
    """
    tags = [(tag, sorted(attributes)) for tag, attributes in page.tags]
    return [one for one in tags if one != ("code", [])]


@pytest.mark.full
@pytest.mark.parametrize("template", VIEWS)
@settings(max_examples=25, suppress_health_check=(HealthCheck.data_too_large, HealthCheck.too_slow))
@given(st.data(), st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1)))
def test_no_text_changes_the_structure_of_a_page(
    template: str, data: st.DataObject, text: str
) -> None:
    view = data.draw(st.from_type(VIEWS[template]))
    hostile = rendered(template, with_texts(view, text), text)
    harmless = rendered(template, with_texts(view, "x"), "x")
    assert structure(hostile) == structure(harmless)
    assert hostile.attributes("href") == harmless.attributes("href")


@given(st.one_of(st.sampled_from(HOSTILE), st.text()))
def test_an_address_with_any_text_is_one_of_the_pages(text: str) -> None:
    for href in (forms.item_link(forms.TURN, text), forms.file_link(text, GroupId(text))):
        assert href.partition("?")[0] in (forms.TURN, forms.FILE)
        assert re.fullmatch(r"[\w?=&%.~+-]+", href, re.ASCII)


@given(st.text())
def test_a_link_to_a_search_asks_for_the_same_query(text: str) -> None:
    query = forms.link(forms.SEARCH, [("q", text)]).partition("?")[2]
    stored = text.encode("utf-8", "replace").decode()
    assert read_form(parse_qsl(query)) == read_form([("q", stored)])


@pytest.mark.full
async def test_pages_over_hostile_archives_show_their_texts_and_run_nothing(tmp_path: Path) -> None:
    write_hostile(tmp_path / "archives")
    lake = turnetl.Settings(lake=tmp_path / "lake")
    await turnetl.backfill(tmp_path / "archives", lake)
    async with visiting(lake) as visitor:
        start = str(visitor.client.base_url) + visitor.keys.start_page
        waiting, seen, texts = deque([start]), {start}, ""
        while waiting:
            address = waiting.popleft()
            response = await visitor.client.get(address)
            assert response.status_code == 200, address
            page = ParsedPage(response.text)
            texts += page.text
            assert page.names() <= TAGS
            assert set(page.attributes("src")) <= {"/static/pages.js"}
            assert not [name for _, found in page.tags for name in found if name.startswith("on")]
            assert FORBIDDEN.findall(response.text) == []
            for href in page.attributes("href"):
                target = urljoin(address, href).partition("#")[0]
                assert target.startswith(start), href
                if target not in seen and "/lines" not in target:
                    seen.add(target)
                    waiting.append(target)
    assert len(seen) > 20
    for text in HOSTILE[:-1]:
        assert " ".join(text.split()) in " ".join(texts.split()), text


def write_hostile(folder: Path) -> None:
    """Write an archive whose prompts, answers, tools, errors, paths and branches are hostile."""
    rows = []
    for number, text in enumerate(HOSTILE):
        at = MARCH + timedelta(minutes=number)
        path = f"/home/dev/shop/{text}.py"
        rows += [
            row("user", f"Add `{text}` {text}", f"u{number}", at, gitBranch=text),
            tool_call(f"c{number}", f"Bash{text}", at, command=f"pytest {text}"),
            tool_result(f"r{number}", f"c{number}", f"KeyError: {text}", at),
            tool_call(f"e{number}", "Edit", at, file_path=path, new_string=text),
            tool_result(f"s{number}", f"e{number}", text, at),
            row("assistant", f"We decided to use {text} because of {text}", f"a{number}", at),
        ]
    write_archive(folder / "hostile.jsonl", rows)
