"""Trust the configuration in a folder, revoke that, and list what is trusted."""

from datetime import datetime
from pathlib import Path

from turnetl.base.clock import encoded_time
from turnetl.base.control_characters import displayed_name
from turnetl.base.errors import BadUsage
from turnetl.base.setting_values import SettingSource, SettingValue
from turnetl.settings.explanation import explain
from turnetl.settings.loading import read_settings
from turnetl.trust.folder_trust import FolderTrust
from turnetl.trust.project_files import ProjectFiles, read_project
from turnetl.trust.report import TrustEntry, TrustReport
from turnetl.trust.store import TrustedFolder, TrustStore


def trust_folder(store: TrustStore, folder: Path, *, home: Path, now: datetime) -> TrustReport:
    """Trust the configuration in a folder as it is now.

    Args:
        store: the trust store.
        folder: the folder.
        home: the user's home folder.
        now: the current time.

    Raises:
        BadUsage: there is nothing to trust, a file cannot be used, or the config file is invalid.
        Fatal: the store cannot be used.
    """
    files = read_project(folder, home)
    _check(folder, files)
    trust = FolderTrust(files, files.digests)
    settings = _settings_of(trust, home)
    at = encoded_time(now)
    store.trust(files.folder, TrustedFolder(at, dict(files.digests)))
    return TrustReport(store.path, (TrustEntry(trust, at, settings),))


def revoke_trust(store: TrustStore, folder: Path, *, home: Path) -> TrustReport:
    """Trust a folder, which may no longer exist, no longer.

    Raises:
        BadUsage: it is not trusted.
        Fatal: as `trust_folder`.
    """
    files = read_project(folder, home)
    if not store.revoke(files.folder):
        raise BadUsage(f"`{folder}` is not trusted; `turnetl trust --list` lists what is")
    return TrustReport(store.path, (TrustEntry(FolderTrust(files)),))


def list_trust(store: TrustStore, *, home: Path) -> TrustReport:
    """Return all folders that were trusted, with what changed since.

    Raises:
        Fatal: as `trust_folder`.
    """
    entries = (
        TrustEntry(FolderTrust(read_project(folder, home), record.files), record.trusted_at)
        for folder, record in store.folders().items()
    )
    return TrustReport(store.path, tuple(entries))


def _check(folder: Path, files: ProjectFiles) -> None:
    if not folder.is_dir():
        raise BadUsage(f"there is no folder `{folder}`")
    if not files.files:
        raise BadUsage(f"`{folder}` has no configuration of turnetl: there is nothing to trust")
    if files.unusable:
        problems = (f"`{displayed_name(file.name)}` {file.problem}" for file in files.unusable)
        raise BadUsage(f"`{folder}` is not trusted: {'; '.join(problems)}; replace or remove it")


def _settings_of(trust: FolderTrust, home: Path) -> tuple[SettingValue, ...]:
    """Return what the config file of a folder sets, after a check that it is valid."""
    loaded = read_settings({}, config=None, home=home, folder=trust, arguments={})
    values = explain(loaded).values
    return tuple(value for value in values if value.source == SettingSource.FOLDER)
