"""What `open` found, in parts: a turn with its texts, a session, an entity, a fact."""

from collections.abc import Iterable, Iterator

from turnetl.base.model import Fact
from turnetl.base.text import format_minute, format_span, plural
from turnetl.episode_text.conversation import ConversationStep
from turnetl.mcp.answer import parts_of
from turnetl.mcp.entries import (
    fact_line,
    joined,
    lineage_text,
    listed_parts,
    project_text,
    text_line,
    text_lines,
    text_name,
    text_parts,
    turn_entry,
    turn_line,
)
from turnetl.retrieval.details import (
    Details,
    EntityDetails,
    FactDetails,
    SessionDetails,
    TurnDetails,
)

_SHORT_STEP = 1_000
"""Characters of a step whose input and outcome are one item."""


def kind(found: Details) -> str:
    """Return what was found, in one word."""
    match found:
        case TurnDetails():
            return "turn"
        case SessionDetails():
            return "session"
        case EntityDetails():
            return "entity"
        case FactDetails():
            return "fact"


def parts(found: Details) -> Iterator[str]:
    """Yield the parts of what was found, each of which fits into any answer."""
    for part in _items(found):
        yield from parts_of(part)


def _items(found: Details) -> Iterator[str]:
    match found:
        case TurnDetails():
            yield from _turn(found)
        case SessionDetails():
            yield from _session(found)
        case EntityDetails():
            yield from _entity(found)
        case FactDetails():
            yield from _fact(found)


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
    failed = " FAILED" if step.is_error else ""
    title = f"step {text_name(step.tool)}{failed}"
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
    counts = f"{plural(found.fact_count, 'fact')} in {plural(found.turn_count, 'turn')}"
    yield (
        f"entity {text_name(entity.uuid)}  {labels}  {project_text(entity.group_id)}\n"
        f"name: {text_name(entity.name)}\n{counts}, newest first:"
    )
    yield from text_parts("summary", entity.summary)
    for one in reversed(found.turns):
        yield from listed_parts(turn_line(one.turn), _facts(one.facts))


def _fact(found: FactDetails) -> Iterator[str]:
    source, target = found.indexed.source, found.indexed.target
    names = " -> ".join(text_name(one.name) for one in (source, target))
    yield f"{fact_line(found.indexed.fact)}\nbetween: {names}"
    yield from text_parts("full text", found.indexed.fact.text)
    for turn in found.turns:
        yield turn_entry(turn, mark="stated by: ")


def _facts(facts: Iterable[Fact]) -> list[str]:
    return [f"   {fact_line(fact)}" for fact in facts]
