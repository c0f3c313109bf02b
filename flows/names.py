"""Names of flow runs, made of their parameters."""

from prefect.runtime import flow_run

_LONGEST = 80


def archives_name() -> str:
    """Return the flow with its first path: `backfill ~/.claude/projects and 2 more`."""
    first, *more = flow_run.parameters["archives"]
    rest = f" and {len(more)} more" if more else ""
    return f"{flow_run.flow_name} {_short(first)}{rest}"


def groups_name() -> str:
    """Return the flow with its groups: `summarize shop, kitchen`."""
    groups = flow_run.parameters["groups"]
    return f"{flow_run.flow_name} {_short(', '.join(groups)) if groups else 'all groups'}"


def dated_name() -> str:
    """Return the flow with the minute for which it is scheduled, in UTC."""
    return f"{flow_run.flow_name} {flow_run.scheduled_start_time:%Y-%m-%d %H:%M}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"
