"""Reports of an undo: what it takes, what it changes, and what was done."""

from dataclasses import dataclass
from typing import Annotated

from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS
from turnetl.base.result_fields import GroupField, PromptField, ShortTurnIdField
from turnetl.base.results import INLINED, described
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.undo_state import UndoDiff


@dataclass(frozen=True, slots=True)
class UndoneTurn:
    """A turn that an undo takes, or that depends on one."""

    receipt: Annotated[Receipt, INLINED]
    prompt: PromptField

    @property
    def id(self) -> ShortTurnIdField:
        return self.receipt.turn_id[:ID_CHARS]


@dataclass(frozen=True, slots=True)
class GroupUndo:
    """The undo of the turns of one group."""

    group: GroupField
    turns: Annotated[tuple[UndoneTurn, ...], described("The turns to undo, newest commit first.")]
    """With the dependents if they are undone too."""
    dependents: Annotated[
        tuple[UndoneTurn, ...],
        described("Turns that were not selected and built on those that were."),
    ]
    """Newest commit first."""
    diff: Annotated[UndoDiff, INLINED]
    """What the undo of all these turns changes in the group."""
    quarantined: Annotated[
        tuple[QuarantineEntry, ...],
        described("Quarantine entries of the run, which go with it.", counted=True),
    ] = ()
    undone: Annotated[int, described("Turns undone by this command.")] = 0
    already_undone: Annotated[int, described("Turns that another process undid meanwhile.")] = 0
    entities_kept: Annotated[
        tuple[str, ...],
        described("Ids of entities that stay because another program uses them."),
    ] = ()
    error: Annotated[
        str | None, described("What stopped the undo of the group; null if nothing did.")
    ] = None
    exit_code: int = ExitCode.DONE


@dataclass(frozen=True, slots=True)
class UndoReport:
    """The undo of the selected turns. Nothing was written if no group has undone turns."""

    groups: Annotated[tuple[GroupUndo, ...], described("The groups, sorted by name.")]
    """Those of which something is undone."""
    cascade: bool
    """Whether turns that built on the selected ones are undone too."""

    @property
    def turns(self) -> Annotated[int, described("Turns to undo.")]:
        return sum(len(group.turns) for group in self.groups)

    @property
    def undone(self) -> Annotated[int, described("Turns undone by this command.")]:
        return sum(group.undone for group in self.groups)

    @property
    def dependents(self) -> int:
        return sum(len(group.dependents) for group in self.groups)

    @property
    def is_refused(
        self,
    ) -> Annotated[
        bool,
        described("Whether nothing may be undone because later turns built on it.", name="refused"),
    ]:
        return bool(self.dependents) and not self.cascade
