"""The commands that write summaries, and the graphs before them."""

from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.crashes.results import responses
from tests.crashes.steps import START, filter_turns, ingest, parse, write
from tests.crashes.trial_context import DEFERRED, REFRESHED, TrialContext
from turnetl import pipeline
from turnetl.base.errors import TurnetlError
from turnetl.summaries.model_summariser import PROMPT

MANY_FACTS = 18
"""Facts about a file whose texts are too long to be its summary."""
REFRESHED_FILES = ("cart.py", "orders.py")
_FACT = (
    "`src/shop/checkout/baskets/{}` uses the functions and the constants that are defined in "
    "`src/shop/checkout/storage/part{}.py`."
)


async def deferred_summaries(place: TrialContext) -> None:
    """Ingest a session whose later turns deferred summaries."""
    rows = [
        line
        for number, name in enumerate(("cart.py", "cart.py orders.py", "orders.py cart.py"))
        for line in (
            row("user", "Run the tests again.", f"u{number}", START),
            tool_call(f"a{number}", "Bash", START, command=f"pytest {name}"),
            tool_result(f"r{number}", f"a{number}", "1 failed", START),
        )
    ]
    write_archive(place.archives / "one.jsonl", rows)
    await parse(place)
    await filter_turns(place)
    await ingest(place, model=False, summaries=DEFERRED)
    if not await _deferred(place):
        raise TurnetlError("no summary is deferred")


async def turns_with_many_facts(place: TrialContext) -> None:
    """Ingest a turn, and leave two, with enough facts that a model summarises a file of each."""
    await write(place, "one", "Look again: `cart.py` uses `sqlite`.")
    await parse(place)
    await filter_turns(place)
    await refresh_summaries(place)
    prompts = (
        " ".join(_FACT.format(file, number) for number in range(MANY_FACTS))
        for file in REFRESHED_FILES
    )
    await write(place, "two", *prompts, hours=2)
    await parse(place)
    await filter_turns(place)


async def refresh_summaries(place: TrialContext) -> None:
    await ingest(place, summaries=REFRESHED)


async def check_refreshed(place: TrialContext) -> None:
    """Check that a model wrote the summaries of these files."""
    prompts = [line.split()[1] for line in responses(place.lake / "journal.sqlite")]
    if (number := prompts.count(PROMPT)) < len(REFRESHED_FILES):
        raise TurnetlError(f"{number} requests for summaries")


async def summarize(place: TrialContext) -> None:
    report = await pipeline.summarize(place.settings(model=False, summaries=DEFERRED), place.clock)
    if errors := [group.error for group in report.groups if group.error]:
        raise TurnetlError(str(errors))


async def check_summaries(place: TrialContext) -> None:
    if number := await _deferred(place):
        raise TurnetlError(f"{number} summaries are still deferred")


async def _deferred(place: TrialContext) -> int:
    settings = place.settings(model=False, summaries=DEFERRED)
    report = await pipeline.summarize(settings, place.clock, dry_run=True)
    return sum(group.to_write for group in report.groups)
