"""The values of each source, where credentials may be sent, and the files with secrets."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.object_url import is_loopback
from turnetl.base.setting_values import SettingSource
from turnetl.settings.model import Settings
from turnetl.settings.sources import ENV_PREFIX, NEO4J_NAMES, SEPARATOR, from_config_file, merged
from turnetl.trust.folder_trust import FolderTrust
from turnetl.trust.project_files import (
    CONFIG_NAME,
    USER_FOLDER,
    read_project,
    turnetl_section,
)
from turnetl.trust.store import TrustStore, store_path


@dataclass(frozen=True, slots=True)
class Layer:
    source: SettingSource
    values: Mapping[str, Any]
    """Nested by section."""
    path: Path | None = None
    """Of a config file."""
    is_fallback: bool = False
    """The variables are those of other programs."""

    def origin(self, setting: Sequence[str]) -> str | None:
        if self.path is not None:
            return str(self.path)
        if self.source != SettingSource.ENVIRONMENT:
            return None
        if self.is_fallback:
            return NEO4J_NAMES[setting[0]]
        return ENV_PREFIX + SEPARATOR.join(_given(self.values, setting)).upper()

    def has(self, setting: Sequence[int | str]) -> bool:
        return has_setting(self.values, setting)


def merge_layers(layers: Sequence[Layer]) -> dict[str, Any]:
    """Return the values of all sources, of which the first ones win."""
    values: dict[str, Any] = {}
    for layer in reversed(layers):
        values = merged(values, layer.values)
    return values


def has_setting(values: Any, place: Sequence[int | str]) -> bool:
    """Whether a source sets this place. Steps below a value are pydantic's own and ignored."""
    if not place or not isinstance(values, Mapping):
        return True
    return place[0] in values and has_setting(values[place[0]], place[1:])


def _given(values: Any, setting: Sequence[str]) -> list[str]:
    """Return the steps to the value that the source gives, which may be that of a section."""
    steps = []
    for step in setting:
        if not isinstance(values, Mapping):
            break
        steps.append(step)
        values = values[step]
    return steps


UNENCRYPTED = "allow_unencrypted"
_ENVIRONMENT_NAME = "TURNETL_ALLOW_UNENCRYPTED"
_UNENCRYPTED_GRAPHS = ("bolt", "neo4j")


def check_key_encrypted(settings: Settings, section: str) -> None:
    """Check that the key of `llm` or `embedder` is not sent to another machine over plain HTTP."""
    url, key = (getattr(getattr(settings, section), name) for name in ("base_url", "api_key"))
    if url is None or settings.allow_unencrypted:
        return
    parts = urlsplit(url)
    has_credential = key is not None or "@" in parts.netloc
    if parts.scheme == "http" and has_credential and not is_loopback(parts.hostname or ""):
        raise BadUsage(
            f"`{section}.base_url` is plain HTTP to another machine, and a key would be sent "
            f"there unencrypted: use https://, remove the key, or set {_ENVIRONMENT_NAME}=true"
        )


def check_password_encrypted(settings: Settings) -> None:
    """Check that the password of the graph is not sent to another machine without TLS."""
    parts = urlsplit(settings.graph_url)
    if parts.scheme not in _UNENCRYPTED_GRAPHS or settings.allow_unencrypted:
        return
    has_password = settings.graph_password is not None or bool(parts.password)
    if has_password and not is_loopback(parts.hostname or ""):
        raise BadUsage(
            f"`graph` is on another machine, and its password would be sent there unencrypted: use "
            f"{parts.scheme}+s://, remove the password, or set {_ENVIRONMENT_NAME}=true"
        )


def check_unencrypted_source(file: Layer, home: Path, folder: FolderTrust | None) -> None:
    """Check that no config file of the working directory allows unencrypted credentials."""
    if UNENCRYPTED not in file.values:
        return
    if file.source == SettingSource.FOLDER or _is_below(file.path, home, folder):
        raise BadUsage(
            f"config file `{file.path}`: `{UNENCRYPTED}` is not read from the working directory; "
            f"remove it, and set {_ENVIRONMENT_NAME} or write it into "
            f"`~/{USER_FOLDER}/{CONFIG_NAME}`"
        )


def check_credentials(settings: Settings, layers: tuple[Layer, ...], folder: FolderTrust) -> None:
    """Check that no key is sent to another endpoint than the one that goes with it.

    The key may belong to the endpoint that an untrusted folder names, which is ignored.
    """
    if folder.is_trusted or folder.files.config is None:
        return
    untrusted = turnetl_section(folder.files.config)
    sends = {
        "llm": settings.llm.provider != "none",
        "embedder": settings.embedder.provider == "openai-compatible",
    }
    for section in (name for name, is_sending in sends.items() if is_sending):
        key, endpoint = (section, "api_key"), (section, "base_url")
        values = untrusted.get(section)
        names_endpoint = isinstance(values, dict) and values.get("base_url") is not None
        keys = [layer for layer in layers if layer.has(key)]
        if names_endpoint and keys and not any(layer.has(endpoint) for layer in layers):
            origin = keys[0].origin(key) or "an option"
            raise BadUsage(
                f"`{section}.api_key` (from `{origin}`) is sent nowhere: the config file "
                f"`{folder.folder / CONFIG_NAME}` names the endpoint for it and is not trusted; "
                f"read the file and run `turnetl trust`, or set `{section}.base_url` yourself"
            )


def _is_below(path: Path | None, home: Path, folder: FolderTrust | None) -> bool:
    """Whether a config file is in the working directory and not among the user's own."""
    if path is None or folder is None:
        return False
    resolved, home = path.resolve(), home.resolve()
    is_own = resolved.is_relative_to(home / USER_FOLDER) or home.is_relative_to(folder.folder)
    return resolved.is_relative_to(folder.folder) and not is_own


_SECRETS = (("graph_password",), ("mcp_token",), ("llm", "api_key"), ("embedder", "api_key"))
_URLS = (("graph",), ("llm", "base_url"), ("embedder", "base_url"))


def secret_files(config: Path | None = None) -> tuple[Path, ...]:
    """Return the trust store and the config files with a password or a key that exist."""
    home = Path.home()
    store = store_path(os.environ, home)  # noqa: TID251 - where the store is
    configs = [home / USER_FOLDER / CONFIG_NAME]
    if (project := project_trust().used) is not None:
        configs.append(project.folder / CONFIG_NAME)
    if config is not None:
        configs.append(config.absolute())
    found = [store, *(path for path in configs if _has_secret(path))]
    return tuple(dict.fromkeys(path for path in found if path.is_file()))


def _has_secret(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    try:
        values = from_config_file(path)
    except BadUsage:
        return False
    is_given = any(_at(values, setting) for setting in _SECRETS)
    return is_given or any(_has_password(_at(values, setting)) for setting in _URLS)


def _at(values: Any, setting: tuple[str, ...]) -> Any:
    for step in setting:
        values = values.get(step) if isinstance(values, Mapping) else None
    return values


def _has_password(url: Any) -> bool:
    try:
        return isinstance(url, str) and bool(urlsplit(url).password)
    except ValueError:
        return True


def working_folder(environment: Mapping[str, str], folder: Path, home: Path) -> FolderTrust:
    files = read_project(folder, home)
    # Without files there is nothing to trust: the store is not read.
    if not files.files:
        return FolderTrust(files)
    try:
        trusted = TrustStore(store_path(environment, home)).folders().get(files.folder)
    except Fatal as error:
        return FolderTrust(files, store_problem=str(error))
    return FolderTrust(files, trusted.files if trusted is not None else None)


def project_trust() -> FolderTrust:
    """Return the configuration in the working directory of this process."""
    return working_folder(os.environ, Path.cwd(), Path.home())  # noqa: TID251 - where the store is


def trust_store() -> TrustStore:
    return TrustStore(store_path(os.environ, Path.home()))  # noqa: TID251 - where the store is
