"""What the structural extractor finds in a turn, before it meets the group."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.model import Attribute

FILE = "File"
TOOL = "Tool"
COMMAND = "Command"
ERROR = "Error"
DECISION = "Decision"
CONCEPT = "Concept"
PACKAGE = "Package"


@dataclass(frozen=True, slots=True)
class EntityKey:
    """Something with a name. The same label and name are the same thing."""

    label: str
    name: str
    second_label: str = field(default="", compare=False)
    """Of the same node: a bare `pytest` is a Command and a Tool."""


@dataclass(frozen=True, slots=True)
class FactDraft:
    """One sentence about two things."""

    rank: int
    """The lower, the more telling: what stands when a turn says too much."""
    source: EntityKey
    name: str
    target: EntityKey
    text: str
    at: datetime | None
    until: datetime | None = None
    """When a later call of the same turn ended it."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[EntityKey, str, EntityKey, str]:
        return self.source, self.name, self.target, self.text


@dataclass(frozen=True, slots=True)
class CommandSuccess:
    """A command that ended well: what it ends may have failed in an earlier turn."""

    command: EntityKey
    line: str
    at: datetime


@dataclass(frozen=True, slots=True)
class TurnFindings:
    """All that one turn says, bounded, the most telling first."""

    things: tuple[EntityKey, ...]
    said: tuple[FactDraft, ...]
    successes: tuple[CommandSuccess, ...]
