"""Reports of an undo: what it takes, what it changes, and what was done."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import msgspec

from turnetl.base.clock import encoded_time
from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Entity, Fact, GroupId
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.undo_state import Restored, UndoDiff


@dataclass(frozen=True, slots=True)
class UndoneTurn:
    """A turn that an undo takes, or that depends on one."""

    receipt: Receipt
    prompt: str
    """The first line of what the user wrote."""


@dataclass(frozen=True, slots=True)
class GroupUndo:
    """The undo of the turns of one group."""

    group: GroupId
    turns: tuple[UndoneTurn, ...]
    """Newest commit first, with the dependents if they are undone too."""
    dependents: tuple[UndoneTurn, ...]
    """Turns that were not selected and built on those that were; newest commit first."""
    diff: UndoDiff
    """What the undo of all these turns changes in the group."""
    quarantined: tuple[QuarantineEntry, ...] = ()
    """Entries of the run, which go with it."""
    undone: int = 0
    """Turns undone by this call."""
    already_undone: int = 0
    """Turns that another process undid meanwhile."""
    entities_kept: tuple[str, ...] = ()
    """Uuids of entities that another program uses, which therefore stay."""
    error: str | None = None
    """Error that stopped the group; None if it was completed, or not begun."""
    exit_code: int = ExitCode.DONE


@dataclass(frozen=True, slots=True)
class UndoReport:
    """The undo of the selected turns. Nothing was written if no group has undone turns."""

    groups: tuple[GroupUndo, ...]
    """Groups of which something is undone, sorted."""
    cascade: bool
    """Whether turns that built on the selected ones are undone too."""

    @property
    def turns(self) -> int:
        return sum(len(group.turns) for group in self.groups)

    @property
    def undone(self) -> int:
        return sum(group.undone for group in self.groups)

    @property
    def dependents(self) -> int:
        return sum(len(group.dependents) for group in self.groups)

    @property
    def is_refused(self) -> bool:
        """Whether nothing may be undone because later turns built on it."""
        return bool(self.dependents) and not self.cascade


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A field of an entity or a fact that is restored, with its values as texts."""

    field: str
    now: str | None
    restored: str | None


def value_changes(pair: Restored[Entity] | Restored[Fact]) -> list[ValueChange]:
    """Return the fields that differ, in their order."""
    names = (field.name for field in fields(pair.now))
    values = ((name, getattr(pair.now, name), getattr(pair.restored, name)) for name in names)
    return [
        ValueChange(name, _text(now), _text(restored))
        for name, now, restored in values
        if now != restored
    ]


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case datetime():
            return encoded_time(value)
        case tuple():
            return ", ".join(value)
        case Mapping():
            return msgspec.json.encode(dict(value), order="sorted").decode()
        case _:
            return str(value)
