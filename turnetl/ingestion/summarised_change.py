"""The change of a turn with the summaries that it writes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from turnetl.base.model import Change
from turnetl.summaries.group_summaries import GroupSummaries
from turnetl.summaries.reasons import GateReason


@dataclass(frozen=True, slots=True)
class SummarisedChange:
    """A change with the summaries that its turn writes, and why."""

    change: Change
    for_mirror: Change
    """The change as later turns of the run see it: without what the ends of runs wrote, so that no
    prompt depends on the number of runs."""
    reasons: Mapping[GateReason, int]
    """How many summaries were refreshed and kept, by reason."""


def with_texts(change: Change, texts: Mapping[str, str]) -> Change:
    """Return the change with new summaries, in its own entities and apart from them.

    Args:
        change: the change of a turn.
        texts: by uuid of the entity.
    """
    changed = {entity.uuid for entity in change.entities}
    return replace(
        change,
        entities=tuple(
            replace(entity, summary=texts.get(entity.uuid, entity.summary))
            for entity in change.entities
        ),
        summary_texts={uuid: text for uuid, text in texts.items() if uuid not in changed},
    )


def shown(change: Change, group: GroupSummaries) -> Change:
    """Return the change with the summaries that its entities have in the graph."""
    known = ((entity, group.summary(entity.uuid)) for entity in change.entities)
    return replace(
        change,
        entities=tuple(
            entity if summary is None else replace(entity, summary=summary)
            for entity, summary in known
        ),
    )
