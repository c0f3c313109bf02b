"""The page of `turnetl templates compare` in Chromium: accessible, at every width, inert."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.page_checks import (
    HEIGHT,
    LONG,
    WIDTHS,
    open_all,
    overflow,
    serious_violations,
    tags,
)
from tests.html.html_parsing import ParsedPage
from tests.html.test_pages import HOSTILE
from tests.report.test_template_page import comparison
from turnetl.report_pages.template_page import template_page

pytestmark = [pytest.mark.browser, pytest.mark.full]


def open_page(page: Page, folder: Path, text: str) -> None:
    """Open a comparison in which every text is this one, with all that is folded."""
    path = folder / "page.html"
    path.write_bytes(template_page(comparison(text)).encode("utf-8", "replace"))
    page.goto(path.as_uri())
    open_all(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_is_accessible_and_fits_at_every_width(
    page: Page, tmp_path: Path, width: int, scheme: str
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": HEIGHT})
    open_page(page, tmp_path, "/archives/a.jsonl")
    assert serious_violations(page) == []
    assert overflow(page) == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_names_of_any_length_do_not_make_a_comparison_wider(
    page: Page, tmp_path: Path, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    open_page(page, tmp_path, LONG)
    assert overflow(page) == 0


@pytest.mark.parametrize("text", HOSTILE)
def test_a_browser_reads_the_same_tags_of_a_comparison_whatever_its_texts_are(
    page: Page, tmp_path: Path, text: str
) -> None:
    open_page(page, tmp_path, text)
    plain = ParsedPage(template_page(comparison("plain")))
    assert tags(page) == [tag for tag, _ in plain.tags]
