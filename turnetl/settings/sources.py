"""The sources of settings: the environment and a JSON config file, with unknown names rejected."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    JsonConfigSettingsSource,
)

from turnetl.errors import BadUsage
from turnetl.extraction.config import NO_PROMPT_VALUES
from turnetl.settings.errors import unknown_sentence

ENV_PREFIX = "TURNETL_"
CONFIG_NAME = "graphiti.config.json"
_TEST_PREFIX = "TURNETL_TEST_"
_SEPARATOR = "__"
_REMEDY = "correct it, or name another file with --config"


class EnvironmentSource(EnvSettingsSource):
    """The variables `TURNETL_*`. Empty ones count as not set.

    Raises:
        BadUsage: a name is unknown, or a section and a name in it are both set.
    """

    def __init__(self, settings_cls: type[BaseSettings], environment: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        self.env_vars: Mapping[str, str] = {
            name.lower(): value
            for name, value in sorted(environment.items())
            if _is_set(name, value)
        }
        paths = [name.removeprefix(self.env_prefix).split(_SEPARATOR) for name in self.env_vars]
        for path in paths:
            self._check_name(path)
            _check_overlap(path, paths)

    def __call__(self) -> dict[str, Any]:
        values = super().__call__()
        if isinstance(extraction := values.get("extraction"), dict):
            values["extraction"] = _with_nulls(extraction)
        return values

    def _check_name(self, path: list[str]) -> None:
        """Reject what `EnvSettingsSource` ignores: unknown names, and names below a plain value."""
        field = self.settings_cls.model_fields.get(path[0])
        if field is None or (len(path) > 1 and not self.field_is_complex(field)):
            raise BadUsage(unknown_sentence(path))


class Neo4jEnvironmentSource(InitSettingsSource):
    """`NEO4J_USER` and `NEO4J_PASSWORD`, which other Graphiti programs read."""

    def __init__(self, settings_cls: type[BaseSettings], environment: Mapping[str, str]) -> None:
        names = {"graph_user": "NEO4J_USER", "graph_password": "NEO4J_PASSWORD"}
        values = {
            setting: environment[name] for setting, name in names.items() if environment.get(name)
        }
        super().__init__(settings_cls, values)


class ConfigFileSource(JsonConfigSettingsSource):
    """The `turnetl` and `extraction` sections of a JSON file; other programs own the rest.

    Raises:
        BadUsage: the file is not JSON, or has no object where a section belongs.
    """

    def __init__(self, settings_cls: type[BaseSettings], path: Path | None) -> None:
        # Without a path, the parent class would look for one in the model's config.
        super().__init__(settings_cls, json_file=path or [])

    def _read_file(self, path: Any) -> dict[str, Any]:
        try:
            content = msgspec.json.decode(path.read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise BadUsage(
                f"config file `{path}` cannot be read as JSON: {error}; {_REMEDY}"
            ) from error
        if not isinstance(content, dict) or not isinstance(content.get("turnetl", {}), dict):
            raise BadUsage(
                f"config file `{path}` holds no object with a `turnetl` section; {_REMEDY}"
            )
        section = dict(content.get("turnetl", {}))
        if "extraction" in content:
            section["extraction"] = content["extraction"]
        return section


def _is_set(name: str, value: str) -> bool:
    return name.startswith(ENV_PREFIX) and not name.startswith(_TEST_PREFIX) and value != ""


def _check_overlap(path: list[str], paths: list[list[str]]) -> None:
    for depth in range(1, len(path)):
        if path[:depth] in paths:
            above, below = (
                ENV_PREFIX + _SEPARATOR.join(steps).upper() for steps in (path[:depth], path)
            )
            raise BadUsage(f"both `{above}` and `{below}` are set; unset one of them")


def _with_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `extraction` section with `none` as None where the config file would say null."""
    return {name: _null_or(name, value) for name, value in values.items()}


def _null_or(name: str, value: Any) -> Any:
    if name == "kinds" and isinstance(value, Mapping):
        return {kind: _null_or("preprocessing_prompt", prompt) for kind, prompt in value.items()}
    if isinstance(value, Mapping):
        return _with_nulls(value)
    is_off = isinstance(value, str) and value.lower() in NO_PROMPT_VALUES
    return None if is_off and name in ("preprocessing_prompt", "ontology") else value
