"""`turnetl trust --json`."""

from typing import Annotated

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output.config import SettingOutput, setting_output
from turnetl.trust.folder_trust import TrustState
from turnetl.trust.report import TrustEntry, TrustReport


class TrustedFileOutput(JsonOutput):
    """A file of the configuration of a folder."""

    name: Annotated[str, described("Its path from the folder, with slashes.")]
    digest: Annotated[str, described("SHA-256 of its content; empty if it cannot be used.")]
    problem: Annotated[str | None, described("Why it cannot be used; null if it can.")]


class TrustedFolderOutput(JsonOutput):
    """A folder with a configuration."""

    folder: Annotated[str, described("Its absolute path, without links.")]
    state: Annotated[
        TrustState,
        described("Its configuration is used only if this is `trusted`."),
    ]
    trusted_at: Annotated[Timestamp | None, described("When it was trusted; null if it is not.")]
    changes: Annotated[list[str], described("What changed since then, a phrase for each kind.")]
    files: Annotated[list[TrustedFileOutput], described("Its files, sorted by name.")]
    settings: Annotated[
        list[SettingOutput],
        described("What its config file sets, if the command trusted it; else empty."),
    ]


class TrustOutput(JsonOutput):
    """The folder that was trusted or revoked, or all that are trusted."""

    store: Annotated[str, described("Path of the trust store.")]
    folders: Annotated[list[TrustedFolderOutput], described("The folders, sorted by path.")]


def trust_output(report: TrustReport) -> TrustOutput:
    return TrustOutput(str(report.store), [_folder(entry) for entry in report.folders])


def _folder(entry: TrustEntry) -> TrustedFolderOutput:
    return TrustedFolderOutput(
        folder=str(entry.folder),
        state=entry.state,
        trusted_at=entry.trusted_at,
        changes=list(entry.trust.changes) if entry.state == TrustState.CHANGED else [],
        files=[TrustedFileOutput(file.name, file.digest, file.problem) for file in entry.files],
        settings=[setting_output(value) for value in entry.settings],
    )
