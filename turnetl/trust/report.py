"""What the user trusts, as `turnetl trust` shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import described
from turnetl.base.setting_values import SettingValue
from turnetl.trust.folder_trust import FolderTrust, TrustState
from turnetl.trust.project_files import ProjectFile


@dataclass(frozen=True, slots=True)
class TrustEntry:
    """A folder with a configuration."""

    trust: FolderTrust
    trusted_at: Annotated[
        Timestamp | None, described("When it was trusted; null if it is not.")
    ] = None
    settings: Annotated[
        tuple[SettingValue, ...],
        described("What its config file sets, if the command trusted it; else empty."),
    ] = ()

    @property
    def folder(self) -> Annotated[Path, described("Its absolute path, without links.")]:
        return self.trust.folder

    @property
    def state(
        self,
    ) -> Annotated[TrustState, described("Its configuration is used only if this is `trusted`.")]:
        return self.trust.state

    @property
    def changes(
        self,
    ) -> Annotated[Sequence[str], described("What changed since then, a phrase for each kind.")]:
        return self.trust.changes if self.state == TrustState.CHANGED else ()

    @property
    def files(self) -> Annotated[Sequence[ProjectFile], described("Its files, sorted by name.")]:
        return self.trust.files.files


@dataclass(frozen=True, slots=True)
class TrustReport:
    """The folder that was trusted or revoked, or all that are trusted."""

    store: Annotated[Path, described("Path of the trust store.")]
    folders: Annotated[tuple[TrustEntry, ...], described("The folders, sorted by path.")]
