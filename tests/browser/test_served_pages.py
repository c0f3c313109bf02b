"""What a user does with the pages of `turnetl serve`, in Chromium."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.page_checks import HEIGHT, WIDTHS, open_all, overflow, serious_violations
from tests.cli.command import SAMPLES, turnetl_process
from tests.web.serving_process import ServingProcess, serving_process

pytestmark = [pytest.mark.browser, pytest.mark.full]

SESSION = "6beda5ed-5df4-42a1-99b8-0364221dca9b"
PROMPT = "The checkout tests fail since I pulled this morning"
RESUME = f"cd /home/dev/bookshop && claude --resume {SESSION}"
ADDRESSES = (
    *("./", "search", "search?q=checkout+price", "search?q=x&since=soon&file=y", "timeline"),
    *("turn?id=66185fa7", f"session?id={SESSION}", "entity?name=KeyError%3A+%27price%27"),
    *("file?path=src%2Fbookshop%2Fcart.py", "fix?q=KeyError", "fact?id=0b33349d", "nowhere"),
    *("lines?id=66185fa7", "fix", "report", "project?group=bookshop"),
)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    """Serve the pages of the samples."""
    folder: Path = tmp_path_factory.mktemp("served")
    assert turnetl_process("backfill", SAMPLES, folder=folder).exit_code == 0
    with serving_process(folder=folder) as process:
        yield process


@pytest.fixture
def entered(serving: ServingProcess, page: Page) -> Page:
    """Return the first page, after the printed address was opened."""
    page.goto(serving.url)
    return page


def test_the_address_after_the_start_has_no_token(serving: ServingProcess, entered: Page) -> None:
    token = serving.url.partition("token=")[2]
    assert token not in entered.url
    assert entered.evaluate("document.cookie") == ""
    expect(entered.get_by_role("heading", name="Projects")).to_be_visible()


def test_a_search_is_filtered_by_project_and_time_and_a_hit_is_opened(entered: Page) -> None:
    entered.get_by_label("Search all turns").fill("tests fail")
    entered.get_by_role("button", name="Search").click()
    expect(entered.get_by_role("link", name=PROMPT)).to_be_visible()
    # Before the script has run, a filter waits for its button.
    entered.wait_for_load_state()
    entered.get_by_text("Filters").click()
    address = entered.url
    entered.get_by_label("Project").select_option("shoebox")
    expect(entered.get_by_role("link", name=PROMPT)).to_have_count(0)
    assert entered.url != address
    entered.get_by_label("Project").select_option("bookshop")
    expect(entered.get_by_role("link", name=PROMPT)).to_be_visible()
    entered.get_by_label("Until").fill("2026-03")
    entered.get_by_label("Until").press("Tab")
    expect(entered).to_have_url(re.compile("until=2026-03"))
    entered.reload()
    expect(entered.get_by_label("Until")).to_have_value("2026-03")
    entered.get_by_role("link", name=PROMPT).click()
    expect(entered.get_by_role("heading", name="Prompt")).to_be_visible()


@pytest.mark.parametrize("failing", ["fetch", "Response.prototype.text"])
def test_a_filter_whose_response_does_not_arrive_opens_its_page(
    failing: str, entered: Page
) -> None:
    entered.get_by_label("Search all turns").fill("tests fail")
    entered.get_by_role("button", name="Search").click()
    expect(entered.get_by_role("link", name=PROMPT)).to_be_visible()
    # Before the script has run, a filter waits for its button.
    entered.wait_for_load_state()
    entered.get_by_text("Filters").click()
    entered.evaluate(f"() => {{ {failing} = () => Promise.reject(new TypeError('stopped')) }}")
    entered.get_by_label("Project").select_option("shoebox")
    expect(entered.get_by_role("link", name=PROMPT)).to_have_count(0)
    assert "group=shoebox" in entered.url


def test_a_mistake_in_a_filter_is_said_and_can_be_corrected(entered: Page) -> None:
    entered.get_by_role("link", name="Timeline", exact=True).click()
    entered.get_by_label("Since").fill("soonish")
    entered.get_by_role("button", name="Show").click()
    expect(entered.get_by_role("alert")).to_contain_text("`soonish` is no time")
    entered.get_by_label("Since").fill("2026-03")
    entered.get_by_role("button", name="Show").click()
    expect(entered.get_by_role("alert")).to_have_count(0)
    expect(entered.get_by_role("link", name=PROMPT)).to_be_visible()


def test_an_entity_is_followed_from_a_turn_to_what_resolved_it(entered: Page) -> None:
    entered.get_by_role("link", name="Timeline", exact=True).click()
    entered.get_by_role("link", name=PROMPT).click()
    entered.get_by_role("list").get_by_role("link", name="KeyError: 'price'").last.click()
    expect(entered.get_by_role("heading", level=1)).to_have_text("KeyError: 'price'")
    entered.get_by_role("link", name="What resolved it").click()
    expect(entered.get_by_text("fixed 2026-03-03 09:12")).to_be_visible()
    entered.get_by_role("link", name=PROMPT).click()
    entered.get_by_role("link", name=SESSION).click()
    expect(entered.get_by_role("heading", name="Turns")).to_be_visible()


def test_the_resume_command_is_copied(entered: Page) -> None:
    entered.goto(entered.url + "turn?id=66185fa7")
    entered.get_by_role("button", name="Copy").click()
    expect(entered.get_by_role("status")).to_have_text("Copied")
    assert entered.evaluate("navigator.clipboard.readText()") == RESUME


def test_the_steps_of_a_turn_open_with_the_keyboard(entered: Page) -> None:
    entered.goto(entered.url + "turn?id=66185fa7")
    steps = entered.locator("details", has_text="steps").first
    for folded in (steps, steps.locator("details").first):
        folded.locator("summary").first.focus()
        entered.keyboard.press("Enter")
        expect(folded).to_have_attribute("open", "")
    expect(steps.locator("pre").first).to_be_visible()


def test_all_of_it_works_without_javascript(serving: ServingProcess, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(serving.url)
    page.get_by_label("Search all turns").fill("tests fail")
    page.get_by_role("button", name="Search").click()
    page.get_by_text("Filters").click()
    page.get_by_label("Project").select_option("bookshop")
    page.get_by_label("Until").fill("2026-03")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name=PROMPT).click()
    expect(page.get_by_text(RESUME)).to_be_visible()
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    page.get_by_role("link", name="KeyError: 'price'").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("KeyError: 'price'")
    context.close()


def test_a_page_of_another_site_cannot_read_or_frame_anything(
    serving: ServingProcess, chromium: Browser
) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(serving.url)
    inside = page.url
    page.goto("about:blank")
    read = "url => fetch(url, {credentials: 'include'}).then(r => r.text(), () => 'refused')"
    assert page.evaluate(read, inside) == "refused"
    page.set_content(f'<iframe src="{inside}"></iframe>')
    frame = page.frames[-1]
    frame.wait_for_load_state()
    assert "Projects" not in frame.content()
    context.close()


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_is_accessible_in_light_and_dark_and_fits_every_width(
    address: str, entered: Page, chromium: Browser
) -> None:
    cookies = entered.context.storage_state()
    for scheme in ("light", "dark"):
        context = chromium.new_context(storage_state=cookies, color_scheme=scheme)
        page = context.new_page()
        page.goto(entered.url + address)
        open_all(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            assert overflow(page) == 0, width
        assert serious_violations(page) == []
        context.close()


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_fits_the_window_of_a_phone_with_fonts_twice_as_large(
    address: str, entered: Page
) -> None:
    # As the setting of a browser does; the policy of a page allows no style of others.
    session = entered.context.new_cdp_session(entered)
    session.send("Page.enable")
    session.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
    entered.set_viewport_size({"width": 390, "height": HEIGHT})
    entered.goto(entered.url + address)
    size = entered.evaluate("getComputedStyle(document.documentElement).fontSize")
    assert size == "32px"
    open_all(entered)
    assert overflow(entered) == 0
