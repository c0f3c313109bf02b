"""The command that estimates a run before anything is spent."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.cli.options import (
    NO_COMMON,
    NO_EXTRACTION,
    NO_NOISE,
    CloseAfterMinutes,
    CommonOptions,
    ExtractionOptions,
    ExtractorOption,
    Flag,
    GroupNames,
    NoiseOptions,
    PathOption,
    PilotTurns,
    Since,
    Until,
    read_assumed_time,
)

if TYPE_CHECKING:  # importing these takes a second, which `--help` must not spend
    from turnetl.ingestion.redo_report import RedoSelection


@Parameter(name="*")
@dataclass(frozen=True)
class PlannedArchiveOptions:
    """How archives are parsed for the estimate of a backfill."""

    group_map: PathOption = None
    "TOML file with exceptions from --group, with archives."
    format: str | None = None
    "Parse all archives as this format; `turnetl formats` lists them."
    redact_pii: Annotated[
        bool | None, Parameter(help="Also redact personal data, as the backfill would.")
    ] = None


@Parameter(name="*")
@dataclass(frozen=True)
class PlannedTurnOptions:
    """The turns of the estimate."""

    extractor: ExtractorOption = None
    since: Since = None
    until: Until = None
    limit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None
    "At most this many turns of each group."
    close_after: CloseAfterMinutes = None
    assume_time: str | None = None
    "Time of turns without one: an ISO time (UTC without a zone), or `mtime` for that of the file."


@Parameter(name="*")
@dataclass(frozen=True)
class PlannedRedoOptions:
    """The committed turns of the estimate of a redo."""

    redo: Flag = False
    "Estimate a redo of committed turns."
    stale: Flag = False
    "Only turns that an ingest would commit differently today, with --redo."
    session: str | None = None
    "Only turns of the session whose id begins so, with --redo."
    kind: str | None = None
    "Only turns of this kind, such as code_heavy, with --redo."
    exact: Flag = False
    "Repeat all turns from the first one that was committed out of order, too, with --redo."


NO_ARCHIVES = PlannedArchiveOptions()
NO_TURNS = PlannedTurnOptions()
NO_REDO = PlannedRedoOptions()


def plan(
    *archives: Annotated[
        str,
        Parameter(help="Files, folders or globs that a backfill reads; also s3://, gs://, az://."),
    ],
    pilot: PilotTurns = None,
    groups: GroupNames = (),
    archive: PlannedArchiveOptions = NO_ARCHIVES,
    turns: PlannedTurnOptions = NO_TURNS,
    redone: PlannedRedoOptions = NO_REDO,
    extraction: ExtractionOptions = NO_EXTRACTION,
    noise: NoiseOptions = NO_NOISE,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Estimate the requests, cost, time and disk of a run. Writes nothing to the graph.

    Without archives it is the next ingest, with archives a backfill of them, with --redo a redo.

    Args:
        groups: Only this group; repeatable. With archives: the group of all their turns.
    """
    from turnetl.estimation import run_plan
    from turnetl.estimation.workloads import PilotOptions
    from turnetl.views import plan as view

    settings = common.settings(
        extractor=turns.extractor,
        close_after_minutes=turns.close_after,
        **_archive_settings(archives, groups, archive),
        **extraction.settings,
    )
    options = replace(
        extraction.run_options(),
        groups=() if archives else groups,
        since=turns.since,
        until=turns.until,
        limit=turns.limit,
        assumed_time=read_assumed_time(turns.assume_time),
        dry_run=True,
    )
    report = common.executed(
        run_plan.plan,
        noise.applied_to(settings),
        options,
        now,
        archives=archives,
        format_name=archive.format,
        one_off=noise.one_off,
        redo=_selection(redone, groups, turns),
        exact=redone.exact,
        pilot=None if pilot is None else PilotOptions(pilot),
    )
    console.print_messages(view.messages(report))
    console.print_result(view.view(report, is_verbose=common.verbose), report, as_json=common.json)
    return report.exit_code


def _archive_settings(
    archives: tuple[str, ...], groups: tuple[str, ...], archive: PlannedArchiveOptions
) -> dict[str, Any]:
    if not archives:
        if archive != NO_ARCHIVES:
            raise BadUsage("--group-map, --format and --redact-pii need the archives of a backfill")
        return {}
    if len(groups) > 1:
        raise BadUsage("a backfill has one --group, which is that of all its turns")
    return {
        "group": groups[0] if groups else None,
        "group_map": archive.group_map,
        "redact_pii": archive.redact_pii,
    }


def _selection(
    redone: PlannedRedoOptions, groups: tuple[str, ...], turns: PlannedTurnOptions
) -> "RedoSelection | None":
    if not redone.redo:
        if redone != NO_REDO:
            raise BadUsage("--stale, --session, --kind and --exact need --redo")
        return None
    if turns.limit is not None:
        raise BadUsage("a redo has no --limit: name its turns with --since, --until or --session")
    from turnetl.ingestion.redo_report import RedoSelection

    return RedoSelection(
        redone.stale, groups, redone.session, None, redone.kind, turns.since, turns.until
    )
