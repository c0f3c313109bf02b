"""Settings from their sources, in the order of precedence."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from turnetl.base.errors import BadUsage
from turnetl.base.setting_values import SettingSource
from turnetl.settings import credentials
from turnetl.settings.credentials import Layer, has_setting, merge_layers, working_folder
from turnetl.settings.model import Settings
from turnetl.settings.sections import default_lake
from turnetl.settings.sources import (
    error_sentence,
    from_config_file,
    from_environment,
    from_neo4j_environment,
    parse_config,
)
from turnetl.trust.folder_trust import FolderTrust
from turnetl.trust.project_files import CONFIG_NAME, USER_FOLDER

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    settings: Settings
    layers: tuple[Layer, ...]
    """The one that wins first; without the defaults."""
    folder: FolderTrust | None = None
    """The working directory."""


def load_settings(config: str | PathLike[str] | None = None, **arguments: Any) -> Settings:
    """Load the settings of this process: its environment, and the config file in its usual places.

    A config file of the working directory that is not trusted is ignored, with a warning in the
    log.

    Args:
        config: a JSON config file that must exist; None: `./graphiti.config.json` if the working
            directory is trusted, else `~/.graphiti/graphiti.config.json`, else no file.
        arguments: settings that win over all others; None counts as not given.

    Raises:
        BadUsage: a source has an unknown name or an invalid value, or a credential would be sent to
            an endpoint that its owner may not have chosen. The message never holds a value.
    """
    return load_with_sources(config, **arguments).settings


def load_with_sources(
    config: str | PathLike[str] | None = None, **arguments: Any
) -> LoadedSettings:
    """Load the settings as `load_settings`, and say what each source gave."""
    environment = os.environ  # noqa: TID251 - the only place that reads it
    home = Path.home()
    folder = working_folder(environment, Path.cwd(), home)
    if folder.warning is not None:
        _log.warning("%s", folder.warning)
    return read_settings(
        environment,
        config=None if config is None else Path(config),
        home=home,
        folder=folder,
        arguments=arguments,
    )


def read_settings(
    environment: Mapping[str, str],
    *,
    config: Path | None,
    home: Path,
    folder: FolderTrust | None = None,
    arguments: Mapping[str, Any],
) -> LoadedSettings:
    """Read the settings from all sources, of which the arguments win; None counts as not given.

    Args:
        environment: the process's environment, which also decides the default lake.
        config: a JSON config file that must exist.
        home: the user's home folder.
        folder: the working directory. Without `config`, its config file counts if it is trusted,
            else that of the user.
        arguments: settings by name.

    Raises:
        BadUsage: a source has an unknown name or an invalid value, or a credential would be sent to
            an endpoint that its owner may not have chosen. The message never holds a value.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    file = _config_layer(config, home, folder)
    _log.debug("settings", extra={"config": (file and file.path) or "none"})
    layers = (
        Layer(SettingSource.OPTION, given),
        Layer(SettingSource.ENVIRONMENT, from_environment(environment)),
        Layer(SettingSource.ENVIRONMENT, from_neo4j_environment(environment), is_fallback=True),
        *([file] if file else []),
    )
    defaults = Layer(SettingSource.DEFAULT, {"lake": default_lake(environment, home)})
    try:
        settings = Settings.model_validate(merge_layers((*layers, defaults)))
    except ValidationError as error:
        raise _invalid(error, layers) from None
    if file is not None:
        credentials.check_unencrypted_source(file, home, folder)
    if folder is not None:
        credentials.check_credentials(settings, layers, folder)
        if file is not None and file.source == SettingSource.FOLDER:
            settings = settings.with_named(folder.files.named)
    return LoadedSettings(settings, layers, folder)


def _config_layer(config: Path | None, home: Path, folder: FolderTrust | None) -> Layer | None:
    if config is not None:
        if not config.is_file():
            raise BadUsage(f"config file `{config}` does not exist; name another one with --config")
        return Layer(SettingSource.USER, from_config_file(config), config)
    if folder is not None and folder.is_trusted and folder.files.config is not None:
        path = folder.folder / CONFIG_NAME
        return Layer(SettingSource.FOLDER, parse_config(folder.files.config, path), path)
    path = home / USER_FOLDER / CONFIG_NAME
    return Layer(SettingSource.USER, from_config_file(path), path) if path.is_file() else None


def _invalid(error: ValidationError, layers: tuple[Layer, ...]) -> BadUsage:
    place = error.errors(include_input=False, include_url=False)[0]["loc"]
    *above, last = layers
    above = above if last.path else [*layers]
    is_in_file = (
        last.path is not None and not has_setting(merge_layers(above), place) and last.has(place)
    )
    where = f"config file `{last.path}`: " if is_in_file else ""
    return BadUsage(where + error_sentence(error, is_argument=layers[0].has(place)))
