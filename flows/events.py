"""Events that automations may react to."""

from typing import Any

from prefect.events import emit_event
from prefect.runtime import flow_run

from turnetl.base.control_characters import displayed_message
from turnetl.ingestion.ingest_report import IngestReport, StopCause

FINISHED = "turnetl.run.finished"
QUARANTINED = "turnetl.turn.quarantined"
BUDGET_STOPPED = "turnetl.budget.stopped"
PROVIDER_REFUSED = "turnetl.provider.refused"

MOST = 100
"""Events of quarantined turns of one run: the number of all is in `turnetl.run.finished`."""


def emit_ingested(report: IngestReport) -> None:
    """Emit the events of an ingest: quarantined turns, what stopped groups, and its end."""
    for group in report.groups:
        for entry in [one for one in group.quarantined_turns if one.run_id == report.run_id][:MOST]:
            _emit(
                QUARANTINED,
                f"turnetl.turn.{entry.turn_id}",
                group=group.group,
                archive=entry.archive,
                line=entry.first_line,
                error=displayed_message(entry.error),
            )
    for cause, event in _EVENTS.items():
        stopped = [group for group in report.groups if group.stop_cause is cause]
        if stopped:
            emit_stopped(event, stopped[0].error or "", [group.group for group in stopped])
    _emit(
        FINISHED,
        _run(),
        run_id=report.run_id,
        committed=report.committed,
        already_committed=report.already_committed,
        quarantined=report.quarantined,
        pending=report.pending,
        groups=len(report.groups),
    )


def emit_stopped(event: str, error: str, groups: list[str]) -> None:
    """Emit that the budget or the provider stopped groups."""
    _emit(event, _run(), error=displayed_message(error), groups=groups)


_EVENTS = {StopCause.BUDGET: BUDGET_STOPPED, StopCause.PROVIDER: PROVIDER_REFUSED}


def _run() -> str:
    return f"turnetl.run.{flow_run.id}"


def _emit(event: str, resource: str, **payload: Any) -> None:
    emit_event(
        event=event,
        resource={"prefect.resource.id": resource},
        payload={**payload, "flow": flow_run.flow_name, "flow_run_id": flow_run.id},
    )
