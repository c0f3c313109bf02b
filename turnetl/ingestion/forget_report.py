"""Report of `forget`: what is removed for good, what was removed, and what was found afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.ingestion.undo_report import UndoReport
from turnetl.lake.byte_search import FoundText


@dataclass(frozen=True, slots=True)
class ForgetSelection:
    """The turns to forget: those that meet all conditions that are given."""

    session: str | None = None
    """The beginning of the id of their session."""
    groups: tuple[str, ...] = ()
    """Group ids or project names."""
    text: str | None = None
    """A text that they hold, as it is."""

    @property
    def is_empty(self) -> bool:
        return self == ForgetSelection()


@dataclass(frozen=True, slots=True)
class TurnToForget:
    """A turn, with its place in its archive, which still holds it."""

    group: GroupId
    turn_id: TurnId
    session_id: SessionId
    archive: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What `forget` removes. Nothing was written unless `is_begun`."""

    selection: ForgetSelection
    turns: tuple[TurnToForget, ...]
    """By archive and line."""
    undo: UndoReport
    """The turns that leave the graph: those to forget, and later ones that built on them."""
    samples: tuple[str, ...] = field(default=(), repr=False)
    """Texts of the turns that no other turn holds: what is searched for afterwards."""
    damaged_tables: tuple[Path, ...] = ()
    """Damaged copies of turns files of their groups, which may hold them: they are deleted too."""
    is_resumed: bool = False
    """Whether an earlier call was interrupted, and its turns are among these."""
    is_begun: bool = False
    responses_erased: int = 0
    """Responses removed from the journal."""
    quarantined: int = 0
    """Quarantine entries that were removed."""
    found: tuple[FoundText, ...] = ()
    """Places that still hold the text or a sample."""
    files_searched: int = 0
    is_proven: bool = False
    """Whether everything was removed and searched, and nothing was found."""
    summarised: tuple[GroupId, ...] = ()
    """Groups whose session-level data, which another program wrote and which stays, is of these
    sessions too."""
    graph_server: str | None = None
    """Address of a graph on a server, of whose files nothing is known."""

    @property
    def is_refused(self) -> bool:
        """Whether nothing may be removed because later turns built on it."""
        return self.undo.is_refused

    @property
    def sessions(self) -> int:
        return len({turn.session_id for turn in self.turns})

    @property
    def lines_by_archive(self) -> Mapping[str, Sequence[TurnToForget]]:
        """The turns by the archive that holds them."""
        archives: dict[str, list[TurnToForget]] = {}
        for turn in self.turns:
            archives.setdefault(turn.archive, []).append(turn)
        return archives

    @property
    def errors(self) -> tuple[str, ...]:
        """What stopped the removal from the graph, by group."""
        return tuple(
            f"group `{group.group}`: {group.error}" for group in self.undo.groups if group.error
        )
