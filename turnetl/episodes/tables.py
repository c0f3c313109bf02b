"""Episodes tables: built from the turns files, if they are not current."""

import logging
from collections.abc import Callable, Mapping, Sequence

from turnetl import noise
from turnetl.base import ids, schema
from turnetl.base.errors import TableUnusable
from turnetl.base.model import GroupId
from turnetl.base.object_url import shown_name
from turnetl.episodes.filter_report import FilteredGroup, FilterReport, from_json, to_json
from turnetl.episodes.filters import (
    CHUNK_LIMIT,
    CHUNKING_VERSION,
    CLASSIFICATION_VERSION,
    DEDUP_VERSION,
    TEXT_VERSION,
    Filters,
)
from turnetl.lake import Lake, TurnFile

log = logging.getLogger(__name__)

_INPUTS_DIGEST = "turnetl.inputs_digest"
"""Metadata key: digest of the turns files, of the code versions and of the filters."""
_CONTENT_DIGEST = "turnetl.content_digest"
"""Metadata key: digest of everything but the noise rules that determines the rows."""
_TEXT_DIGEST = "turnetl.text_digest"
"""Metadata key: digest of everything but the turn itself that determines its text."""
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
    on_damaged: Callable[[TableUnusable], None] | None = None,
) -> FilterReport:
    """Bring the episodes tables of these groups up to date.

    A table that was built from the same turns with the same filters is not written again, unless it
    is damaged. A group whose turns cannot be read does not stop the others.

    Args:
        on_damaged: called with the error of each group that has a damaged turns file. None: the
            first one is raised after the last group.
    """
    reports, damaged = [], []
    for done, group in enumerate(groups, 1):
        try:
            reports.append(_build_group(lake, group, filters))
        except TableUnusable as error:
            damaged.append(error)
        if progress is not None:
            progress(done, len(groups))
    for unusable in damaged:
        if on_damaged is None:
            raise unusable
        on_damaged(unusable)
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
    stored = _stored(lake, group)
    if stored.get(_ONE_OFF) and stored.get(_TURNS_DIGEST) == _turns_digest(files):
        return True
    return stored.get(_INPUTS_DIGEST) == _inputs_digest(group, files, filters)


def holds_turns(lake: Lake, group: GroupId, files: Sequence[TurnFile]) -> bool:
    """Return whether the group's table was built from these turns files. Reads no row."""
    return _stored(lake, group).get(_TURNS_DIGEST) == _turns_digest(files)


def unjoined_archives(lake: Lake, group: GroupId) -> int:
    """Return the archives of subagents whose turns the group's table does not have."""
    return _unjoined(_stored(lake, group))


def _unjoined(stored: Mapping[str, str]) -> int:
    report = from_json(stored.get(_REPORT, ""))
    return 0 if report is None else report.unjoined_archives


def _stored(lake: Lake, group: GroupId) -> Mapping[str, str]:
    """Return the metadata of the group's table; empty if there is none, or it is damaged."""
    try:
        return lake.episodes_metadata(group) or {}
    except TableUnusable:
        return {}


def repair(lake: Lake, group: GroupId, files: Sequence[TurnFile], filters: Filters) -> None:
    """Verify the group's table, and create it again from the same turns if it is damaged.

    Raises:
        TableUnusable: it is damaged, and turns or filters are not those that it was built from; or
            a turns file is damaged.
    """
    try:
        lake.verify_episodes(group)
    except TableUnusable:
        stored = lake.episodes_metadata(group) or {}
        if stored.get(_INPUTS_DIGEST) != _inputs_digest(group, files, filters):
            raise
        _build_group(lake, group, filters)


def _build_group(lake: Lake, group: GroupId, filters: Filters) -> FilteredGroup:
    files = lake.turn_files(group)
    digests = {
        _INPUTS_DIGEST: _inputs_digest(group, files, filters),
        _CONTENT_DIGEST: _content_digest(group, files, filters),
        _TEXT_DIGEST: ids.digest(*_code_versions(), *filters.recipe(group)),
        _TURNS_DIGEST: _turns_digest(files),
    }
    _check_groups(group, files)
    previous = _stored_report(lake, group, digests[_INPUTS_DIGEST])
    if previous is not None:
        lake.verify_changed_turns(group)
        return previous

    def metadata(report: FilteredGroup) -> dict[str, str]:
        one_off = {_ONE_OFF: "yes"} if filters.one_off else {}
        return {**digests, _REPORT: to_json(report), **one_off}

    try:
        stored = lake.episodes_metadata(group) or {}
        if stored.get(_CONTENT_DIGEST) == digests[_CONTENT_DIGEST]:
            lake.verify_changed_turns(group)
            from turnetl.episodes.partitions import remark_table  # noqa: PLC0415 - as below

            return remark_table(
                lake, group, filters.rules, stored, metadata, unjoined_archives=_unjoined(stored)
            )
        keeps_texts = stored.get(_TEXT_DIGEST) == digests[_TEXT_DIGEST]
        return _write(lake, group, filters, metadata, keeps_texts=keeps_texts)
    except TableUnusable as error:
        if error.path != lake.episodes_folder / f"{group}.parquet":
            raise
        log.warning("`%s` is damaged; it is created again from the turns", shown_name(error.path))
    return _write(lake, group, filters, metadata, keeps_texts=False)


def _check_groups(group: GroupId, files: Sequence[TurnFile]) -> None:
    """Raise TableUnusable if a file holds another group: its turns would be committed twice."""
    for file in files:
        if file.metadata.group != group:
            raise TableUnusable(
                file.path,
                f"`{shown_name(file.path)}` holds turns of group `{file.metadata.group}`: "
                "`turnetl verify --fix` keeps it under another name, and makes the file that "
                "belongs there again from its archive, if that exists",
            )


def _write(
    lake: Lake,
    group: GroupId,
    filters: Filters,
    metadata: Callable[[FilteredGroup], dict[str, str]],
    *,
    keeps_texts: bool,
) -> FilteredGroup:
    """Write the table of a group from its turns, with the texts of unchanged ones as they are."""
    from turnetl.episodes.table import (  # noqa: PLC0415 - a run without changes does not render
        RenderedTexts,
        write_table,
    )

    previous = RenderedTexts(lake, group) if keeps_texts else None
    return write_table(lake, group, filters, metadata, previous)


def _stored_report(lake: Lake, group: GroupId, inputs_digest: str) -> FilteredGroup | None:
    """Return the report of the group's table if it is current and not damaged."""
    try:
        stored = lake.episodes_metadata(group) or {}
        if stored.get(_INPUTS_DIGEST) != inputs_digest:
            return None
        lake.verify_episodes(group)
    except TableUnusable as error:
        log.warning("`%s` is damaged; it is created again from the turns", shown_name(error.path))
        return None
    return from_json(stored.get(_REPORT, ""))


def _inputs_digest(group: GroupId, files: Sequence[TurnFile], filters: Filters) -> str:
    one_off = "one-off" if filters.one_off else ""
    decisions = (*noise.recipes(filters.rules), *filters.recipe(group))
    return ids.digest(_turns_digest(files), one_off, *decisions)


def _content_digest(group: GroupId, files: Sequence[TurnFile], filters: Filters) -> str:
    """Return the digest of everything that determines a table but the rules that mark its rows."""
    empty = noise.recipes([noise.EMPTY])
    return ids.digest(*_code_versions(), *empty, *filters.recipe(group), *_archives(files))


def _turns_digest(files: Sequence[TurnFile]) -> str:
    rules = noise.recipes((*noise.RULES, noise.EMPTY))
    return ids.digest(*_code_versions(), *rules, *_archives(files))


def _code_versions() -> tuple[str, ...]:
    rows = (schema.TURNS.version, schema.EPISODES.version, DEDUP_VERSION, TEXT_VERSION)
    recipe = (*rows, CHUNK_LIMIT, CHUNKING_VERSION, CLASSIFICATION_VERSION)
    return tuple(map(str, recipe))


def _archives(files: Sequence[TurnFile]) -> list[str]:
    return sorted(
        f"{file.path.name}/{file.metadata.sha256}/{file.metadata.format}"
        f"/{file.metadata.reader_version}/{file.metadata.redactor_version}"
        f"/{file.metadata.retained_digest}/{file.metadata.tokens}"
        for file in files
    )
