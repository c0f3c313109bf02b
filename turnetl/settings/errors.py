"""Invalid settings as one sentence that never contains the value: it may be a secret."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from turnetl.settings.model import Settings

_PREFIX = "TURNETL_"
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
    """Return the first error: the setting, its environment variable, and what it must be.

    Args:
        error: of `Settings`.
        is_argument: the value is an argument, so that the environment cannot correct it.
    """
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
    return f"`{'.'.join(path)}` (environment `{_PREFIX}{'__'.join(path).upper()}`)"


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
