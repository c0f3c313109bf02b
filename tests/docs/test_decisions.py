"""Decisions are short, dated records, a page for each package."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pytest

import turnetl
from tests.cli.command import ROOT

FOLDER = ROOT / "docs" / "decisions"
INDEX = FOLDER / "README.md"
PAGES = sorted(set(FOLDER.iterdir()) - {INDEX})
PACKAGES = {path.stem for path in (ROOT / "turnetl").iterdir()} - {"__init__", "__pycache__"}
OTHER = {"flows": "the other package", "development": "set-up and tests"}
LABELS = ["Context", "Decision", "Why"]
LABELLED = re.compile(r"^\*\*(\w+):\*\* \S", re.MULTILINE)
FUNCTIONS = {f"turnetl.{name}" for name in turnetl.__all__}
MAX_LINES = 10
MAX_WORDS = 16_000


class Record(NamedTuple):
    heading: str
    day: str
    text: str


def records(page: Path) -> Iterator[Record]:
    """Yield the records of a page; a heading without a date has the day `''`."""
    for part in page.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        dated = re.fullmatch(r"(.+) \((\d{4}-\d\d-\d\d)\)", title)
        heading, day = dated.groups() if dated else (title, "")
        yield Record(heading, day, text.strip())


each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@each_page
def test_a_page_of_decisions_is_named_after_a_package(page: Path) -> None:
    assert page.stem in PACKAGES | OTHER.keys()
    assert page.read_text(encoding="utf-8").startswith(f"# Decisions: {page.stem}\n\n## ")


def test_the_index_has_a_line_for_each_page() -> None:
    listed = re.findall(r"^\| \[\w+\]\((.+)\) \|", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [page.name for page in PAGES]


@each_page
def test_a_decision_has_a_date_a_context_a_choice_and_a_reason(page: Path) -> None:
    for record in records(page):
        assert date.fromisoformat(record.day), record.heading
        assert LABELLED.findall(record.text) == LABELS, record.heading
        assert record.text.startswith("**Context:** "), record.heading


@each_page
def test_a_decision_is_short(page: Path) -> None:
    heading_and_blank_line = 2
    lines = {one.heading: len(one.text.splitlines()) for one in records(page)}
    assert {one: n for one, n in lines.items() if heading_and_blank_line + n > MAX_LINES} == {}


def test_the_decisions_together_are_short() -> None:
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES) <= MAX_WORDS


def test_no_decision_is_recorded_twice() -> None:
    headings = [record.heading for page in PAGES for record in records(page)]
    assert sorted(headings) == sorted(set(headings))


def modules(text: str) -> set[str]:
    """Return the modules that a text names: `a/b.py`, `tests.a`, `python -m benchmarks.a`."""
    named = re.findall(r"`(?:python -m )?([\w./]+)(?: [^`]*)?`", text)
    is_module = re.compile(r"[\w/]+\.py|(?:benchmarks|flows|tests|turnetl)(?:\.\w+)+")
    return {name for name in named if is_module.fullmatch(name)} - FUNCTIONS


def exists(name: str, package: str) -> bool:
    """Return whether a module exists, below the package of the page, turnetl or the root."""
    path = name if name.endswith(".py") else name.replace(".", "/")
    folders = (ROOT, ROOT / "turnetl", ROOT / "turnetl" / package)
    return any((folder / path).exists() or (folder / f"{path}.py").exists() for folder in folders)


@each_page
def test_every_module_that_a_decision_names_exists(page: Path) -> None:
    named = modules(page.read_text(encoding="utf-8"))
    assert [name for name in sorted(named) if not exists(name, page.stem)] == []
