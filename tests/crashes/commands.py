"""The commands of which every point is tried, each with the state before it."""

import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.cli.archives import row, write_archive
from tests.crashes import migrations, summaries
from tests.crashes.steps import (
    REFUSED,
    backfill,
    filter_turns,
    ingest,
    parse,
    write,
    write_archives,
)
from tests.crashes.trial_context import TrialContext
from tests.held_bytes import holding
from turnetl import pipeline, wiring
from turnetl.base.errors import BadUsage, TurnetlError
from turnetl.base.model import GroupId
from turnetl.evaluation import run_compare
from turnetl.ingestion.forget import ForgetSelection
from turnetl.ingestion.redo_report import RedoSelection
from turnetl.ingestion.review import Answer
from turnetl.ingestion.run_report import RunState
from turnetl.ingestion.undo_plan import UndoSelection

SECRET = "seventh windmill"
"""In a session that is forgotten."""

Work = Callable[[TrialContext], Awaitable[None]]


async def change_archives(place: TrialContext) -> None:
    """Let an archive grow and another one appear, after both kinds of table were written."""
    await write_archives(place)
    await parse(place)
    await filter_turns(place)
    await write(place, "two", "Which tests of the cart fail?", "Correct them, please.", hours=1)
    await write(place, "three", "Describe the orders in the README.", hours=2)


async def parse_changes(place: TrialContext) -> None:
    await change_archives(place)
    await parse(place)


async def pending_turns(place: TrialContext) -> None:
    """Ingest a session, and leave two more: three turns, one of which cannot be extracted."""
    await write(place, "zero", "Look again: `shop.py` uses `cart.py`.", hours=-1)
    await parse(place)
    await filter_turns(place)
    await ingest(place)
    await write_archives(place)
    await parse(place)
    await filter_turns(place)


async def one_turn(place: TrialContext) -> None:
    """Leave a turn for a graph that does not exist."""
    await write(place, "one", "Look again: `cart.py` uses `sqlite`.")
    await parse(place)
    await filter_turns(place)


async def ingest_first(place: TrialContext) -> None:
    await ingest(place, model=False)


async def two_runs(place: TrialContext) -> None:
    """Ingest a session, then another one in a run of its own, without a model."""
    await write_archives(place)
    await backfill(place)
    shutil.rmtree(place.folder / "index before", ignore_errors=True)
    shutil.copytree(place.lake / "index", place.folder / "index before")
    await write(place, "three", "Run the tests of the cart.", "Describe `cart.py`.", hours=2)
    await backfill(place)


async def graph_ahead_of_index(place: TrialContext) -> None:
    await two_runs(place)
    shutil.rmtree(place.lake / "index")
    shutil.copytree(place.folder / "index before", place.lake / "index")


async def index(place: TrialContext) -> None:
    await pipeline.update_index(place.settings(), place.clock)


async def undo(place: TrialContext) -> None:
    settings, selection = place.settings(), UndoSelection(session="three")
    try:
        preview = await pipeline.preview_undo(settings, selection, cascade=True)
    except BadUsage:
        return  # Nothing of the session is left.
    report = await pipeline.undo(settings, preview, place.clock)
    if errors := [group.error for group in report.groups if group.error]:
        raise TurnetlError(str(errors))


async def held_invalidation(place: TrialContext) -> None:
    """Ingest turns with a model, of which one would end a fact, and hold that for review."""
    await write_archives(place)
    await parse(place)
    await filter_turns(place)
    await ingest(place, invalidation_alert=0)


async def accept(place: TrialContext) -> None:
    settings = place.settings()
    preview = await pipeline.preview_review(settings, Answer.ACCEPT)
    report = await pipeline.review(settings, preview, place.clock)
    if errors := [group.error for group in report.groups if group.error]:
        raise TurnetlError(str(errors))


async def check_accepted(place: TrialContext) -> None:
    """Check that a fact ended, and that nothing is held any more."""
    async with wiring.store(place.settings(), write=False) as store:
        receipts = await store.receipts(GroupId("shop"))
    counts = {(one.facts_held, one.facts_invalidated) for one in receipts}
    if counts != {(0, 0), (0, 1)}:
        raise TurnetlError(f"not accepted: {receipts}")


async def redo(place: TrialContext) -> None:
    """Redo a session; turns that a killed redo left undone are ingested again."""
    settings, options = place.settings(), pipeline.RunOptions()
    selection = RedoSelection(session="three")
    with suppress(BadUsage):  # Nothing of the session is left.
        preview = await pipeline.preview_redo(settings, selection, options, place.clock)
        report = await pipeline.redo(settings, preview, options, place.clock)
        if errors := [group.error for group in report.groups if group.error]:
            raise TurnetlError(str(errors))
    await ingest(place, model=False)


async def turns_with_a_secret(place: TrialContext) -> None:
    """Ingest four sessions with a model; in the third is a secret, and the fourth built on it.

    The secret is also in a quarantined turn, in responses of the model, and in the index.
    """
    await write_archives(place)
    holder = f"See the {SECRET}: `orders.py` uses `{SECRET}`."
    await write(place, "three", holder, f"Do {REFUSED} with the {SECRET}.", hours=2)
    await write(place, "four", "Look again: `orders.py` uses `sqlite`.", hours=3)
    await parse(place)
    await filter_turns(place)
    await ingest(place)


async def forget(place: TrialContext) -> None:
    """Forget a session; what a killed call began is completed without naming it."""
    settings = place.settings(model=True)
    for selection in (ForgetSelection(session="three"), ForgetSelection()):
        with suppress(BadUsage):  # Nothing of the session is left.
            preview = await pipeline.preview_forget(settings, selection, cascade=True)
            report = await pipeline.forget(settings, preview, place.clock)
            if report.errors or not report.is_proven:
                raise TurnetlError(str((report.errors, report.found)))


async def late_run_of_a_forgotten_turn(place: TrialContext) -> None:
    """Forget a turn, read a run of which nothing says yet that it is for it, and get what says so.

    The forgotten turn started a subagent, which started two, one by the other.
    """
    for number in range(4):
        asked, then = (f"Ask {one} for the {SECRET}." for one in (number, number + 1))
        use = {"type": "tool_use", "id": f"c{number}", "name": "Task", "input": {"prompt": then}}
        run = {"isSidechain": True, "agentId": f"agent {number}"}
        fields: dict[str, Any] = run if number else {}
        rows = [row("user", asked, f"u{number}", **fields)]
        rows.append(row("assistant", [use], f"a{number}", **fields))
        write_archive(place.folder / "late" / f"agent-{number}.jsonl", rows)
    await arrive(place, 0)
    await parse(place)
    selection = ForgetSelection(text=f"Ask 0 for the {SECRET}.")
    preview = await pipeline.preview_forget(place.settings(), selection)
    await pipeline.forget(place.settings(), preview, place.clock)
    await arrive(place, 2, 3)
    await parse(place)
    await arrive(place, 1)


async def arrive(place: TrialContext, *numbers: int) -> None:
    for name in (f"agent-{number}.jsonl" for number in numbers):
        place.archives.mkdir(exist_ok=True)
        shutil.copy2(place.folder / "late" / name, place.archives / name)


async def parse_and_forget(place: TrialContext) -> None:
    """Parse; what a killed parse began to forget is completed without naming it."""
    await parse(place)
    with suppress(BadUsage):  # Nothing is left.
        preview = await pipeline.preview_forget(place.settings(), ForgetSelection())
        await pipeline.forget(place.settings(), preview, place.clock)


async def outdated_communities(place: TrialContext) -> None:
    """Build the communities of a graph, and ingest another session."""
    await write_archives(place)
    await backfill(place)
    await build_communities(place)
    await write(place, "three", "Compare `cart.py` with `orders.py`: `sqlite`?", hours=2)
    await backfill(place)


async def build_communities(place: TrialContext) -> None:
    options = pipeline.CommunityOptions()
    report = await pipeline.build_communities(place.settings(), options, place.clock)
    if errors := [group.error for group in report.groups if group.error]:
        raise TurnetlError(str(errors))


async def valid_turns(place: TrialContext) -> None:
    """Ingest a session with a model, and leave another one; each turn can be extracted."""
    for hours, prompt in enumerate(("`cart.py` uses `sqlite`.", "`orders.py` uses `cart.py`.")):
        await write(place, str(hours), f"Look again: {prompt}", hours=hours)
        await parse(place)
        await filter_turns(place)
        if not hours:
            await ingest(place)


async def compare_templates(place: TrialContext) -> None:
    report = await run_compare.compare_templates(
        "default-session-turn.md",
        "none",
        place.settings(model=True),
        run_compare.ComparisonOptions(),
        place.clock,
        directory=place.folder,
    )
    if found := [one.facts for one in report.templates if one.facts != len(report.turns)]:
        raise TurnetlError(f"the templates found {found} facts")


async def check_secret(place: TrialContext) -> None:
    if found := holding(place.lake, [SECRET]):
        raise TurnetlError(f"the secret is still in {found}")


async def check_undone(place: TrialContext) -> None:
    """Check that the run of the session is marked as undone."""
    [run] = (await pipeline.runs(place.settings(), limit=1)).runs
    if run.state is not RunState.UNDONE:
        raise TurnetlError(f"the run is not undone: {run}")


async def nothing(_: TrialContext) -> None:
    """Check nothing more."""


@dataclass(frozen=True)
class Command:
    """A command, the state before it, and what it changes."""

    start: Work
    run: Work
    graph: bool = True
    """Whether it uses a graph, so that it is tried with each kind."""
    excluded: str = ""
    """Files that do not count: another command has the same points."""
    check: Work = nothing
    """Raises a TurnetlError if more than the result is wrong after the command."""
    is_paid_once: bool = False
    """Whether its requests are counted. Each response is stored: none is invalid."""
    is_renumbering: bool = False
    """Whether its repetition commits turns again: their numbers grow, their order is the same."""


COMMANDS: Mapping[str, Command] = {
    "parse": Command(change_archives, parse, graph=False),
    "filter": Command(parse_changes, filter_turns, graph=False),
    "first ingest": Command(one_turn, ingest_first, excluded="/index"),
    "ingest": Command(pending_turns, ingest, excluded="/index"),
    "index": Command(graph_ahead_of_index, index),
    "undo": Command(two_runs, undo, check=check_undone),
    "review accept": Command(held_invalidation, accept, check=check_accepted),
    "redo": Command(two_runs, redo, excluded="/index", is_renumbering=True),
    "forget": Command(turns_with_a_secret, forget, check=check_secret),
    "parse of a late run": Command(
        late_run_of_a_forgotten_turn, parse_and_forget, graph=False, check=check_secret
    ),
    "model summaries": Command(
        summaries.turns_with_many_facts,
        summaries.refresh_summaries,
        check=summaries.check_refreshed,
        is_paid_once=True,
    ),
    "templates compare": Command(valid_turns, compare_templates, graph=False, is_paid_once=True),
    "communities": Command(outdated_communities, build_communities),
    "summarize": Command(
        summaries.deferred_summaries, summaries.summarize, check=summaries.check_summaries
    ),
    "migrate cutover": Command(
        migrations.migrated_group, migrations.cut_over, check=migrations.check_cut_over
    ),
    "migrate rollback": Command(
        migrations.cut_over_group, migrations.roll_back, check=migrations.check_rolled_back
    ),
    "migrate discard": Command(
        migrations.migrated_group, migrations.discard, check=migrations.check_discarded
    ),
    "migrate rollback --discard": Command(
        migrations.cut_over_group, migrations.discard, check=migrations.check_discarded
    ),
    "migrate finish": Command(
        migrations.cut_over_group, migrations.finish, check=migrations.check_finished
    ),
}
