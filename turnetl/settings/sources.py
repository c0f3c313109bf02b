"""Settings put together: what is handed in, over the environment, over a JSON config."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError

from turnetl.errors import BadUsage
from turnetl.extraction.config import OFF
from turnetl.settings.errors import sentence
from turnetl.settings.model import Settings

ENV = "TURNETL_"
CONFIG_NAME = "graphiti.config.json"
_FOR_TESTS = "TURNETL_TEST_"


def read(
    environment: Mapping[str, str],
    *,
    config: Path | None,
    folders: tuple[Path, ...],
    given: Mapping[str, Any],
) -> Settings:
    """Put the settings together.

    Args:
        environment: the process's environment.
        config: a JSON config named by the person; must exist.
        folders: where to look for `graphiti.config.json` otherwise, first match wins.
        given: what was said on the command line; None counts as not said.

    Raises:
        BadUsage: an unknown name or a value that makes no sense; says which and where.
    """
    path = _config_path(config, folders)
    layers = [
        _from_config(path),
        _from_environment(environment),
        {name: value for name, value in given.items() if value is not None},
    ]
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _merge(merged, layer)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        where = f"config file `{path}`: " if _is_said_first(error, layers) else ""
        raise BadUsage(where + sentence(error, ENV)) from None


def from_process(config: Path | None = None, **given: Any) -> Settings:
    """Read the settings of this process: its environment, and the two usual config places."""
    environment = os.environ  # noqa: TID251 - the one place where it is read
    folders = (Path.cwd(), Path.home() / ".graphiti")
    return read(environment, config=config, folders=folders, given=given)


def _config_path(config: Path | None, folders: tuple[Path, ...]) -> Path | None:
    if config is not None:
        if not config.is_file():
            raise BadUsage(
                f"there is no config file `{config}`; name one that exists with --config"
            )
        return config
    return next((f / CONFIG_NAME for f in folders if (f / CONFIG_NAME).is_file()), None)


def _from_config(path: Path | None) -> dict[str, Any]:
    """Take our two sections; the rest of the file belongs to other programs."""
    if path is None:
        return {}
    try:
        content = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise BadUsage(f"config file `{path}` cannot be read as JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("turnetl", {}), dict):
        raise BadUsage(f"config file `{path}`: expected an object with a `turnetl` section")
    section = dict(content.get("turnetl", {}))
    if "extraction" in content:
        section["extraction"] = content["extraction"]
    return section


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    usual = {"graph_user": "NEO4J_USER", "graph_password": "NEO4J_PASSWORD"}
    found: dict[str, Any] = {
        ours: environment[theirs] for ours, theirs in usual.items() if environment.get(theirs)
    }
    for name, value in sorted(environment.items()):
        if not name.startswith(ENV) or name.startswith(_FOR_TESTS) or value == "":
            continue
        path = name.removeprefix(ENV).lower().split("__")
        _put(found, path, value)
    return found


def _is_said_first(error: ValidationError, layers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether what is wrong stands in the first of the layers, the file, and in no other."""
    place = error.errors(include_input=False, include_url=False)[0]["loc"]
    return [_holds(layer, place) for layer in layers] == [True, *[False] * (len(layers) - 1)]


def _holds(layer: Any, place: Sequence[int | str]) -> bool:
    """Whether something stands there; what lies below a value is pydantic's, and not asked for."""
    if not place or not isinstance(layer, Mapping):
        return True
    return place[0] in layer and _holds(layer[place[0]], place[1:])


def _put(found: dict[str, Any], path: list[str], value: str) -> None:
    """Put a value under its name.

    Raises:
        BadUsage: a value stands where the section of this one belongs.
    """
    level = found
    for depth, step in enumerate(path[:-1], start=1):
        below = level.setdefault(step, {})
        if not isinstance(below, dict):
            both = (ENV + "__".join(path[:end]).upper() for end in (depth, len(path)))
            raise BadUsage("both `{}` and `{}` are set; unset one of them".format(*both))
        level = below
    level[path[-1]] = None if _may_be_none(path) and value.lower() in OFF else value


def _may_be_none(path: list[str]) -> bool:
    """Whether `none` is an answer here, not a text."""
    said = path[-1] in ("preprocessing_prompt", "ontology") or "kinds" in path[-2:-1]
    return path[0] == "extraction" and said


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            merged[name] = _merge(under, value)
        else:
            merged[name] = value
    return merged
