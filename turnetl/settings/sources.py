"""The sources of settings: the environment and a JSON config file, with unknown names rejected.

Invalid settings are one sentence that never contains the value: it may be a secret.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from turnetl.base.errors import BadUsage
from turnetl.extraction.config import NO_PROMPT_VALUES
from turnetl.settings.model import Settings

ENV_PREFIX = "TURNETL_"
_TEST_PREFIX = "TURNETL_TEST_"
SEPARATOR = "__"
_REMEDY = "correct it, or name another file with --config"
NEO4J_NAMES = {"graph_user": "NEO4J_USER", "graph_password": "NEO4J_PASSWORD"}


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the variables `TURNETL_*`. Empty ones count as not set."""
    variables = {
        tuple(name.removeprefix(ENV_PREFIX).lower().split(SEPARATOR)): value
        for name, value in sorted(environment.items())
        if value and name.startswith(ENV_PREFIX) and not name.startswith(_TEST_PREFIX)
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
    """Return the `turnetl` and `extraction` sections of a JSON file, which others use too."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadUsage(f"config file `{path}` cannot be read: {error}; {_REMEDY}") from error
    return parse_config(data, path)


def parse_config(data: bytes, path: Path) -> dict[str, Any]:
    """Return the sections of the content of a config file, as `from_config_file`."""
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


def _check_name(path: tuple[str, ...]) -> None:
    """Reject unknown settings, and names below a plain value; pydantic checks those in sections."""
    field = Settings.model_fields.get(path[0])
    is_section = field is not None and _model_of(field.annotation) is not None
    if field is None or (len(path) > 1 and not is_section):
        raise BadUsage(unknown_sentence(path))


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


_OWN_MESSAGE = "Value error, "
"""Pydantic puts this before the messages of our own validators."""
_EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "`true` or `false`",
    "bool_parsing": "`true` or `false`",
    "string_type": "a text",
    "path_type": "a path",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
}
"""What a value must be, by the type of pydantic's error."""


def error_sentence(error: ValidationError, *, is_argument: bool = False) -> str:
    """Return the first error: setting, variable unless it is an argument, what it must be."""
    first = error.errors(include_input=False, include_url=False)[0]
    path = _setting_path(first["loc"])
    if first["type"] == "extra_forbidden":
        return unknown_sentence(path)
    name = f"`{'.'.join(path)}`" if is_argument else _names(path)
    return f"setting {name}: {_expectation(first)}"


def unknown_sentence(path: Sequence[str]) -> str:
    """Return the sentence that rejects an unknown setting and lists the known ones beside it."""
    known = ", ".join(_known(path[:-1]))
    return f"unknown setting {_names(path)}; known are {known}"


def _expectation(error: ErrorDetails) -> str:
    expected = _EXPECTED.get(error["type"])
    if expected is None:
        return error["msg"].removeprefix(_OWN_MESSAGE)
    context = {name: _readable(value) for name, value in error.get("ctx", {}).items()}
    return f"must be {expected.format(**context)}"


def _readable(value: Any) -> str:
    """Return a limit or a list of choices as pydantic gives it, in the style of our messages."""
    return f"{value:,.15g}" if isinstance(value, int | float) else str(value).replace("'", "`")


def _names(path: Sequence[str]) -> str:
    return f"`{'.'.join(path)}` (environment `{ENV_PREFIX}{SEPARATOR.join(path).upper()}`)"


def _setting_path(place: Sequence[int | str]) -> list[str]:
    """Return the place without the steps that pydantic adds for the members of a union."""
    path: list[str] = []
    annotation: Any = Settings
    for step in place:
        if annotation is None:
            break
        path.append(str(step))
        annotation = _annotation_below(annotation, str(step))
    return path


def _known(section: Sequence[str]) -> list[str]:
    """Return the settings of a section, each with the sections that contain it."""
    annotation: Any = Settings
    for step in section:
        annotation = _annotation_below(annotation, step)
    model = _model_of(annotation)
    if model is None:
        section, model = (), Settings
    return [".".join((*section, name)) for name in model.model_fields]


def _annotation_below(annotation: Any, step: str) -> Any:
    """Return the type of the value of that name; None if the type has no names."""
    model = _model_of(annotation)
    if model is not None:
        field = model.model_fields.get(step)
        return field.annotation if field is not None else None
    mapping = next((member for member in _members(annotation) if _is_mapping(member)), None)
    return get_args(mapping)[1] if mapping is not None else None


def _model_of(annotation: Any) -> type[BaseModel] | None:
    types = (member for member in _members(annotation) if isinstance(member, type))
    return next((member for member in types if issubclass(member, BaseModel)), None)


def _members(annotation: Any) -> tuple[Any, ...]:
    """Return the types that an annotation allows: itself, or the members of `A | None`."""
    if _is_mapping(annotation) or isinstance(annotation, type):
        return (annotation,)
    return get_args(annotation)


def _is_mapping(annotation: Any) -> bool:
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping)
