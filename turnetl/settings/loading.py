"""Settings from their sources, in the order of precedence."""

import logging
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from turnetl.errors import BadUsage
from turnetl.settings.errors import error_sentence
from turnetl.settings.locations import default_lake
from turnetl.settings.model import Settings
from turnetl.settings.sources import (
    CONFIG_NAME,
    from_config_file,
    from_environment,
    from_neo4j_environment,
    merged,
)

_log = logging.getLogger(__name__)


def load_settings(config: str | PathLike[str] | None = None, **arguments: Any) -> Settings:
    """Load the settings of this process: its environment, and the config file in its usual places.

    Args:
        config: a JSON config file that must exist; None: `./graphiti.config.json`, else
            `~/.graphiti/graphiti.config.json`, else no file.
        arguments: settings that win over all others; None counts as not given.

    Raises:
        BadUsage: see `read_settings`.
    """
    environment = os.environ  # noqa: TID251 - the only place that reads it
    folders = (Path.cwd(), Path.home() / ".graphiti")
    return read_settings(
        environment,
        config=None if config is None else Path(config),
        folders=folders,
        arguments=arguments,
    )


def read_settings(
    environment: Mapping[str, str],
    *,
    config: Path | None,
    folders: tuple[Path, ...],
    arguments: Mapping[str, Any],
) -> Settings:
    """Read the settings from all sources.

    Args:
        environment: the process's environment, which also decides the default lake.
        config: a JSON config file that must exist.
        folders: without `config`, the first of these that holds `graphiti.config.json` gives it.
        arguments: settings that win over all others; None counts as not given.

    Raises:
        BadUsage: a source has an unknown name or an invalid value. The message names the setting
            and its source, never the value, which may be a secret.
    """
    path = _config_path(config, folders)
    _log.debug("settings", extra={"config": path or "none"})
    given = {name: value for name, value in arguments.items() if value is not None}
    above = merged(
        merged(from_neo4j_environment(environment), from_environment(environment)), given
    )
    file = from_config_file(path) if path else {}
    defaults = {"lake": default_lake(environment, Path.home())}
    try:
        return Settings.model_validate(merged(merged(defaults, file), above))
    except ValidationError as error:
        place = error.errors(include_input=False, include_url=False)[0]["loc"]
        is_in_file = not _has(above, place) and _has(file, place)
        where = f"config file `{path}`: " if is_in_file else ""
        sentence = error_sentence(error, is_argument=_has(given, place))
        raise BadUsage(where + sentence) from None


def _config_path(config: Path | None, folders: tuple[Path, ...]) -> Path | None:
    if config is None:
        return next((f / CONFIG_NAME for f in folders if (f / CONFIG_NAME).is_file()), None)
    if not config.is_file():
        raise BadUsage(f"config file `{config}` does not exist; name another one with --config")
    return config


def _has(values: Any, place: Sequence[int | str]) -> bool:
    """Whether a source sets this place. Steps below a value are pydantic's own and ignored."""
    if not place or not isinstance(values, Mapping):
        return True
    return place[0] in values and _has(values[place[0]], place[1:])
