"""The user's files outside the lake: with secrets, of the working directory, of trust."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnetl.base.errors import BadUsage, Fatal
from turnetl.settings.sources import from_config_file
from turnetl.trust.folder_trust import FolderTrust
from turnetl.trust.project_files import CONFIG_NAME, USER_FOLDER, ProjectFiles, read_project
from turnetl.trust.store import TrustStore, store_path

_SECRETS = (("graph_password",), ("mcp_token",), ("llm", "api_key"), ("embedder", "api_key"))
_URLS = (("graph",), ("llm", "base_url"), ("embedder", "base_url"))


def secret_files(config: Path | None = None) -> tuple[Path, ...]:
    """Return the trust store and the config files with a password or a key that exist."""
    home = Path.home()
    store = store_path(os.environ, home)  # noqa: TID251 - where the store is
    configs = [home / USER_FOLDER / CONFIG_NAME]
    if (project := trusted_project()) is not None:
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


def trusted_project() -> ProjectFiles | None:
    """Return the configuration in the working directory of this process if it is trusted."""
    folder = working_folder(os.environ, Path.cwd(), Path.home())  # noqa: TID251 - where the store is
    return folder.files if folder.is_trusted else None


def trust_store() -> TrustStore:
    return TrustStore(store_path(os.environ, Path.home()))  # noqa: TID251 - where the store is
