"""The files of the user outside the lake that only the user may read."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnetl.base.errors import BadUsage
from turnetl.settings.sources import from_config_file
from turnetl.settings.working_folder import trusted_project
from turnetl.trust.project_files import CONFIG_NAME, USER_FOLDER
from turnetl.trust.store import store_path

_SECRETS = (("graph_password",), ("mcp_token",), ("llm", "api_key"), ("embedder", "api_key"))
_URLS = (("graph",), ("llm", "base_url"), ("embedder", "base_url"))


def secret_files(config: Path | None = None) -> tuple[Path, ...]:
    """Return the trust store and the config files with a password or a key, as far as they exist.

    Args:
        config: a config file beside those in the usual places.
    """
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
