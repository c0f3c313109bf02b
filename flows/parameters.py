"""The types of parameters, and the names of runs that are made of them.

Prefect's server checks the schema of parameters before a run exists.
"""

from typing import Annotated

from prefect.runtime import flow_run
from pydantic import Field, NonNegativeFloat, PositiveInt, WithJsonSchema

_GRAPH = r"^(ladybug://.+|(bolt|neo4j)(\+s|\+ssc)?://([^:@/]*@)?[^@]+)$"
"""A URL without a password; an embedded graph's URL ends with a path, in which anything may be."""
_AMOUNT = (
    r"^\s*([nN][oO][nN][eE]|\$?\s*([0-9][0-9,_]*(\.[0-9]+)?|\.[0-9]+)\s*[kKmM]?[\s-]*"
    r"([uU][sS][dD]|[dD][oO][lL][lL][aA][rR][sS]?|[tT][oO][kK]([eE][nN][sS]?)?)?)\s*$"
)
"""As `turnetl.settings.sections` reads an amount, which says what is wrong with it. The form of
Prefect's UI knows no flag for either case."""
_TIME = r"^\s*([mM][tT][iI][mM][eE]|[0-9]{4}-?[0-9W].*)$"

AbsolutePath = Annotated[str, Field(pattern=r"^(~|/|[A-Za-z]:[\\/])")]
"""Absolute, or with `~`: a worker runs a flow in a folder of its own."""
LakeLocation = Annotated[str, Field(pattern=r"^(~|/|[A-Za-z]:[\\/]|(s3|gs|az)://)")]
"""An absolute path, or the URL of a folder in an object store."""
ArchiveLocation = LakeLocation
"""As that of a lake: a file, folder or glob with an absolute path or a URL."""
ArchivePatterns = Annotated[list[ArchiveLocation], Field(min_length=1)]
# Not a constraint: an error of a constraint repeats the value, which may hold a password.
GraphUrl = Annotated[str, WithJsonSchema({"type": "string", "pattern": _GRAPH})]
Name = Annotated[str, Field(min_length=1)]
Names = Annotated[list[Name], Field(min_length=1)]
Passes = Annotated[int, Field(ge=0, le=3)]
Amount = Annotated[str, WithJsonSchema({"type": "string", "pattern": _AMOUNT})]
Budget = Amount | Annotated[list[Amount], Field(min_length=1, max_length=2)]
TimeToAssume = Annotated[str, WithJsonSchema({"type": "string", "pattern": _TIME})]
Turns = PositiveInt
Minutes = NonNegativeFloat
ShardName = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,4}/[1-9][0-9]{0,4}$")]
ShardCount = Annotated[int, Field(ge=2, le=64)]
Engine = Annotated[
    str, Field(pattern=r"^(local|dask:(tcp|tls)://[A-Za-z0-9.:\[\]_-]+:[0-9]{1,5})$")
]
"""`local`, or `dask:` and the address of a scheduler."""


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
