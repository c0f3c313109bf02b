"""Results as lines: dated, with their lineage, and with what is no longer valid marked.

Text of an archive is in one line, or each of its lines starts with `| `: it cannot look like a line
of turnetl. Control characters are displayed, also the invisible ones of which no reader knows.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from turnetl.base.control_characters import displayed_text
from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS, Fact, GroupId
from turnetl.base.object_url import url_text
from turnetl.base.text import format_minute, format_span, one_line, plural
from turnetl.episode_text.conversation import ConversationStep
from turnetl.index.lookup import GroupSpan, SessionSpan
from turnetl.mcp.answer import parts_of
from turnetl.retrieval.details import (
    Details,
    EntityDetails,
    FactDetails,
    SessionDetails,
    TurnDetails,
    holding_turns_first,
)
from turnetl.retrieval.fix import ErrorHistory, Occurrence
from turnetl.retrieval.hits import PASSAGE, HitFact, SearchHit, SessionHit, facts_beside_title
from turnetl.retrieval.match import Match
from turnetl.retrieval.repetition import repeats_any
from turnetl.retrieval.turn_summary import TurnSummary, short_id

_SHORT_STEP = 1_000
"""Characters of a step whose input and outcome are one item."""


def parts(found: Details) -> Iterator[str]:
    """Yield the parts of what was found, each of which fits into any answer."""
    match found:
        case TurnDetails():
            items = _turn(found)
        case SessionDetails():
            items = _session(found)
        case EntityDetails():
            items = _entity(found)
        case FactDetails():
            items = _fact(found)
    for item in items:
        yield from parts_of(item)


def _turn(found: TurnDetails) -> Iterator[str]:
    receipt, conversation = found.summary.receipt, found.conversation
    details = [receipt.format, conversation.model, receipt.git_branch]
    head = [
        joined(
            f"turn {receipt.turn_id}",
            format_minute(receipt.started_at),
            project_text(receipt.group_id),
        ),
        f"session {text_name(receipt.session_id)}  {lineage_text(receipt)}",
        "format, model, branch: " + ", ".join(text_line(one or "none") for one in details),
        *(line.strip() for line in _title(found.summary)),
    ]
    if found.previous is not None:
        head.append(f"previous turn {found.previous.id}")
    if found.next is not None:
        head.append(f"next turn {found.next.id}")
    yield "\n".join(head)
    yield from text_parts("prompt", conversation.prompt)
    for text in conversation.steering:
        yield from text_parts("steering", text)
    yield from text_parts("answer", conversation.answer)
    yield from listed_parts("facts", _facts(found.facts))
    for step in conversation.steps:
        yield from _step(step)


def _step(step: ConversationStep) -> Iterator[str]:
    failed = " failed" if step.is_error else ""
    by = f" {text_name(step.subagent.by)}" if step.subagent else ""
    title = f"step {text_name(step.tool)}{by}{failed}"
    if len(step.input) + len(step.outcome) <= _SHORT_STEP:
        outcome = text_lines(step.outcome)
        yield "\n".join(
            [f"{title}:", *text_lines(step.input), *(["->"] if outcome else []), *outcome]
        )
        return
    yield from text_parts(title, step.input)
    yield from text_parts(f"{title}, outcome", step.outcome)


def _session(found: SessionDetails) -> Iterator[str]:
    first, last = found.turns[0].receipt, found.turns[-1].receipt
    span = format_span(first.started_at, last.ended_at or last.started_at)
    yield (f"session {text_name(found.session_id)}  {span}  {plural(len(found.turns), 'turn')}")
    for turn in found.turns:
        yield turn_entry(turn)


def _entity(found: EntityDetails) -> Iterator[str]:
    entity = found.entity
    labels = ", ".join(text_name(label) for label in entity.labels) or "entity"
    counts = f"{plural(found.fact_count, 'fact')}, named in {plural(found.turn_count, 'turn')}"
    aliases = ", ".join(map(text_name, entity.aliases))
    also_called = f"also called: {aliases}\n" if aliases else ""
    yield (
        f"entity {text_name(entity.uuid)}  {labels}  {project_text(entity.group_id)}\n"
        f"name: {text_name(entity.name)}\n{also_called}{counts}, "
        "what holds first, then newest first:"
    )
    for other in found.others:
        yield f"other projects have the name too: {text_name(other.description)}"
    yield from text_parts("summary", entity.summary)
    for one in holding_turns_first(found.turns):
        yield from listed_parts(turn_line(one.turn), _facts(one.facts))


def _fact(found: FactDetails) -> Iterator[str]:
    source, target = found.indexed.source, found.indexed.target
    names = " -> ".join(text_name(one.name) for one in (source, target))
    yield f"{fact_line(found.indexed.fact)}\nbetween: {names}"
    yield from text_parts("full text", found.indexed.fact.text)
    if step := found.indexed.fact.step:
        yield f"step: {_lines_text(step.archive, step.line, step.line)}"
    for turn in found.turns:
        yield turn_entry(turn, mark="stated by: ")


def _facts(facts: Iterable[Fact]) -> list[str]:
    return [f"   {fact_line(fact)}" for fact in facts]


_TITLE_CHARS = 300
_FACT_CHARS = 400
_NAME_CHARS = 200
_FILES = 8
_LINE_BYTES = 450
"""Bytes of the displayed text of a line."""
_CHUNK = 45
"""Characters after which a long line may end: their escapes fit into one line."""
_NO_PROMPT = "(no prompt)"


def text_line(text: str, limit: int = _TITLE_CHARS) -> str:
    """Return a text of an archive in one line, without control characters."""
    return displayed_text(one_line(text, limit))


def text_name(text: str) -> str:
    return text_line(text, _NAME_CHARS)


def text_lines(text: str) -> list[str]:
    """Return the lines of a text of an archive, each marked; one that is very long is several."""
    return [f"| {piece}" for line in text.strip().splitlines() for piece in _displayed(line)]


def text_parts(title: str, text: str) -> Iterator[str]:
    """Yield a titled text of an archive in parts, each of which fits into any answer."""
    return listed_parts(title, text_lines(text))


def listed_parts(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield titled lines in parts, each of which fits into any answer; nothing without lines."""
    if lines:
        yield from parts_of("\n".join([f"{title}:", *lines]), f"{title}, continued:")


def hit_entry(rank: int, hit: SearchHit | SessionHit, as_of: datetime | None) -> str:
    if isinstance(hit, SessionHit):
        return "\n".join([f"{rank}. {_session_line(hit)}", *_hit_facts(hit, as_of)])
    lines = [
        joined(
            f"{rank}. turn {hit.id}",
            format_minute(hit.started_at),
            project_text(hit.group_id),
            f"session {text_name(short_id(hit.session_id))}",
            lineage_text(hit),
            *(["weak match"] if hit.match is Match.WEAK else []),
        ),
        *_title(hit),
        *_snippet(hit),
        *_hit_facts(hit, as_of),
        *_files(hit.files),
    ]
    for session in hit.session_hits:
        lines += [f"   {_session_line(session)}", *_hit_facts(session, as_of)]
    return "\n".join(lines)


def _snippet(hit: SearchHit) -> list[str]:
    shown = hit.outcome, *(fact.fact for fact in facts_beside_title(hit))
    is_new = hit.snippet.text and not repeats_any(hit.snippet.text, shown)
    return [f"   says: {text_line(hit.snippet.text)}"] if is_new else []


def turn_entry(turn: TurnSummary, facts: Iterable[Fact] = (), mark: str = "") -> str:
    return "\n".join(
        [
            f"{mark}{turn_line(turn)}",
            *_title(turn),
            *(f"   {fact_line(fact)}" for fact in facts),
            *_files(turn.files),
        ]
    )


def _title(turn: SearchHit | TurnSummary) -> list[str]:
    return [
        f"   intent: {text_line(turn.intent) or _NO_PROMPT}",
        f"   outcome: {text_line(turn.outcome)}",
    ]


def turn_line(turn: TurnSummary) -> str:
    receipt = turn.receipt
    return joined(
        format_minute(receipt.started_at),
        f"turn {turn.id}",
        project_text(receipt.group_id),
        f"session {text_name(short_id(receipt.session_id))}",
        lineage_text(receipt),
    )


def project_text(group: GroupId) -> str:
    return f"project {text_name(group)}"


def lineage_text(turn: Receipt | SearchHit) -> str:
    return _lines_text(turn.archive, turn.first_line, turn.last_line)


def _lines_text(archive: str, first: int, last: int) -> str:
    name = text_line(url_text(archive) or archive, 4 * _NAME_CHARS)
    return f"{name}:{first}-{last}"


def fact_line(fact: Fact) -> str:
    dated = _validity(fact, None)
    text = text_line(fact.text, _FACT_CHARS)
    return f"fact {fact.uuid[:ID_CHARS]} {_relation(fact)} ({dated}): {text}"


def error_entries(found: ErrorHistory) -> Iterator[str]:
    """Yield an error, then what resolved it, in parts: the resolved occurrences first."""
    name = text_line(found.error.name, _FACT_CHARS)
    weak = "weak match, " if found.match is Match.WEAK else ""
    times = f"{weak}in {plural(found.count, 'turn')}"
    for number, occurrence in enumerate(found.occurrences, 1):
        title = f"error ({times}, occurrence {number} of {len(found.occurrences)}): {name}"
        yield from parts_of("\n".join([title, *_occurrence(occurrence)]), "error, continued:")


def group_entry(span: GroupSpan) -> str:
    counts = f"{plural(span.turns, 'turn')} in {plural(span.sessions, 'session')}"
    return f"{project_text(span.group_id)}  {format_span(span.first, span.last)}  {counts}"


def session_entry(span: SessionSpan, intent: str) -> str:
    head = joined(
        f"session {text_name(span.session_id)}",
        format_span(span.first, span.last),
        project_text(span.group_id),
        plural(span.turns, "turn"),
    )
    return f"{head}\n   intent: {text_line(intent) or _NO_PROMPT}"


def _displayed(line: str) -> Iterator[str]:
    """Yield a line as it is displayed; a long one in pieces, each of whole characters."""
    piece = ""
    for start in range(0, len(line), _CHUNK):
        chunk = displayed_text(line[start : start + _CHUNK])
        if len((piece + chunk).encode()) > _LINE_BYTES:
            yield piece
            piece = ""
        piece += chunk
    yield piece


def _occurrence(found: Occurrence) -> Iterator[str]:
    yield f"   failed {format_minute(found.fact.valid_at)}: {text_line(found.fact.text)}"
    yield f"   in {turn_line(found.turn)}"
    if found.resolved_at is None:
        yield f"   {found.outcome}; the agent wrote:"
    else:
        yield f"   {found.outcome} {format_minute(found.resolved_at)}"
        if found.resolved_by is not None and found.resolved_by != found.turn:
            yield f"   by {turn_line(found.resolved_by)}"
    yield from (f"   {fact_line(fact)}" for fact in found.evidence)
    yield from (f"   {line}" for line in text_lines(found.answer))


def _hit_facts(hit: SearchHit | SessionHit, as_of: datetime | None) -> list[str]:
    return [f"   {_hit_fact(fact, as_of)}" for fact in facts_beside_title(hit)]


def _hit_fact(fact: HitFact, as_of: datetime | None) -> str:
    text = text_line(fact.fact, _FACT_CHARS)
    if fact.relation == PASSAGE:
        return f"passage: {text}"
    dated = _validity(fact, as_of)
    return f"fact {_relation(fact)} ({dated}): {text}"


def _relation(fact: Fact | HitFact) -> str:
    return text_name(fact.relation.replace("_", " ").lower())


def _session_line(hit: SessionHit) -> str:
    session = f"session {text_name(hit.session_id)}" if hit.session_id else "no session"
    return joined(
        f"session-level episode {text_name(hit.episode)}",
        format_minute(hit.reference_time),
        project_text(hit.group_id),
        f"{session}: {text_line(hit.name)}",
    )


def _validity(fact: Fact | HitFact, as_of: datetime | None) -> str:
    since = f"since {format_minute(fact.valid_at)}"
    if fact.invalid_at is None:
        later = text_line(fact.later_turn_says, _FACT_CHARS)
        return f"{since}; a later turn says: {later}" if later else since
    until = "invalidated later, at" if as_of else "no longer valid: ended on"
    by = f" by {text_line(fact.ended_by, _FACT_CHARS)}" if fact.ended_by else ""
    return f"{since}, {until} {format_minute(fact.invalid_at)}{by}"


def joined(*parts: str) -> str:
    return "  ".join(parts)


def _files(files: Sequence[str]) -> list[str]:
    if not files:
        return []
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    named = ", ".join(text_name(file) for file in files[:_FILES])
    return [f"   files: {named}{more}"]
