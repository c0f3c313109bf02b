"""Invalid settings as one sentence that never contains the value: it may be a secret."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from turnetl.settings.model import Settings

_PREFIX = "TURNETL_"
_OWN_MESSAGE = "Value error, "
"""Pydantic puts this before the messages of our own validators."""


def error_sentence(error: ValidationError) -> str:
    """Return the first error: the setting, its environment variable, and what it must be."""
    first = error.errors(include_input=False, include_url=False)[0]
    path = _setting_path(first["loc"])
    if first["type"] == "extra_forbidden":
        return unknown_sentence(path)
    return f"setting {_names(path)}: {first['msg'].removeprefix(_OWN_MESSAGE)}"


def unknown_sentence(path: Sequence[str]) -> str:
    """Return the sentence that rejects an unknown setting and lists the known ones beside it."""
    known = ", ".join(_known(path[:-1]))
    return f"unknown setting {_names(path)}; known are {known}"


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
