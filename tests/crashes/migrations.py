"""The commands that complete a migration or take it back, and the graphs before them."""

import json
from datetime import UTC, datetime, timedelta

from tests.cli.archives import conversation, write_archive
from tests.crashes.results import canonical_graph
from tests.crashes.trial_context import TrialContext
from tests.legacy.graphs import write_foreign_data, write_legacy_graph
from tests.legacy.sessions import legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode
from turnetl import pipeline
from turnetl.base.errors import TurnetlError
from turnetl.base.ids import sessions_group
from turnetl.base.model import GroupId
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.graph.open import open_graph
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.migration_report import MigrationRun
from turnetl.migration.moves import MigrationCommand
from turnetl.migration.plan import MigrationOptions
from turnetl.migration.run_migration import run_migration

GROUP = GroupId("old-summaries")
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_BEFORE_RUN = "before the migration.json"
_BEFORE_CUTOVER = "before the cutover.json"


async def migrated_group(place: TrialContext) -> None:
    """Ingest the turns of two sessions beside their summaries and foreign data."""
    for number, prompt in enumerate(("Edit `cart.py` for `sqlite`.", "Test `orders.py`.")):
        session = f"session-{number:04}-abcd"
        rows = conversation(prompt, session=session, at=START + timedelta(hours=number))
        write_archive(place.archives / f"{session}.jsonl", rows)
    episodes = [
        legacy_episode(session, LegacyStyle.NAME) for session in legacy_sessions(place.archives)
    ]
    await write_legacy_graph(place.url, episodes, GROUP)
    await write_foreign_data(place.url, GROUP)
    await _keep_graph(place, _BEFORE_RUN)
    report = await _run(place)
    if [state.phase for state in report.migrations] != [MigrationPhase.READY]:
        raise TurnetlError(f"the migration is not ready: {report}")
    await _keep_graph(place, _BEFORE_CUTOVER)


async def cut_over_group(place: TrialContext) -> None:
    await migrated_group(place)
    await cut_over(place)


async def cut_over(place: TrialContext) -> None:
    await _change(place, MigrationCommand.CUTOVER, MigrationPhase.CUT_OVER)


async def roll_back(place: TrialContext) -> None:
    await _change(place, MigrationCommand.ROLLBACK, MigrationPhase.READY)


async def discard(place: TrialContext) -> None:
    """Take back what is cut over, and delete the turns."""
    await _change(place, MigrationCommand.ROLLBACK, MigrationPhase.FINISHED, discard=True)


async def finish(place: TrialContext) -> None:
    await _change(place, MigrationCommand.FINISH, MigrationPhase.FINISHED)


async def check_cut_over(place: TrialContext) -> None:
    """Check that the turns are those of the group, and that all of them can be taken back."""
    await _check_phase(place, MigrationPhase.CUT_OVER)


async def check_rolled_back(place: TrialContext) -> None:
    """Check that the graph is the one before the cutover."""
    await _check_graph(place, _BEFORE_CUTOVER)
    await _check_phase(place, MigrationPhase.READY)


async def check_discarded(place: TrialContext) -> None:
    """Check that the graph is the one before the migration, but for the record of it."""
    await _check_graph(place, _BEFORE_RUN)
    await _check_phase(place, MigrationPhase.FINISHED)


async def check_finished(place: TrialContext) -> None:
    """Check that nothing is left of the old data."""
    await _check_phase(place, MigrationPhase.FINISHED)
    old = sessions_group(GROUP, (await _state(place)).migration_id)
    if left := [line for line in await canonical_graph(place.url) if old in line]:
        raise TurnetlError(f"still there: {left[:4]}")


async def _keep_graph(place: TrialContext, name: str) -> None:
    (place.folder / name).write_text(json.dumps(await canonical_graph(place.url)))


async def _check_graph(place: TrialContext, name: str) -> None:
    before = json.loads((place.folder / name).read_text())
    found = await canonical_graph(place.url)
    if found != before:
        raise TurnetlError(f"differs from before: {sorted(set(found) ^ set(before))[:4]}")


async def _check_phase(place: TrialContext, phase: MigrationPhase) -> None:
    if (found := (await _state(place)).phase) is not phase:
        raise TurnetlError(f"the phase is {found}")


async def _run(place: TrialContext) -> MigrationRun:
    return await run_migration(
        [str(place.archives)],
        place.settings(),
        MigrationOptions(),
        pipeline.RunOptions(),
        place.clock,
    )


async def _change(
    place: TrialContext, command: MigrationCommand, end: MigrationPhase, *, discard: bool = False
) -> None:
    """Carry out a change, unless a killed call did."""
    if (await _state(place)).phase is end:
        return
    options = ChangeOptions(command, accept=True, discard=discard)
    report = await execute_change(place.settings(), options, place.clock)
    if report.error or not report.is_done:
        raise TurnetlError(str(report.error or report.objections))


async def _state(place: TrialContext) -> TurnMigration:
    store = await open_graph(place.url, user="", password="", write=False)
    try:
        [state] = await store.migrations()
    finally:
        await store.close()
    return state
