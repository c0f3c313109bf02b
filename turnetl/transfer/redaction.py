"""Redaction on the way out: the lake was redacted with the rules and settings of its time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain

import polars as pl

from turnetl.base import schema
from turnetl.base.model import Attribute, Entity, Fact, SubagentUsage, ToolCall, Turn
from turnetl.lake import ArchiveMetadata, TurnFile, turn_from_row
from turnetl.parsing.archive_paths import archive_machine, local_path, path_texts, redacted_path
from turnetl.parsing.projects import branch_without_persons, path_without_persons, users_in
from turnetl.parsing.redaction import NAME_FIELDS, turn_names
from turnetl.parsing.table import content_hash as content_hash_of
from turnetl.redact import Redactor
from turnetl.redact.port import pieces
from turnetl.transfer.content import ExportContent, ExportedTurn


def usage_of(files: Iterable[TurnFile]) -> list[SubagentUsage]:
    return [one for file in files for one in file.metadata.subagent_usage or ()]


def redacted_models(usage: Iterable[SubagentUsage], redactor: Redactor) -> Mapping[str, str]:
    """Return the models of subagents without secrets: an archive may name any text as its model.

    One scan of the models of several archives is faster than one for each.
    """
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
    redacted = redacted_archives(turns, redactor)
    return [_with_turns(table, one) for table, one in zip(tables, redacted, strict=True)]


def _with_turns(
    table: pl.DataFrame, redacted: Sequence[tuple[Turn, int]]
) -> tuple[pl.DataFrame, int]:
    count = sum(found for _, found in redacted)
    if not count:
        return table, 0
    changed = [
        replace(turn, content_hash=content_hash(turn)) if found else turn
        for turn, found in redacted
    ]
    return turns_frame(changed), count


def turns_frame(turns: Sequence[Turn]) -> pl.DataFrame:
    rows = [asdict(turn) for turn in turns]
    columns = {
        name: [list(row[name]) if isinstance(row[name], tuple) else row[name] for row in rows]
        for name in schema.TURNS.polars
    }
    return pl.DataFrame(columns, schema=schema.TURNS.polars)


def content_hash(turn: Turn) -> str:
    """Return the digest that a parse gives a turn with this content."""
    calls = [(call.name, call.input, call.result, call.is_error) for call in turn.tool_calls]
    return content_hash_of(turn, turn.assistant_text, calls)


_BATCH_TEXTS = 20_000
"""Texts of sessions that are scanned together."""


def redacted_content(content: ExportContent, redactor: Redactor) -> tuple[ExportContent, int]:
    """Return the content without secrets, and the number of redactions.

    A secret that one text of a session reveals is redacted in all of them, as in a parse. So are
    native ids and names, of models and tools too. Ids of turns and groups, uuids, labels, relations
    and times stay as they are.
    """
    turns, in_turns = _redacted_turns(content.turns, redactor)
    texts = [
        *(text for entity in content.entities for text in _entity_texts(entity)),
        *(text for fact in content.facts for text in _fact_texts(fact)),
    ]
    redacted = redactor.redact_many([texts])[0]
    remaining = iter(redacted.texts)
    entities = [_with_entity_texts(entity, remaining) for entity in content.entities]
    facts = [_with_fact_texts(fact, remaining) for fact in content.facts]
    clean = replace(content, turns=turns, entities=entities, facts=facts)
    return clean, in_turns + sum(redacted.counts)


def redacted_archives(
    archives: Sequence[Sequence[Turn]], redactor: Redactor
) -> list[list[tuple[Turn, int]]]:
    """Return the turns of several archives without secrets, each with its number of redactions."""
    # As in a parse: names repeat in every turn, and each is redacted once, before the texts.
    names = [sorted({name for turn in turns for name in turn_names(turn)}) for turns in archives]
    texts = [[*some, *_texts(turns)] for some, turns in zip(names, archives, strict=True)]
    results = redactor.redact_many(texts)
    folders: dict[str, set[str]] = {}
    for turn in chain.from_iterable(archives):
        folders.setdefault(turn.archive, set()).update({turn.cwd} if turn.cwd else ())
    paths = redacted_paths(folders, redactor)
    redacted = []
    for turns, some, one in zip(archives, names, results, strict=True):
        first = len(some)
        clean_names = dict(zip(some, one.texts[:first], strict=True))
        name_counts = dict(zip(some, one.counts[:first], strict=True))
        changed = [
            _with_names(turn, clean_names, paths) for turn in _with_texts(turns, one.texts[first:])
        ]
        if redactor.redacts_persons:
            changed = _without_persons(turns, changed, redactor)
        redacted.append(_counted(turns, changed, name_counts, one.counts[first:]))
    return redacted


def _redacted_turns(
    turns: Sequence[ExportedTurn], redactor: Redactor
) -> tuple[list[ExportedTurn], int]:
    redacted: list[ExportedTurn] = []
    count = 0
    for batch in _batches(_sessions(turns)):
        values = [[one.turn for one in session] for session in batch]
        results = redacted_archives(values, redactor)
        for session, clean in zip(batch, results, strict=True):
            count += sum(found for _, found in clean)
            pairs = zip(session, clean, strict=True)
            redacted += [replace(one, turn=turn) for one, (turn, _) in pairs]
    return redacted, count


def _sessions(turns: Sequence[ExportedTurn]) -> Iterator[list[ExportedTurn]]:
    session: list[ExportedTurn] = []
    for one in turns:
        if session and session[-1].turn.session_id != one.turn.session_id:
            yield session
            session = []
        session.append(one)
    if session:
        yield session


def _batches(sessions: Iterator[list[ExportedTurn]]) -> Iterator[list[list[ExportedTurn]]]:
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


def _texts(turns: Sequence[Turn]) -> list[str]:
    return [text for turn in turns for text in _turn_texts(turn)]


def _turn_texts(turn: Turn) -> Iterator[str]:
    yield from (turn.user_text, turn.assistant_text)
    yield from (*turn.steering, *turn.user_answers, *turn.subagent_prompts)
    for call in turn.tool_calls:
        yield from (call.input, call.result)


def _with_texts(turns: Sequence[Turn], texts: Sequence[str]) -> list[Turn]:
    """Return the turns with other texts, in the order of `_texts`."""
    remaining = iter(texts)
    return [_with_turn_texts(turn, remaining) for turn in turns]


def _with_names(turn: Turn, names: Mapping[str, str], paths: Mapping[str, str]) -> Turn:
    """Return the turn with other names, those of its tools too, and another archive."""
    calls = tuple(replace(call, name=names.get(call.name, call.name)) for call in turn.tool_calls)
    values = ((field, getattr(turn, field)) for field in NAME_FIELDS)
    fields = {field: names.get(value, value) for field, value in values}
    usage = turn.usage and tuple(
        replace(message, model=names.get(message.model or "", message.model))
        for message in turn.usage
    )
    return replace(turn, archive=paths[turn.archive], tool_calls=calls, usage=usage, **fields)


def _without_persons(
    turns: Sequence[Turn], redacted: Sequence[Turn], redactor: Redactor
) -> list[Turn]:
    """Return redacted turns without the persons whose folders the turns name."""
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
        count = sum(next(found) for _ in _turn_texts(before))
        count += sum(name_counts[name] for name in turn_names(before))
        if not count:
            count = _folders(before) != _folders(after)
        counted.append((replace(after, redactions=before.redactions + count), int(count)))
    return counted


def _folders(turn: Turn) -> tuple[str | None, ...]:
    return turn.archive, turn.cwd, turn.git_branch


def _with_turn_texts(turn: Turn, texts: Iterator[str]) -> Turn:
    user, assistant = next(texts), next(texts)
    return replace(
        turn,
        user_text=user,
        assistant_text=assistant,
        steering=_as_many(turn.steering, texts),
        user_answers=_as_many(turn.user_answers, texts),
        subagent_prompts=_as_many(turn.subagent_prompts, texts),
        tool_calls=tuple(_with_call_texts(call, texts) for call in turn.tool_calls),
    )


def _with_call_texts(call: ToolCall, texts: Iterator[str]) -> ToolCall:
    input_, result = next(texts), next(texts)
    return replace(call, input=input_, result=result)


def _as_many(replaced: Sequence[str], texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(next(texts) for _ in replaced)


def _entity_texts(entity: Entity) -> Iterator[str]:
    yield from (entity.name, entity.summary)
    yield from _attribute_texts(entity)


def _with_entity_texts(entity: Entity, texts: Iterator[str]) -> Entity:
    name, summary = next(texts), next(texts)
    attributes = _with_attribute_texts(entity, texts)
    return replace(entity, name=name, summary=summary, attributes=attributes)


def _fact_texts(fact: Fact) -> Iterator[str]:
    yield fact.text
    yield from _attribute_texts(fact)


def _with_fact_texts(fact: Fact, texts: Iterator[str]) -> Fact:
    text = next(texts)
    return replace(fact, text=text, attributes=_with_attribute_texts(fact, texts))


def _attribute_texts(item: Entity | Fact) -> Iterator[str]:
    yield from (value for value in item.attributes.values() if isinstance(value, str))


def _with_attribute_texts(item: Entity | Fact, texts: Iterator[str]) -> dict[str, Attribute]:
    return {
        key: next(texts) if isinstance(value, str) else value
        for key, value in item.attributes.items()
    }


def redacted_paths(
    paths: Mapping[str, Collection[str]], redactor: Redactor, *, keeps_machines: bool = False
) -> dict[str, str]:
    """Return what stands in place of each path, also of one after the name of its machine.

    Args:
        paths: the folders whose users are persons in a path, by path; the path itself is one.
        redactor: removes secrets, and persons on request.
        keeps_machines: whether the name of the machine stays.
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


def metadata_paths(archives: Iterable[ArchiveMetadata]) -> dict[str, set[str]]:
    """Return the paths that the metadata of turns files name, as `redacted_paths` takes them."""
    paths: dict[str, set[str]] = {}
    for one in archives:
        folders = {one.cwd} if one.cwd else set()
        for path in (one.archive, *folders):
            paths.setdefault(path, set()).update(folders)
    return paths


def with_paths(metadata: ArchiveMetadata, paths: Mapping[str, str]) -> ArchiveMetadata:
    """Return metadata with what stands in place of each of its `metadata_paths`."""
    archive, cwd = metadata.archive, metadata.cwd
    return replace(metadata, archive=paths[archive], cwd=cwd and paths[cwd])


def _machine(path: str, redactor: Redactor, keeps_machines: bool) -> str:
    machine = archive_machine(path)
    if machine is None:
        return ""
    return f"{machine if keeps_machines else redacted_machine(machine, redactor)}:"
