"""What a group was filled with, so that no other extractor continues it by accident."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated

from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId
from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class ExtractorUse:
    """The turns of a group in the graph that one extractor made, with one model."""

    extractor: Annotated[str, described("Name of the extractor.")]
    model: Annotated[
        str | None, described("Model with its provider; null if the extractor uses none.")
    ]
    turns: Annotated[int, described("Turns in the graph.", name="committed")]


def extractor_uses(receipts: Sequence[Receipt]) -> tuple[ExtractorUse, ...]:
    """Return what made the turns of a group; last what made the turn that was committed last."""
    turns: dict[tuple[str, str | None], int] = {}
    for receipt in sorted(receipts, key=attrgetter("committed_at", "turn_id")):
        used = receipt.extractor, receipt.model
        turns[used] = turns.pop(used, 0) + 1
    return tuple(ExtractorUse(*used, count) for used, count in turns.items())


def check_extractor(group: GroupId, receipts: Sequence[Receipt], extractor: str) -> None:
    """Raise the error of `unintended_change`, if there is one."""
    if error := unintended_change(group, extractor_uses(receipts), extractor):
        raise error


def unintended_change(
    group: GroupId, uses: Sequence[ExtractorUse], extractor: str
) -> GraphUnusable | None:
    """Return the error if another extractor than this one committed to the group last."""
    if not uses or uses[-1].extractor == extractor:
        return None
    last = uses[-1]
    with_model = f" and the model `{last.model}`" if last.model else ""
    return GraphUnusable(
        f"group `{group}` was filled with the extractor `{last.extractor}`{with_model}, and this "
        f"run would continue it with `{extractor}`; name the one that you mean: `--extractor "
        f"{last.extractor}` or `--extractor {extractor}`"
    )
