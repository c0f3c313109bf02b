"""Redaction on the way out: the lake was redacted with the rules and settings of its time."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, groupby
from typing import Any, Self, TypeVar

import polars as pl

from turnetl.base import schema
from turnetl.base.edit_outline import without_outline
from turnetl.base.model import (
    Attribute,
    Entity,
    Fact,
    SubagentRun,
    SubagentUsage,
    ToolCall,
    Turn,
)
from turnetl.lake import ArchiveMetadata, TurnFile, turn_from_row
from turnetl.parsing.archive_paths import archive_machine, local_path, path_texts, redacted_path
from turnetl.parsing.person_names import branch_without_persons, path_without_persons, users_in
from turnetl.parsing.redaction import NAME_FIELDS, RUN_NAME_FIELDS, turn_names, with_models
from turnetl.parsing.table import content_hash as content_hash_of
from turnetl.redact import Redactor
from turnetl.redact.port import pieces
from turnetl.transfer.content import ExportContent, ExportedTurn


def redacted_models(usage: Iterable[SubagentUsage], redactor: Redactor) -> Mapping[str, str]:
    """Return the models of subagents without secrets: an archive may name any text as its model."""
    models = sorted({one.model for one in usage if one.model})
    if not models:
        return {}
    [redacted] = redactor.redact_many([models])
    return dict(zip(models, redacted.texts, strict=True))


BATCH_FILES = 64
"""Turns files whose texts are scanned together."""


def redacted_tables(
    tables: Sequence[pl.DataFrame], redactor: Redactor
) -> list[tuple[pl.DataFrame, int]]:
    """Return the rows of each archive without secrets, and the number of redactions.

    Rows in which nothing is redacted are returned as they are. One scan over several archives is
    faster than one for each.
    """
    turns = [[turn_from_row(row) for row in table.iter_rows(named=True)] for table in tables]
    links = [set(_link_names(table).drop_nulls().to_list()) - {""} for table in tables]
    redacted = _redacted(turns, links, redactor)
    return [_with_turns(table, *one) for table, one in zip(tables, redacted, strict=True)]


def _link_names(table: pl.DataFrame) -> pl.Series:
    """Return the ids and names that link subagents to turns, which a `Turn` does not have."""
    calls = table["subagent_calls"].explode().drop_nulls().str.split("\t").explode()
    return pl.concat([calls, table["subagent_type"]])


def _with_turns(
    table: pl.DataFrame, redacted: Sequence[tuple[Turn, int]], names: Mapping[str, str]
) -> tuple[pl.DataFrame, int]:
    count = sum(found for _, found in redacted)
    links = {name: clean for name, clean in names.items() if name != clean}
    if links:
        count += int(_link_names(table).is_in(list(links)).sum())
        fields = pl.element().str.split("\t").list.eval(pl.element().replace(links))
        table = table.with_columns(
            pl.col("subagent_calls").list.eval(fields.list.join("\t")),
            pl.col("subagent_type").replace(links),
        )
    if not count:
        return table, 0
    changed = [
        replace(turn, content_hash=content_hash(turn)) if found else turn
        for turn, found in redacted
    ]
    clean = turns_frame(changed).select(column.name for column in schema.TURN_COLUMNS)
    return table.with_columns(clean.get_columns()), count


def turns_frame(turns: Sequence[Turn]) -> pl.DataFrame:
    """Return the rows of turns, without links to subagents."""
    rows = [asdict(turn) for turn in turns]
    columns = {
        name: [list(row[name]) if isinstance(row[name], tuple) else row[name] for row in rows]
        for name in (column.name for column in schema.TURN_COLUMNS)
    }
    frame = pl.DataFrame(columns, schema={name: schema.TURNS.polars[name] for name in columns})
    return pl.concat([pl.DataFrame(schema=schema.TURNS.polars), frame], how="diagonal")


def content_hash(turn: Turn) -> str:
    """Return the digest that a parse gives a turn with this content."""
    calls = [
        (call.name, without_outline(call.input), call.result, call.is_error)
        for call in turn.tool_calls
    ]
    return content_hash_of(turn, turn.assistant_text, calls)


T = TypeVar("T")
_Call = TypeVar("_Call", bound=ToolCall)
_NewText = Callable[[str], str]
"""Returns what replaces a text."""
_BATCH_TEXTS = 20_000
"""Texts of sessions that are scanned together."""


def redacted_content(content: ExportContent, redactor: Redactor) -> tuple[ExportContent, int]:
    """Return the content without secrets, and the number of redactions.

    A secret that one text of a session reveals is redacted in all of them, as in a parse. So are
    native ids and names, of models and tools too. Ids of turns and groups, uuids, labels, relations
    and times stay as they are.
    """
    turns, in_turns = _redacted_turns(content.turns, redactor)
    texts = _texts(content.entities, _with_entity_texts) + _texts(content.facts, _with_fact_texts)
    [redacted] = redactor.redact_many([texts])
    new = _one_by_one(redacted.texts)
    entities = [_with_entity_texts(entity, new) for entity in content.entities]
    facts = [_with_fact_texts(fact, new) for fact in content.facts]
    clean = replace(content, turns=turns, entities=entities, facts=facts)
    return clean, in_turns + sum(redacted.counts)


def redacted_archives(
    archives: Sequence[Sequence[Turn]], redactor: Redactor
) -> list[list[tuple[Turn, int]]]:
    """Return the turns of several archives without secrets, each with its number of redactions."""
    return [turns for turns, _ in _redacted(archives, [()] * len(archives), redactor)]


def _redacted(
    archives: Sequence[Sequence[Turn]], link_names: Sequence[Collection[str]], redactor: Redactor
) -> list[tuple[list[tuple[Turn, int]], Mapping[str, str]]]:
    """Return the turns of each archive as `redacted_archives`, and what stands for each name.

    The names are those of its turns, and its `link_names`.
    """
    # As in a parse: names repeat in every turn, and each is redacted once, before the texts.
    names = [
        sorted({*others, *(name for turn in turns for name in turn_names(turn))})
        for turns, others in zip(archives, link_names, strict=True)
    ]
    texts = [
        [*some, *_texts(turns, _with_turn_texts)]
        for some, turns in zip(names, archives, strict=True)
    ]
    results = redactor.redact_many(texts)
    folders: dict[str, set[str]] = {}
    for turn in chain.from_iterable(archives):
        for archive in (turn.archive, *(run.archive for run in turn.subagents)):
            folders.setdefault(archive, set()).update({turn.cwd} if turn.cwd else ())
    paths = redacted_paths(folders, redactor)
    redacted: list[tuple[list[tuple[Turn, int]], Mapping[str, str]]] = []
    for turns, some, one in zip(archives, names, results, strict=True):
        first = len(some)
        clean_names = dict(zip(some, one.texts[:first], strict=True))
        name_counts = dict(zip(some, one.counts[:first], strict=True))
        new = _one_by_one(one.texts[first:])
        changed = [_with_names(_with_turn_texts(turn, new), clean_names, paths) for turn in turns]
        if redactor.redacts_persons:
            changed = _without_persons(turns, changed, redactor)
        counted = _counted(turns, changed, name_counts, one.counts[first:])
        redacted.append((counted, clean_names))
    return redacted


def _redacted_turns(
    turns: Sequence[ExportedTurn], redactor: Redactor
) -> tuple[list[ExportedTurn], int]:
    redacted: list[ExportedTurn] = []
    count = 0
    by_session = groupby(turns, key=lambda one: one.turn.session_id)
    for batch in _batches(list(session) for _, session in by_session):
        values = [[one.turn for one in session] for session in batch]
        results = redacted_archives(values, redactor)
        for session, clean in zip(batch, results, strict=True):
            count += sum(found for _, found in clean)
            pairs = zip(session, clean, strict=True)
            redacted += [replace(one, turn=turn) for one, (turn, _) in pairs]
    return redacted, count


def _batches(sessions: Iterable[list[ExportedTurn]]) -> Iterator[list[list[ExportedTurn]]]:
    batch: list[list[ExportedTurn]] = []
    texts = 0
    for session in sessions:
        batch.append(session)
        texts += sum(len(one.turn.tool_calls) * 2 + 2 for one in session)
        if texts >= _BATCH_TEXTS:
            yield batch
            batch, texts = [], 0
    if batch:
        yield batch


def _texts(items: Iterable[T], with_texts: Callable[[T, _NewText], T]) -> list[str]:
    """Return the texts that `with_texts` replaces in the items, in that order.

    The items are built again with the same texts, so that no second traversal has to agree with the
    one that puts in what is redacted (`_one_by_one`).
    """
    texts: list[str] = []

    def noted(text: str) -> str:
        texts.append(text)
        return text

    for item in items:
        with_texts(item, noted)
    return texts


def _one_by_one(texts: Iterable[str]) -> _NewText:
    """Return what replaces each text by the next one, in the order of `_texts`."""
    remaining = iter(texts)
    return lambda _: next(remaining)


def _with_names(turn: Turn, names: Mapping[str, str], paths: Mapping[str, str]) -> Turn:
    """Return the turn with other names, those of its tools too, and another archive."""
    fields = _clean_names(turn, NAME_FIELDS, names)
    usage = turn.usage and tuple(
        replace(message, model=names.get(message.model or "", message.model))
        for message in turn.usage
    )
    subagents = tuple(
        replace(run, archive=paths[run.archive], **_clean_names(run, RUN_NAME_FIELDS, names))
        for run in turn.subagents
    )
    return replace(turn, archive=paths[turn.archive], usage=usage, subagents=subagents, **fields)


def _clean_names(
    item: Turn | SubagentRun, fields: Iterable[str], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields of ids and names, and the calls, without secrets."""
    values = {field: getattr(item, field) for field in fields}
    calls = (replace(call, name=names.get(call.name, call.name)) for call in item.tool_calls)
    return {field: names.get(value, value) for field, value in values.items()} | {
        "tool_calls": tuple(calls)
    }


def _without_persons(
    turns: Sequence[Turn], redacted: Sequence[Turn], redactor: Redactor
) -> list[Turn]:
    placeholder = redactor.person_placeholder
    folders = {turn.cwd for turn in turns if turn.cwd}
    users = users_in({*folders, *(local_path(turn.archive) for turn in turns)})
    return [
        replace(
            one,
            cwd=path_without_persons(one.cwd, users_in([turn.cwd or ""]), placeholder)
            if one.cwd
            else None,
            git_branch=branch_without_persons(one.git_branch, users, placeholder)
            if one.git_branch
            else None,
        )
        for turn, one in zip(turns, redacted, strict=True)
    ]


def _counted(
    turns: Sequence[Turn],
    redacted: Sequence[Turn],
    name_counts: Mapping[str, int],
    counts: Sequence[int],
) -> list[tuple[Turn, int]]:
    """Return the redacted turns, each with its redactions in names and in each of `_texts`."""
    found, counted = iter(counts), []
    for before, after in zip(turns, redacted, strict=True):
        count = sum(next(found) for _ in _texts([before], _with_turn_texts))
        count += sum(name_counts[name] for name in turn_names(before))
        if not count:
            count = _folders(before) != _folders(after)
        counted.append((replace(after, redactions=before.redactions + count), int(count)))
    return counted


def _folders(turn: Turn) -> tuple[str | None, ...]:
    return turn.archive, turn.cwd, turn.git_branch


def _with_turn_texts(turn: Turn, new: _NewText) -> Turn:
    user_text, assistant_text = new(turn.user_text), new(turn.assistant_text)
    return replace(
        turn,
        user_text=user_text,
        assistant_text=assistant_text,
        places=turn.places if assistant_text == turn.assistant_text else None,
        steering=tuple(map(new, turn.steering)),
        user_answers=tuple(map(new, turn.user_answers)),
        subagent_prompts=tuple(map(new, turn.subagent_prompts)),
        tool_calls=_with_call_texts(turn.tool_calls, new),
        subagents=tuple(
            replace(
                run,
                prompt=new(run.prompt),
                answer=new(run.answer),
                tool_calls=_with_call_texts(run.tool_calls, new),
            )
            for run in turn.subagents
        ),
    )


def _with_call_texts(calls: Sequence[_Call], new: _NewText) -> tuple[_Call, ...]:
    return tuple(replace(call, input=new(call.input), result=new(call.result)) for call in calls)


def _with_entity_texts(entity: Entity, new: _NewText) -> Entity:
    name, summary = new(entity.name), new(entity.summary)
    return replace(
        entity, name=name, summary=summary, attributes=_with_attribute_texts(entity, new)
    )


def _with_fact_texts(fact: Fact, new: _NewText) -> Fact:
    return replace(fact, text=new(fact.text), attributes=_with_attribute_texts(fact, new))


def _with_attribute_texts(item: Entity | Fact, new: _NewText) -> dict[str, Attribute]:
    return {
        key: new(value) if isinstance(value, str) else value
        for key, value in item.attributes.items()
    }


def redacted_paths(
    paths: Mapping[str, Collection[str]], redactor: Redactor, *, keeps_machines: bool = False
) -> dict[str, str]:
    """Return what stands in place of each path, also of one after the name of its machine.

    Args:
        paths: the folders whose users are persons in a path, by path; the path itself is one.
    """
    distinct = sorted(paths)
    texts = [path_texts(local_path(path)) for path in distinct]
    redacted = redactor.redact_many(texts)
    clean = {}
    for path, before, after in zip(distinct, texts, redacted, strict=True):
        name = redacted_path(local_path(path), dict(zip(before, after.texts, strict=True)))
        if redactor.redacts_persons:
            users = users_in({local_path(path), *paths[path]})
            name = path_without_persons(name, users, redactor.person_placeholder)
        clean[path] = _machine(path, redactor, keeps_machines) + name
    return clean


def redacted_machine(name: str, redactor: Redactor) -> str:
    """Return the name of a machine, or what stands in its place: also a name of a machine."""
    if not name or not redactor.redacts_persons:
        return name
    _, digests = pieces(redactor.person_placeholder(name))
    return f"machine-{digests[0]}" if digests else name


@dataclass(frozen=True, slots=True)
class RedactedNames:
    """What stands for the names in the metadata of turns files."""

    paths: Mapping[str, str]
    models: Mapping[str, str]

    @classmethod
    def of(
        cls, files: Sequence[TurnFile], redactor: Redactor, *, keeps_machines: bool = False
    ) -> Self:
        """Redact the names of all files together; `keeps_machines` as in `redacted_paths`."""
        folders: dict[str, set[str]] = {}
        for one in (file.metadata for file in files):
            own = {one.cwd} if one.cwd else set()
            for path in (one.archive, *own):
                folders.setdefault(path, set()).update(own)
        paths = redacted_paths(folders, redactor, keeps_machines=keeps_machines)
        usage = [one for file in files for one in file.metadata.subagent_usage or ()]
        return cls(paths, redacted_models(usage, redactor))

    def replaced(self, metadata: ArchiveMetadata) -> ArchiveMetadata:
        """Return the metadata of one of the files without secrets; its machine stays."""
        return replace(
            metadata,
            archive=self.paths[metadata.archive],
            cwd=metadata.cwd and self.paths[metadata.cwd],
            subagent_usage=with_models(metadata.subagent_usage, self.models),
        )


def _machine(path: str, redactor: Redactor, keeps_machines: bool) -> str:
    machine = archive_machine(path)
    if machine is None:
        return ""
    return f"{machine if keeps_machines else redacted_machine(machine, redactor)}:"
