"""How long the pages of `turnetl serve` take, p50 and p95 per page, at one or several sizes.

    python -m benchmarks.serve [--turns N ...] [--folder FOLDER] [ARCHIVES]

The index is that of `benchmarks.mcp`: the turns of the archives, multiplied. A server is started as
a user starts it, and asked over HTTP; a time is from a request to its complete page. The requests
of a page differ: other words, turns, sessions, entities. With `--folder`, the indexes stay
there, and the next run, also that of the other benchmark, measures them again. Exits with 1 if the
p95 of a page exceeds 250 ms; the first request of each page is not part of it.
"""

import argparse
import asyncio
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from benchmarks.index import QUERIES, SourceTurn, source_turns
from benchmarks.mcp import ShorterTurns, build
from tests import real_archives
from tests.web.serving_process import entered, serving_process

SIZES = (10_000,)
REQUESTS = 30
"""Of each page."""
LIMIT = 0.25
"""Seconds."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    arguments.add_argument("--turns", nargs="+", type=int, default=SIZES)
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    archives = given.archives if given.archives.is_dir() else real_archives.SAMPLES
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).absolute()
        sources = asyncio.run(source_turns(archives, folder / "source"))
        print(f"{len(sources):,} turns of archives; ms from request to page, {REQUESTS} each")
        print("  turns  page                  first    p50    p95    max     KB")
        slowest = [measure(sources, size, folder / f"turns-{size}") for size in given.turns]
    sys.exit(max(slowest) > LIMIT)


def measure(sources: Sequence[SourceTurn], size: int, lake: Path) -> float:
    """Print a row per page; return the highest p95, in seconds."""
    graph = ShorterTurns(sources, size)
    asyncio.run(build(graph, lake))
    slowest = 0.0
    with serving_process("--lake", str(lake), folder=lake) as serving:
        with entered(serving.url) as browser:
            for name, addresses in pages(browser):
                seconds, sizes = zip(*(fetched(browser, one) for one in addresses), strict=True)
                p95 = statistics.quantiles(seconds[1:], n=20)[-1]
                slowest = max(slowest, p95)
                times = (seconds[0], statistics.median(seconds[1:]), p95, max(seconds[1:]))
                columns = "".join(f"{one * 1e3:7.0f}" for one in times)
                kilobytes = statistics.median(sizes) / 1e3
                print(f"{size:7,}  {name:<20}{columns}{kilobytes:7.0f}", flush=True)
        serving.stop()
    return slowest


def fetched(browser: httpx.Client, address: str) -> tuple[float, int]:
    """Return the seconds of a request, and the bytes of its page."""
    started = time.perf_counter()
    page = browser.get(address)
    seconds = time.perf_counter() - started
    assert page.status_code == httpx.codes.OK, page.text
    return seconds, len(page.content)


def pages(browser: httpx.Client) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the name of a page, and the addresses to ask for."""
    chance = random.Random(0)  # noqa: S311 - the same requests in every run
    lists = "".join(browser.get(f"timeline?page={page}").text for page in range(1, 41))
    turns = chance.sample(re.findall(r'href="(turn\?[^"]+)"', lists), REQUESTS)
    opened = [browser.get(one).text.replace("&amp;", "&") for one in turns]
    words = [f"{query} {number}" for number in range(5) for query in QUERIES]
    yield "overview", ["./"] * REQUESTS
    yield "search", [f"search?q={query}" for query in words]
    yield "search, filtered", [f"search?q={query}&since=2000&until=2030" for query in words]
    yield "timeline", [f"timeline?page={chance.randint(1, 200)}" for _ in range(REQUESTS)]
    yield "turn", turns
    yield "session", [_first("session", page) for page in opened]
    yield "entity", [_first("entity", page) for page in opened]
    yield "errors", [f"fix?q={query}" for query in words]


def _first(kind: str, page: str) -> str:
    found = re.search(rf'href="({kind}\?[^"]+)"', page)
    assert found
    return found[1]


if __name__ == "__main__":
    main()
