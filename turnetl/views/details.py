"""A turn, session, entity or fact, as `turnetl show` prints it."""

from collections.abc import Iterator
from itertools import islice

from turnetl.base.text import format_minute, format_span, plural
from turnetl.episode_text.conversation import Conversation, ConversationStep
from turnetl.retrieval.details import (
    Details,
    EntityDetails,
    FactDetails,
    SessionDetails,
    TurnDetails,
    TurnFacts,
    holding_turns_first,
)
from turnetl.retrieval.turn_summary import TurnSummary
from turnetl.views.nodes import Lines, Node, View, line, section, unwrapped
from turnetl.views.turns import fact_end, fact_text, files_line, lineage, step_lineage, turns_grid

_HEAD, _TAIL = 3, 3
"""Lines of an outcome that is folded."""
_LINE_CHARS = 200


def view(found: Details, *, full: bool, neighbours: bool) -> View:
    match found:
        case TurnDetails():
            return [*_turn(found, full=full, neighbours=neighbours)]
        case SessionDetails():
            return [*_session(found)]
        case EntityDetails():
            return entity_view(found)
        case FactDetails():
            return [*_fact(found)]


def entity_view(found: EntityDetails) -> View:
    entity = found.entity
    labels = ", ".join(entity.labels) or "entity"
    shown = f", the last {len(found.turns):,} shown" if len(found.turns) < found.turn_count else ""
    counts = (
        f"{plural(found.fact_count, 'fact')}, named in {plural(found.turn_count, 'turn')}{shown}"
    )
    rows = ((one.turn, [*_stated(one)]) for one in holding_turns_first(found.turns))
    return [
        line((entity.name, "bold"), f"  {labels}  {entity.group_id}"),
        unwrapped((f"entity {entity.uuid}", "dim")),
        *([line(("also called: ", "dim"), ", ".join(entity.aliases))] if entity.aliases else []),
        *([entity.summary] if entity.summary else []),
        counts,
        *section("Other projects have the name too", (one.description for one in found.others)),
        "",
        turns_grid(rows, with_group=False),
    ]


def _stated(found: TurnFacts) -> Iterator[Node]:
    for fact in found.facts:
        yield from (fact_text(fact), *step_lineage(fact))


def _turn(found: TurnDetails, *, full: bool, neighbours: bool) -> Iterator[Node]:
    receipt, conversation = found.summary.receipt, found.conversation
    model = f"  {conversation.model}" if conversation.model else ""
    branch = f"  branch {receipt.git_branch}" if receipt.git_branch else ""
    yield line(
        ("turn ", ""),
        (receipt.turn_id, "bold"),
        (f"  {format_minute(receipt.started_at)}", "cyan"),
        f"  {receipt.group_id}  {receipt.format}{model}{branch}",
    )
    yield unwrapped((f"session {receipt.session_id}", "dim"))
    yield lineage(receipt)
    if found.summary.intent:
        yield line(("intent: ", "dim"), found.summary.intent)
    yield line(("outcome: ", "dim"), found.summary.outcome)
    yield from files_line(found.summary.files)
    if found.resume:
        yield unwrapped(("resume: ", "dim"), found.resume)
    if neighbours:
        yield from _neighbour("Previous turn", found.previous)
    yield from _conversation(conversation, full=full)
    yield from section("Facts", map(fact_text, found.facts))
    if neighbours:
        yield from _neighbour("Next turn", found.next)


def _conversation(conversation: Conversation, *, full: bool) -> Iterator[Node]:
    for title, texts in (("Prompt", [conversation.prompt]), ("Steering", conversation.steering)):
        yield from section(title, filter(None, texts))
    steps = (node for step in conversation.steps for node in _step(step, full=full))
    yield from section("Steps", steps)
    yield from section("Answer", [conversation.answer] if conversation.answer else [])


def _step(step: ConversationStep, *, full: bool) -> Iterator[Node]:
    failed = ("  failed", "red") if step.is_error else ""
    call = "\n".join(_folded(step.input, full=full))
    by = (f"  {step.subagent.by}", "cyan") if step.subagent else ""
    yield line((step.tool, "bold"), f" {call}", by, failed)
    yield Lines([line((text, "dim")) for text in _folded(step.outcome, full=full)], indent=4)


def _folded(text: str, *, full: bool) -> list[str]:
    """Return the lines of a text; of a long one the first and the last."""
    lines = text.strip("\n").splitlines() if text.strip() else []
    if full:
        return lines
    hidden = len(lines) - _HEAD - _TAIL
    if hidden > 1:
        lines = [*lines[:_HEAD], f"… {hidden:,} more lines (--full)", *lines[-_TAIL:]]
    return [line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…" for line in lines]


def _neighbour(title: str, turn: TurnSummary | None) -> View:
    if turn is None:
        return section(title, [line(("none", "dim"))])
    return section(title, [turns_grid([(turn, files_line(turn.files))], with_group=False)])


def _session(found: SessionDetails) -> Iterator[Node]:
    first, last = found.turns[0].receipt, found.turns[-1].receipt
    groups = ", ".join(dict.fromkeys(turn.receipt.group_id for turn in found.turns))
    span = format_span(first.started_at, last.ended_at or last.started_at)
    yield line(
        "session ",
        (found.session_id, "bold"),
        (f"  {span}", "cyan"),
        f"  {groups}  {first.format}  {plural(len(found.turns), 'turn')}",
    )
    for parent in islice(filter(None, (turn.receipt.parent_session_id for turn in found.turns)), 1):
        yield unwrapped((f"continues session {parent}", "dim"))
    if found.resume:
        yield unwrapped(("resume: ", "dim"), found.resume)
    yield ""
    yield turns_grid(((turn, files_line(turn.files)) for turn in found.turns), with_group=False)


def _fact(found: FactDetails) -> Iterator[Node]:
    fact, source, target = found.indexed.fact, found.indexed.source, found.indexed.target
    yield line((fact.text, "bold"))
    yield unwrapped((f"fact {fact.uuid}  {fact.group_id}", "dim"))
    yield from step_lineage(fact)
    yield f"{source.name} —{fact.relation}→ {target.name}"
    said = fact_end(fact, None)
    yield line((f"from {format_minute(fact.valid_at)}{', ' if said else ''}{said}", "cyan"))
    rows = [(turn, files_line(turn.files)) for turn in found.turns]
    yield from section("Stated by", [turns_grid(rows, with_group=False)])
