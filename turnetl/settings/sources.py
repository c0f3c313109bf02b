"""The sources of settings: the environment and a JSON config file, with unknown names rejected."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel

from turnetl.base.errors import BadUsage
from turnetl.extraction.config import NO_PROMPT_VALUES
from turnetl.settings.errors import unknown_sentence
from turnetl.settings.model import Settings

ENV_PREFIX = "TURNETL_"
_TEST_PREFIX = "TURNETL_TEST_"
SEPARATOR = "__"
_REMEDY = "correct it, or name another file with --config"
NEO4J_NAMES = {"graph_user": "NEO4J_USER", "graph_password": "NEO4J_PASSWORD"}


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the variables `TURNETL_*`. Empty ones count as not set.

    Raises:
        BadUsage: a name is unknown, or a section and a name in it are both set.
    """
    variables = {
        tuple(name.removeprefix(ENV_PREFIX).lower().split(SEPARATOR)): value
        for name, value in sorted(environment.items())
        if _is_set(name, value)
    }
    for path in variables:
        _check_name(path)
        _check_overlap(path, variables)
    values: dict[str, Any] = {}
    for path, value in variables.items():
        section = values
        for step in path[:-1]:
            section = section.setdefault(step, {})
        section[path[-1]] = value
    if isinstance(extraction := values.get("extraction"), dict):
        values["extraction"] = _with_nulls(extraction)
    return values


def from_neo4j_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return `NEO4J_USER` and `NEO4J_PASSWORD`, which other Graphiti programs read."""
    return {
        setting: environment[name] for setting, name in NEO4J_NAMES.items() if environment.get(name)
    }


def from_config_file(path: Path) -> dict[str, Any]:
    """Return the `turnetl` and `extraction` sections of a JSON file; other programs own the rest.

    Raises:
        BadUsage: the file is not JSON, or has no object where a section belongs.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadUsage(f"config file `{path}` cannot be read: {error}; {_REMEDY}") from error
    return parse_config(data, path)


def parse_config(data: bytes, path: Path) -> dict[str, Any]:
    """Return the sections of the content of a config file, as `from_config_file`.

    Raises:
        BadUsage: as `from_config_file`.
    """
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadUsage(
            f"config file `{path}` cannot be read as JSON: {error}; {_REMEDY}"
        ) from error
    if not isinstance(content, dict) or not isinstance(content.get("turnetl", {}), dict):
        raise BadUsage(f"config file `{path}` holds no object with a `turnetl` section; {_REMEDY}")
    section = dict(content.get("turnetl", {}))
    if "extraction" in content:
        section["extraction"] = content["extraction"]
    return section


def merged(values: Mapping[str, Any], winning: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with others that win over them, sections merged name by name."""
    result = {**values, **winning}
    for name in values.keys() & winning.keys():
        below, above = values[name], winning[name]
        if isinstance(below, Mapping) and isinstance(above, Mapping):
            result[name] = merged(below, above)
    return result


def _is_set(name: str, value: str) -> bool:
    return name.startswith(ENV_PREFIX) and not name.startswith(_TEST_PREFIX) and value != ""


def _check_name(path: tuple[str, ...]) -> None:
    """Reject unknown settings, and names below a plain value; pydantic checks those in sections."""
    field = Settings.model_fields.get(path[0])
    is_section = field is not None and _is_model(field.annotation)
    if field is None or (len(path) > 1 and not is_section):
        raise BadUsage(unknown_sentence(path))


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _check_overlap(path: tuple[str, ...], paths: Collection[tuple[str, ...]]) -> None:
    for depth in range(1, len(path)):
        if path[:depth] in paths:
            above, below = (
                ENV_PREFIX + SEPARATOR.join(steps).upper() for steps in (path[:depth], path)
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
