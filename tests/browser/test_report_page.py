"""The page of `turnetl report` in Chromium: accessible, at every width, dark, printed, inert."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.activity_report.rows import full_report, largest_report
from tests.browser.page_checks import (
    HEIGHT,
    LONG,
    WIDTHS,
    height,
    open_all,
    overflow,
    serious_violations,
    tags,
)
from tests.cli.command import SAMPLES, turnetl_process
from tests.html.html_parsing import ParsedPage
from tests.html.test_pages import HOSTILE
from turnetl.report_pages.activity_page import activity_page

pytestmark = [pytest.mark.browser, pytest.mark.full]

MOST_PIXELS = 12_000
"""Of the height of a report with nothing unfolded, 1,280 pixels wide."""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of the samples."""
    folder = tmp_path_factory.mktemp("reported")
    assert turnetl_process("backfill", SAMPLES, folder=folder).exit_code == 0
    written = turnetl_process("report", "--output", "report.html", folder=folder)
    assert written.exit_code == 0, written.stderr
    return folder / "report.html"


@pytest.fixture(params=["light", "dark"])
def coloured(request: pytest.FixtureRequest, page: Page) -> Page:
    page.emulate_media(color_scheme=request.param)
    return page


def write(folder: Path, text: str) -> str:
    """Write a report in which every text is this one; return its address."""
    path = folder / "report.html"
    path.write_bytes(activity_page(full_report(text)).encode("utf-8", "replace"))
    return path.as_uri()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_is_accessible_and_fits_at_every_width(
    samples: Path, coloured: Page, width: int
) -> None:
    coloured.set_viewport_size({"width": width, "height": HEIGHT})
    coloured.goto(samples.as_uri())
    open_all(coloured)
    assert serious_violations(coloured) == []
    assert overflow(coloured) == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_names_of_any_length_do_not_make_the_report_wider(
    page: Page, tmp_path: Path, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.goto(write(tmp_path, LONG))
    open_all(page)
    assert overflow(page) == 0


def test_the_largest_report_is_a_few_screens_high_until_something_is_opened(
    page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(activity_page(largest_report()), encoding="utf-8")
    page.set_viewport_size({"width": 1280, "height": HEIGHT})
    page.goto(path.as_uri())
    assert height(page) <= MOST_PIXELS
    open_all(page)
    assert height(page) > MOST_PIXELS


@pytest.mark.parametrize("text", HOSTILE)
def test_a_browser_reads_the_same_tags_whatever_the_texts_are(
    page: Page, tmp_path: Path, text: str
) -> None:
    page.goto(write(tmp_path, text))
    assert tags(page) == [tag for tag, _ in ParsedPage(activity_page(full_report("plain"))).tags]


def test_the_report_can_be_used_with_the_keyboard_only(samples: Path, page: Page) -> None:
    page.goto(samples.as_uri())
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    focused = "document.activeElement.closest('main') !== null"
    assert page.evaluate(focused)
    for name in ("Weeks of each project", "bookshop: 6 weeks"):
        page.locator("summary", has_text=name).focus()
        page.keyboard.press("Enter")
    expect(
        page.get_by_role("cell", name="2026-W10")
        .or_(page.get_by_role("rowheader", name="2026-W10"))
        .last
    ).to_be_visible()


def test_the_title_of_a_turn_leads_to_its_archive_line(samples: Path, page: Page) -> None:
    page.goto(samples.as_uri())
    open_all(page, "[aria-labelledby=timeline]")
    page.get_by_role("link", name="the accountant needs the orders").first.click()
    target = page.locator(":target")
    expect(target).to_be_visible()
    expect(target).to_contain_text("2026-05-05-export.jsonl:4")
    expect(target.get_by_role("link")).to_have_attribute(
        "href", (SAMPLES / "bookshop" / "2026-05-05-export.jsonl").as_uri()
    )


def test_everything_that_is_folded_is_printed(samples: Path, page: Page) -> None:
    page.goto(samples.as_uri())
    closed = page.locator("details:not([open]) details", has_text="bookshop: 6 weeks")
    table = closed.get_by_role("table", name="Weeks of bookshop", include_hidden=True)
    expect(table).to_be_hidden()
    page.emulate_media(media="print")
    assert table.bounding_box() is not None
    expect(page.get_by_role("navigation")).to_be_hidden()


def test_the_policy_of_the_page_runs_nothing(chromium: Browser, samples: Path) -> None:
    context = chromium.new_context()
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(samples.as_uri())
    page.evaluate("""() => {
        const one = document.createElement('script');
        one.textContent = 'document.title = "owned"';
        document.body.append(one);
        const image = document.createElement('img');
        image.src = 'data:image/png;base64,AAAA';
        document.body.append(image);
    }""")
    assert page.title() == "What the agents did"
    assert len(refused) == 2
    context.close()
