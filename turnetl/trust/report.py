"""What the user trusts, as `turnetl trust` shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from turnetl.base.setting_values import SettingValue
from turnetl.trust.folder_trust import FolderTrust, TrustState
from turnetl.trust.project_files import ProjectFile


@dataclass(frozen=True, slots=True)
class TrustEntry:
    """A folder."""

    trust: FolderTrust
    trusted_at: str | None = None
    """ISO 8601, in UTC; None if it is not trusted."""
    settings: tuple[SettingValue, ...] = ()
    """What its config file sets; only of a folder that was just trusted."""

    @property
    def folder(self) -> Path:
        return self.trust.folder

    @property
    def state(self) -> TrustState:
        return self.trust.state

    @property
    def files(self) -> Sequence[ProjectFile]:
        return self.trust.files.files


@dataclass(frozen=True, slots=True)
class TrustReport:
    """The folders that a command is about."""

    store: Path
    folders: tuple[TrustEntry, ...]
    """Sorted by path."""
