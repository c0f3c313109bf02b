"""Whether the configuration in a folder is trusted, why it is not, and what is trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from turnetl.base.control_characters import displayed_name
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import described
from turnetl.base.setting_values import SettingValue
from turnetl.base.text import listed
from turnetl.trust.project_files import ProjectFile, ProjectFiles

_NAMES_SHOWN = 3


class TrustState(StrEnum):
    """Whether the configuration in a folder is used."""

    NO_FILES = "no_files"
    """There is nothing to trust."""
    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    """It was never trusted, or no longer is."""
    CHANGED = "changed"
    """It is not what was trusted."""


@dataclass(frozen=True, slots=True)
class FolderTrust:
    """The configuration in a folder, and what of it was trusted."""

    files: ProjectFiles
    trusted: Mapping[str, str] | None = None
    """Digest by name of what was trusted; None if the folder never was."""
    store_problem: str | None = None
    """Why nothing is trusted: the trust store cannot be used."""

    @property
    def state(self) -> TrustState:
        if self.trusted is None:
            return TrustState.UNTRUSTED if self.files.files else TrustState.NO_FILES
        is_same = not self.files.unusable and self.trusted == self.files.digests
        return TrustState.TRUSTED if is_same else TrustState.CHANGED

    @property
    def is_trusted(self) -> bool:
        return self.state == TrustState.TRUSTED

    @property
    def folder(self) -> Path:
        return self.files.folder

    @property
    def warning(self) -> str | None:
        """The sentence for a run that ignores the configuration; None if it does not."""
        return self._ignored([file.name for file in self.files.files])

    @property
    def ignored(self) -> Mapping[str, str]:
        """The same sentence for each file that is not used, by its name."""
        ignored = {file.name: self._ignored([file.name]) for file in self.files.files}
        return {name: sentence for name, sentence in ignored.items() if sentence is not None}

    @property
    def used(self) -> ProjectFiles | None:
        """The files, if they are trusted."""
        return self.files if self.is_trusted else None

    @property
    def changes(self) -> Sequence[str]:
        """What differs from what was trusted, a phrase for each kind of change."""
        trusted, current = self.trusted or {}, self.files.digests
        problems = {file.name: file.problem for file in self.files.unusable}
        usable = [name for name in current if name not in problems]
        changed = [name for name in usable if trusted.get(name, current[name]) != current[name]]
        added = [name for name in usable if name not in trusted]
        removed = sorted(trusted.keys() - current.keys())
        kinds = (
            (changed, "changed", "changed"),
            (added, "is new", "are new"),
            (removed, "was removed", "were removed"),
        )
        return [
            *(_phrase(names, one, several) for names, one, several in kinds if names),
            *(f"`{displayed_name(name)}` {problem}" for name, problem in problems.items()),
        ]

    def _ignored(self, names: Sequence[str]) -> str | None:
        if self.is_trusted or not names:
            return None
        ignored = f"ignored {_listed(names)} of `{self.folder}`"
        if self.store_problem is not None:
            return f"{ignored}: {self.store_problem}"
        if self.state == TrustState.CHANGED:
            return (
                f"{ignored}: since `turnetl trust`, {'; '.join(self.changes)}; read what changed, "
                "then run `turnetl trust` again"
            )
        return f"{ignored}, which is not trusted: read what is in there, then run `turnetl trust`"


def _phrase(names: Sequence[str], one: str, several: str) -> str:
    return f"{_listed(names)} {one if len(names) == 1 else several}"


def _listed(names: Sequence[str]) -> str:
    return listed([f"`{displayed_name(name)}`" for name in names], _NAMES_SHOWN)


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
    @described("Its configuration is used only if this is `trusted`.")
    def state(self) -> TrustState:
        return self.trust.state

    @property
    @described("What changed since then, a phrase for each kind.")
    def changes(self) -> Sequence[str]:
        return self.trust.changes if self.state == TrustState.CHANGED else ()

    @property
    def files(self) -> Annotated[Sequence[ProjectFile], described("Its files, sorted by name.")]:
        return self.trust.files.files


@dataclass(frozen=True, slots=True)
class TrustReport:
    """The folder that was trusted or revoked, or all that are trusted."""

    store: Annotated[Path, described("Path of the trust store.")]
    folders: Annotated[tuple[TrustEntry, ...], described("The folders, sorted by path.")]
