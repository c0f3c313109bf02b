"""The findings of the structural extractor in one turn, before they are resolved in the group."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from turnetl.base import ids
from turnetl.base.edit_outline import EditedPart
from turnetl.base.model import Attribute

FILE = "File"
SYMBOL = "Symbol"
TEST = "Test"
COMMAND = "Command"
PACKAGE = "Package"
ERROR = "Error"
DECISION = "Decision"
PREFERENCE = "Preference"
TICKET = "Ticket"
BRANCH = "Branch"
COMMIT = "Commit"
PULL_REQUEST = "PR"
FLAG = "Flag"
SETTING = "Setting"
TOOL = "Tool"
CONCEPT = "Concept"
NUMBERED = frozenset({TICKET, PULL_REQUEST})
"""Labels of what has a number of its own."""


@dataclass(frozen=True, slots=True)
class EntityKey:
    """An entity by label and name: equal keys are the same entity.

    Other spellings are equal, by `ids.folded_name`: texts write `readme.md` and `OrderTotal` as
    they like.
    """

    label: str
    name: str = field(compare=False)
    second_label: str = field(default="", compare=False)
    """Another label of the same node: `pytest` without arguments is a Command and a Tool."""
    description: str = field(default="", compare=False)
    """What it is, by the calls of the turn: "Function in `cart.py`"; may be empty."""
    folded_name: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded_name", ids.folded_name(self.label, self.name))


@dataclass(frozen=True, slots=True)
class FactDraft:
    rank: int
    """The lower, the more informative. A turn with too many facts keeps the lowest ranks."""
    source: EntityKey
    relation: str
    target: EntityKey
    text: str
    valid_at: datetime | None
    invalid_at: datetime | None = None
    """Time of a later call of the same turn that invalidates the fact."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[EntityKey, str, EntityKey, str]:
        return self.source, self.relation, self.target, self.text


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A run of a command, or a call of another tool, whose outcome is known."""

    index: int
    """Of the call in the turn."""
    source: EntityKey
    line: str
    """The command with its arguments, or the path that a tool was called with."""
    at: datetime | None
    passed: bool
    is_check: bool
    """Whether it tests, builds or lints."""
    names: frozenset[str] = frozenset()
    """Tests and Go packages that passed, by name."""
    is_shell: bool = True
    """False: a call of another tool."""
    cwd: str = ""
    """Where it ran; empty if the call does not say so."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change of files between a failure and what resolves it."""

    index: int
    """Of the call in the turn; -1: in an earlier turn."""
    at: datetime | None
    file: str
    """Empty: a command such as a formatter changed files."""
    change: str = ""
    why: str = ""
    """What the agent says about it."""
    parts: tuple[EditedPart, ...] = ()
    """What it changed, by definition."""
    turn_id: str = ""


@dataclass(frozen=True, slots=True)
class RunHistory:
    """What a turn needs to resolve failures of earlier turns of its session."""

    runs: tuple[CompletedRun, ...] = ()
    edits: tuple[FileEdit, ...] = ()
    """Of the turns of the context and of the turn, in order."""
    context: frozenset[str] = frozenset()
    """Ids of the turns of the context."""
    claims_fix: bool = False
    """Whether the turn ends with the statement that something is fixed."""


@dataclass(frozen=True, slots=True)
class UndoneEdits:
    """What a turn takes back with git of what earlier turns of its session edited."""

    file: str
    turns: frozenset[str]
    at: datetime | None


@dataclass(frozen=True, slots=True)
class UndoneCommit:
    """A commit of an earlier turn that a turn replaces by another one, or resets."""

    name: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class TurnFindings:
    """All entities and facts of one turn, limited in number, the most informative first."""

    entities: tuple[EntityKey, ...]
    facts: tuple[FactDraft, ...]
    history: RunHistory = RunHistory()
    guessed_root: str = ""
    """Where paths of files start, if that may be inside the project; else empty."""
    mentioned_files: tuple[str, ...] = ()
    """Paths that no call of the turn shows."""
    undone: tuple[UndoneEdits | UndoneCommit, ...] = ()
