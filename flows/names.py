"""Names of flow runs, made of their parameters."""

from prefect.runtime import flow_run

_LONGEST = 80


def archives_name() -> str:
    """Return the flow with its first path: `backfill ~/.claude/projects and 2 more`."""
    return f"{flow_run.flow_name} {_paths()}"


def shard_name() -> str:
    """Return the flow with its number and first path: `shard 2/8 ~/.claude/projects`."""
    return f"{flow_run.flow_name} {flow_run.parameters['shard']} {_paths()}"


def groups_name() -> str:
    """Return the flow with its groups: `summarize shop, kitchen`."""
    groups = flow_run.parameters["groups"]
    return f"{flow_run.flow_name} {_short(', '.join(groups)) if groups else 'all groups'}"


def dated_name() -> str:
    """Return the flow with the minute for which it is scheduled, in UTC."""
    return f"{flow_run.flow_name} {flow_run.scheduled_start_time:%Y-%m-%d %H:%M}"


def _paths() -> str:
    first, *more = flow_run.parameters["archives"]
    return f"{_short(first)} and {len(more)} more" if more else _short(first)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"
