"""How long the pages of `turnetl serve` take, p50 and p95 per page, at one or several sizes.

    python -m benchmarks.serve [--turns N ...] [--folder FOLDER] [ARCHIVES]

The index is that of `benchmarks.mcp`: the turns of the archives, multiplied. A server is started as
a user starts it, and asked over HTTP; a time is from a request to its complete page. The requests
of a page differ: other words, turns, sessions, entities. With `--folder`, the indexes stay
there, and the next run, also that of the other benchmark, measures them again. Exits with 1 if the
p95 of a page exceeds 250 ms; the first request of each page is not part of it.
"""

import random
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from benchmarks.answer_times import AnswerTimes, measure_sizes
from benchmarks.index import QUERIES, MultipliedGraph
from tests.web.serving_process import entered, serving_process

SIZES = (10_000,)
REQUESTS = 30
"""Of each page."""
LIMIT = 0.25
"""Seconds."""


def main() -> None:
    columns = "  turns  page                  first    p50    p95    max     KB"
    heading = f"ms from request to page, {REQUESTS} each\n{columns}"
    measure_sizes(__doc__, SIZES, heading, LIMIT, measure)


def measure(_: MultipliedGraph, size: int, lake: Path) -> Iterator[float]:
    """Print a row per page, and yield its p95."""
    with serving_process("--lake", str(lake), folder=lake) as serving:
        with entered(serving.url) as browser:
            for name, addresses in pages(browser):
                seconds, sizes = zip(*(fetched(browser, one) for one in addresses), strict=True)
                times = AnswerTimes(seconds)
                kilobytes = statistics.median(sizes) / 1e3
                print(f"{size:7,}  {name:<20}{times.columns()}{kilobytes:7.0f}", flush=True)
                yield times.p95
        serving.stop()


def fetched(browser: httpx.Client, address: str) -> tuple[float, int]:
    """Return the seconds of a request, and the bytes of its page."""
    started = time.perf_counter()
    page = browser.get(address)
    seconds = time.perf_counter() - started
    assert page.status_code == httpx.codes.OK, page.text
    return seconds, len(page.content)


def pages(browser: httpx.Client) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the name of a page, and the addresses to ask for."""
    chance = random.Random(0)
    lists = "".join(browser.get(f"timeline?page={page}").text for page in range(1, 41))
    turns = chance.sample(re.findall(r'href="(turn\?[^"]+)"', lists), REQUESTS)
    opened = [browser.get(one).text.replace("&amp;", "&") for one in turns]
    words = [f"{query} {number}" for number in range(5) for query in QUERIES]
    yield "overview", ["./"] * REQUESTS
    projects = re.findall(r'href="(project\?[^"]+)"', browser.get("./").text)
    yield "project", (projects * REQUESTS)[:REQUESTS]
    yield "errors of most", ["fix"] * REQUESTS
    yield "search", [f"search?q={query}" for query in words]
    yield "search, filtered", [f"search?q={query}&since=2000&until=2030" for query in words]
    yield "timeline", [f"timeline?page={chance.randint(1, 200)}" for _ in range(REQUESTS)]
    yield "turn", turns
    yield "session", [_first("session", page) for page in opened]
    # Not every turn is about an entity beside its files.
    yield "entity", [_first("entity", page) for page in opened if "entity?" in page]
    yield "errors", [f"fix?q={query}" for query in words]


def _first(kind: str, page: str) -> str:
    found = re.search(rf'href="({kind}\?[^"]+)"', page)
    assert found
    return found[1]


if __name__ == "__main__":
    main()
