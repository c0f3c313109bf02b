"""Trust the configuration in a folder, revoke that, and list what is trusted and what is set."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from turnetl.base.clock import encoded_time
from turnetl.base.control_characters import displayed_name
from turnetl.base.errors import BadUsage
from turnetl.base.object_url import MASK, shown_text
from turnetl.base.setting_values import ConfigReport, SettingSource, SettingValue
from turnetl.settings.credentials import Layer
from turnetl.settings.loading import LoadedSettings, read_settings
from turnetl.trust.folder_trust import FolderTrust, TrustEntry, TrustReport
from turnetl.trust.project_files import ProjectFiles, read_project
from turnetl.trust.store import TrustedFolder, TrustStore


def trust_folder(store: TrustStore, folder: Path, *, home: Path, now: datetime) -> TrustReport:
    """Trust the configuration in a folder as it is now; it must be usable and valid."""
    files = read_project(folder, home)
    _check(folder, files)
    trust = FolderTrust(files, files.digests)
    settings = _settings_of(trust, home)
    at = encoded_time(now)
    store.trust(files.folder, TrustedFolder(at, dict(files.digests)))
    return TrustReport(store.path, (TrustEntry(trust, at, settings),))


def revoke_trust(store: TrustStore, folder: Path, *, home: Path) -> TrustReport:
    """Trust a folder, which may no longer exist, no longer."""
    files = read_project(folder, home)
    if not store.revoke(files.folder):
        raise BadUsage(f"`{folder}` is not trusted; `turnetl trust --list` lists what is")
    return TrustReport(store.path, (TrustEntry(FolderTrust(files)),))


def list_trust(store: TrustStore, *, home: Path) -> TrustReport:
    """Return all folders that were trusted, with what changed since."""
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


_GROUPS = ("extraction", "groups")


def explain(loaded: LoadedSettings) -> ConfigReport:
    settings, folder = loaded.settings, loaded.folder
    leaves = dict(_leaves(settings)) | {("lake",): settings.lake_name}
    values = tuple(_explained(path, value, loaded.layers) for path, value in leaves.items())
    return ConfigReport(values, folder.warning if folder is not None else None)


def _explained(path: Sequence[str], value: Any, layers: Sequence[Layer]) -> SettingValue:
    name = ".".join(path)
    layer = next((layer for layer in layers if layer.has(path)), None)
    if layer is None:
        return SettingValue(name, _shown(value), SettingSource.DEFAULT)
    return SettingValue(name, _shown(value), layer.source, layer.origin(path))


def _leaves(
    value: BaseModel | Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every setting; the entries of a mapping one by one, and of those only what is set."""
    members = dict(value)
    if isinstance(value, BaseModel) and path[:-1] == _GROUPS:
        members = {name: members[name] for name in sorted(value.model_fields_set)}
    for name, member in members.items():
        if isinstance(member, BaseModel) or (isinstance(member, Mapping) and member):
            yield from _leaves(member, (*path, name))
        else:
            yield (*path, name), member


def _shown(value: Any) -> Any:
    match value:
        case SecretStr():
            return MASK
        case Path():
            return str(value)
        case tuple():
            return list(value)
        case Mapping():
            return dict(value)
        case str():
            return shown_text(value)
        case _:
            return value
