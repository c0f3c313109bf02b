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
class Thing:
    """Something with a name. The same label and name are the same thing."""

    label: str
    name: str
    second_label: str = field(default="", compare=False)
    """Of the same node: a bare `pytest` is a Command and a Tool."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence about two things."""

    rank: int
    """The lower, the more telling: what stands when a turn says too much."""
    source: Thing
    name: str
    target: Thing
    text: str
    at: datetime | None
    until: datetime | None = None
    """When a later call of the same turn ended it."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[Thing, str, Thing, str]:
        return self.source, self.name, self.target, self.text


@dataclass(frozen=True, slots=True)
class Success:
    """A command that ended well: what it ends may have failed in an earlier turn."""

    command: Thing
    line: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Found:
    """All that one turn says, bounded, the most telling first."""

    things: tuple[Thing, ...]
    said: tuple[Said, ...]
    successes: tuple[Success, ...]
