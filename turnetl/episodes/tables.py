"""Episodes tables: built from the turns files, if they are not current."""

from collections.abc import Callable, Sequence

from turnetl import ids, noise, schema
from turnetl.episodes import versions
from turnetl.episodes.filters import Filters
from turnetl.episodes.report import FilteredGroup, FilterReport, from_json, to_json
from turnetl.lake import Lake, TurnFile
from turnetl.model import GroupId

_INPUTS_DIGEST = "turnetl.inputs_digest"
"""Metadata key: digest of the turns files, of the code versions and of the filters."""
_TURNS_DIGEST = "turnetl.turns_digest"
"""Metadata key: digest of the turns files and of the code versions."""
_ONE_OFF = "turnetl.one_off"
"""Metadata key: present if the table was built with `Filters.one_off`."""
_REPORT = "turnetl.report"
"""Metadata key: the `FilteredGroup` of the table, as JSON."""


def build(
    lake: Lake,
    groups: Sequence[GroupId],
    *,
    filters: Filters = Filters(),  # noqa: B008 - frozen
    progress: Callable[[int, int], None] | None = None,
) -> FilterReport:
    """Bring the episodes tables of these groups up to date.

    A table that was built from the same turns with the same filters is neither read nor written.

    Args:
        lake: holds the turns files and receives the episodes tables.
        groups: the groups to build, in the order of the report.
        filters: which turns are noise, and what is removed from a text.
        progress: called after each group with the number of groups done and their total.

    Raises:
        Fatal: a table cannot be read.
    """
    reports = []
    for done, group in enumerate(groups, 1):
        reports.append(_build_group(lake, group, filters))
        if progress is not None:
            progress(done, len(groups))
    return FilterReport(tuple(reports))


def is_current(
    lake: Lake,
    group: GroupId,
    files: Sequence[TurnFile],
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> bool:
    """Return whether the group's table can be ingested without a rebuild. Reads no row.

    It can if `build` would produce the same table from these turns files and filters, or if the
    table was built from the same turns files with one-off filters.
    """
    stored = lake.episodes_metadata(group) or {}
    if stored.get(_ONE_OFF) and stored.get(_TURNS_DIGEST) == _turns_digest(files):
        return True
    return stored.get(_INPUTS_DIGEST) == _inputs_digest(group, files, filters)


def _build_group(lake: Lake, group: GroupId, filters: Filters) -> FilteredGroup:
    files = lake.turn_files(group)
    inputs_digest = _inputs_digest(group, files, filters)
    stored = lake.episodes_metadata(group) or {}
    if stored.get(_INPUTS_DIGEST) == inputs_digest:
        previous = from_json(stored.get(_REPORT, ""))
        if previous is not None:
            return previous

    def metadata(report: FilteredGroup) -> dict[str, str]:
        one_off = {_ONE_OFF: "yes"} if filters.one_off else {}
        digests = {_INPUTS_DIGEST: inputs_digest, _TURNS_DIGEST: _turns_digest(files)}
        return {**digests, _REPORT: to_json(report), **one_off}

    from turnetl.episodes.table_writer import write_table  # noqa: PLC0415 - only if not current

    return write_table(lake, group, filters, metadata)


def _inputs_digest(group: GroupId, files: Sequence[TurnFile], filters: Filters) -> str:
    """Return the digest of everything that determines the content of a table."""
    one_off = "one-off" if filters.one_off else ""
    decisions = (*noise.recipes(filters.rules), *filters.recipe(group))
    return ids.digest(_turns_digest(files), one_off, *decisions)


def _turns_digest(files: Sequence[TurnFile]) -> str:
    """Return the digest of the turns files and of the versions of the code that renders them."""
    rows = (schema.TURNS.version, schema.EPISODES.version, versions.DEDUP, versions.TEXT)
    recipe = (*rows, versions.CHUNK_LIMIT, versions.CHUNKING, versions.CLASSIFICATION)
    archives = sorted(
        f"{file.path.name}/{file.metadata.sha256}/{file.metadata.format}"
        f"/{file.metadata.reader_version}/{file.metadata.redactor_version}"
        for file in files
    )
    return ids.digest(*map(str, recipe), *noise.recipes((*noise.RULES, noise.EMPTY)), *archives)
