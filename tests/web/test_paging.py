"""Lists that are longer than a page: their pages have each item once, in order."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

import turnetl
from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.cli.test_assumed_time import MARCH
from tests.web.visiting import Visitor, links, visiting

TURNS = 120


@pytest.fixture(scope="module")
async def long(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Visitor]:
    """Return a visitor of the pages of a session whose turns all edit one file."""
    folder: Path = tmp_path_factory.mktemp("long")
    rows = []
    for number in range(TURNS):
        at = MARCH + timedelta(minutes=number)
        rows += [
            row("user", f"Change number {number} of the cart", f"u{number}", at),
            tool_call(f"c{number}", "Edit", at, file_path="/home/dev/shop/cart.py", new_string="x"),
            tool_result(f"r{number}", f"c{number}", "done", at),
            row("assistant", f"Change {number} is done", f"a{number}", at),
        ]
    settings = turnetl.Settings(lake=folder / "lake")
    await turnetl.backfill(write_archive(folder / "a.jsonl", rows), settings)
    async with visiting(settings) as visitor:
        yield visitor


async def numbers(visitor: Visitor, address: str) -> list[int]:
    """Return the numbers of the turns on all pages of a list, from its first page on."""
    found = list[int]()
    while address:
        page = await visitor.page(address)
        titles = [text for href, text in page.links if href.startswith("turn?")]
        found += [int(title.split()[2]) for title in titles]
        address = links(page).get("Next page", "")
    return found


@pytest.mark.full
async def test_the_timeline_has_every_turn_once_newest_first(long: Visitor) -> None:
    assert await numbers(long, "timeline?group=shop") == [*range(TURNS)][::-1]


@pytest.mark.full
async def test_a_session_has_every_turn_once_oldest_first(long: Visitor) -> None:
    assert await numbers(long, "session?id=s1") == [*range(TURNS)]


@pytest.mark.full
async def test_a_file_has_every_turn_that_is_about_it_once_newest_first(long: Visitor) -> None:
    assert await numbers(long, "file?path=cart.py") == [*range(TURNS)][::-1]


async def test_the_hits_of_a_search_are_on_several_pages_each_once(long: Visitor) -> None:
    found = await numbers(long, "search?q=change+number+of+the+cart")
    assert len(found) > 40
    assert len(found) == len(set(found))


async def test_pages_lead_back_to_the_first_one_and_keep_the_filters(long: Visitor) -> None:
    second = await long.page("timeline", group="shop", since="2020", page="2")
    assert "Turns 51 to 100 of 120" in second.text
    assert links(second)["Previous page"] == "timeline?group=shop&since=2020"
    assert links(second)["Next page"] == "timeline?group=shop&since=2020&page=3"
