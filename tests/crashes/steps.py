"""The steps of which the commands and the states before them are made."""

from datetime import UTC, datetime, timedelta

from tests.cli.archives import conversation, write_archive
from tests.crashes.trial_context import AT_THE_END, TrialContext
from turnetl import pipeline
from turnetl.base.errors import TurnetlError
from turnetl.base.exit_code import ExitCode
from turnetl.settings.sections import SummarySettings

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
REFUSED = "an impossible turn"
"""In the prompt of a turn for which the provider has no valid response."""


async def write_archives(place: TrialContext) -> None:
    """Write two sessions of one project: four turns, one of which cannot be extracted."""
    await write(place, "one", "Look again: `cart.py` uses `sqlite`.", f"Do {REFUSED}, please.")
    later = "Changed: `cart.py` no longer uses `sqlite`. And `orders.py` uses `cart.py`."
    await write(place, "two", later, hours=1)


async def write(place: TrialContext, session: str, *prompts: str, hours: int = 0) -> None:
    at = START + timedelta(hours=hours)
    write_archive(
        place.archives / f"{session}.jsonl", conversation(*prompts, session=session, at=at)
    )


async def parse(place: TrialContext) -> None:
    report = pipeline.parse_archives([str(place.archives)], place.settings())
    if report.problems:
        raise TurnetlError(str(report.problems))


async def filter_turns(place: TrialContext) -> None:
    pipeline.filter_turns(place.settings())


async def ingest(
    place: TrialContext,
    *,
    model: bool = True,
    summaries: SummarySettings = AT_THE_END,
    **changes: int,
) -> None:
    """Ingest with these settings; `changes` are changes of others, by name."""
    settings = place.settings(model=model, summaries=summaries).model_copy(update=changes)
    report = await pipeline.ingest(settings, pipeline.RunOptions(), place.clock)
    codes = {report.exit_code, *(group.exit_code for group in report.groups)}
    if codes - {ExitCode.DONE, ExitCode.FOUND}:
        raise TurnetlError(str(report.error or [group.error for group in report.groups]))


async def backfill(place: TrialContext) -> None:
    await parse(place)
    await filter_turns(place)
    await ingest(place, model=False)
