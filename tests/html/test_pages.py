"""The base of all pages: whatever a value holds is text, and nothing is loaded or run."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, UndefinedError

from tests.html.html_parsing import ParsedPage
from turnetl.html import pages
from turnetl.html.charts import Series, column_chart, share
from turnetl.html.references import (
    FactReference,
    TurnReference,
    file_href,
    group_note,
    shown_path,
    source_lines,
)

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
HOSTILE = (
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "</style><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "--><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "\x00\x1b[31m\u202e\ud800",
)
TEMPLATE = """
{% extends "layout.html" %}
{% import "macros.html" as show %}
{% block navigation %}<nav aria-label="Sections">{{ text }}</nav>{% endblock %}
{% block content %}
<p>{{ show.turn(turn) }}</p><p>{{ show.fact(fact) }}</p><p>{{ show.fact(invalid) }}</p>
{{ show.table(text, [text, "number"], [[text, text]], numbers=1) }}
{{ show.cut(1, 2, text) }}{{ show.missing(text) }}
{{ show.chart(columns) }}<p>{{ show.bar(50.0) }}</p>
{% endblock %}
"""
ENVIRONMENT = pages.environment([DictLoader({"page.html": TEMPLATE})])


def test_a_page_contains_every_value_as_text() -> None:
    for text in HOSTILE:
        check_page(text)


@given(st.text(min_size=1))
def test_no_value_adds_a_tag_or_an_attribute(text: str) -> None:
    assert shape(page(text)) == shape(page("a"))


def test_the_policy_allows_only_the_style_sheet_that_the_page_contains() -> None:
    rendered = page("a")
    style = rendered.split("<style>")[1].split("</style>")[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    (policy,) = [
        found["content"]
        for tag, found in ParsedPage(rendered).tags
        if tag == "meta" and found.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{digest}'"
    )


def test_a_page_loads_nothing() -> None:
    parsed = ParsedPage(page("a"))
    assert not parsed.names() & {"script", "link", "img", "iframe", "object", "embed", "form"}
    assert "url(" not in pages.stylesheet()
    assert "@import" not in pages.stylesheet()


def test_a_server_may_allow_more() -> None:
    policy = pages.content_security_policy({"connect-src": "'self'", "form-action": "'self'"})
    assert "connect-src 'self'" in policy
    assert policy.count("form-action") == 1


def test_a_page_has_landmarks_and_a_link_that_skips_to_its_content() -> None:
    parsed = ParsedPage(page("a"))
    assert {"header", "nav", "main", "footer"} <= parsed.names()
    assert parsed.attributes("href")[0] == "#content"
    assert ("main", {"id": "content", "tabindex": "-1"}) in parsed.tags


def test_a_fact_that_no_longer_holds_is_marked_in_words() -> None:
    assert "ended on" in ParsedPage(page("a")).text
    assert page("a").count("<del>") == 1


def test_a_variable_that_is_not_given_is_an_error() -> None:
    environment = pages.environment([DictLoader({"page.html": "{{ absent }}"})])
    with pytest.raises(UndefinedError):
        pages.render(environment, "page.html", title="a")


def test_times_are_shown_in_utc() -> None:
    there = START.astimezone(timezone(timedelta(hours=5)))
    assert pages.minute(there) == "2026-03-01 09:30"
    assert pages.day(there) == "2026-03-01"
    assert pages.minute(None) == "-"


def test_numbers_have_separators() -> None:
    assert pages.count(12345) == "12,345"
    assert pages.count(1234.5) == "1,234.50"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("run `a < b` now", "run <code>a &lt; b</code> now"),
        ("`<script>` and `x`", "<code>&lt;script&gt;</code> and <code>x</code>"),
        ("```sh\nls\n```", "```sh\nls\n```"),
        ("a ` b", "a ` b"),
        ("``", "``"),
        ("`a\nb`", "`a\nb`"),
    ],
)
def test_what_a_text_quotes_in_backticks_is_code_and_escaped(text: str, shown: str) -> None:
    assert pages.with_code(text) == shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/ann/work/a.py", "~/work/a.py"),
        ("/Users/ann/a.py", "~/a.py"),
        ("~/a.py", "~/a.py"),
        (r"C:\Users\ann\a.py", "~/a.py"),
        ("/srv/a.py", "/srv/a.py"),
        ("home/ann/a.py", "home/ann/a.py"),
        ("src/a.py", "src/a.py"),
        ("", ""),
    ],
)
def test_a_path_in_a_home_folder_is_shown_relative_to_it(path: str, shown: str) -> None:
    assert shown_path(path) == shown


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("no_project", "name no folder"),
        ("home", "home folder itself"),
        ("tmp", "temporary"),
        ("59b923df4d", "a digest"),
        ("project_1f2e3d4c", "ends in a digest"),
        ("shop", ""),
        ("facade", ""),
    ],
)
def test_a_group_whose_id_is_no_name_is_explained(group: str, words: str) -> None:
    note = group_note(group)
    assert words in note
    assert bool(words) == bool(note)


@pytest.mark.parametrize(
    ("path", "href"),
    [
        ("/home/me/a b.jsonl", "file:///home/me/a%20b.jsonl"),
        ('/a/"onclick=x<.jsonl', "file:///a/%22onclick%3Dx%3C.jsonl"),
        (r"C:\archives\a.jsonl", "file:///C:/archives/a.jsonl"),
        ("javascript:alert(1)", None),
        ("s3://bucket/a.jsonl", None),
        ("data:text/html,x", None),
        ("//host/share/a.jsonl", None),
        (r"\\host\share\a.jsonl", None),
        ("a.jsonl", None),
        ("", None),
    ],
)
def test_only_a_local_absolute_path_is_a_link(path: str, href: str | None) -> None:
    assert file_href(path) == href


@given(st.text())
def test_the_link_of_an_archive_is_always_a_file(path: str) -> None:
    href = file_href(path)
    assert href is None or href.startswith("file:///")


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=40))
def test_the_columns_of_a_chart_stay_in_its_box_and_stand_on_each_other(
    values: list[tuple[int, int]],
) -> None:
    labels = [str(place) for place in range(len(values))]
    first, second = zip(*values, strict=True)
    chart = column_chart("t", "u", labels, [Series("a", first), Series("b", second)])
    for column in chart.columns:
        assert 0 <= column.x < column.x + column.width <= chart.width
        assert column.y >= -0.02
        assert column.y + column.height <= 100.02
    highest = max(map(sum, values))
    assert chart.highest == highest
    full = [values.index(one) for one in values if sum(one) == highest and highest][:1]
    for place in full:
        assert sum(one.height for one in chart.columns if one.place == place) == pytest.approx(
            100, abs=0.02
        )


def test_a_chart_of_nothing_but_zeros_has_no_column() -> None:
    assert column_chart("t", "u", ["x"], [Series("a", (0,))]).columns == ()
    assert share(0, 0) == 0


def test_a_chart_with_another_number_of_values_than_labels_is_refused() -> None:
    with pytest.raises(ValueError, match="a value for each"):
        column_chart("t", "u", ["x"], [Series("a", (1, 2))])
    with pytest.raises(ValueError, match="labels"):
        column_chart("t", "u", [], [])
    with pytest.raises(ValueError, match="at most 6"):
        column_chart("t", "u", ["x"], [Series("a", (1,))] * 7)


def check_page(text: str) -> None:
    parsed = ParsedPage(page(text))
    assert parsed.names() == ParsedPage(page("a")).names()
    assert not [name for _, found in parsed.tags for name in found if name.startswith("on")]
    assert all(href.startswith(("#", "file:///")) for href in parsed.attributes("href"))
    if text.isprintable():
        assert text in parsed.text


def shape(rendered: str) -> list[tuple[str, list[str]]]:
    """The tags with the names of their attributes, but for what a text quotes in backticks."""
    tags = [(tag, sorted(found)) for tag, found in ParsedPage(rendered).tags]
    return [one for one in tags if one != ("code", [])]


def page(text: str) -> str:
    turn = TurnReference(text, text, START, "#turn-1", source_lines(f"/a{text}", 3, 9))
    fact = FactReference(text, text, START, None, (turn,) * 5)
    invalid = FactReference(text, text, None, START, (turn,))
    return pages.render(
        ENVIRONMENT,
        "page.html",
        title=text,
        text=text,
        turn=turn,
        fact=fact,
        invalid=invalid,
        columns=column_chart(text, text, [text], [Series(text, (1,)), Series(text, (1.5,))]),
    )
