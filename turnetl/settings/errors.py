"""What is wrong with the settings, in a sentence that never tells the value: it may be a secret."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from turnetl.settings.model import Settings

_OURS = "Value error, "
"""Put by pydantic before what our own checks say."""


def sentence(error: ValidationError, prefix: str) -> str:
    """Return what is wrong first: which setting, what its variable is called, what it should be.

    Args:
        error: of the whole settings.
        prefix: of the environment's names.
    """
    first = error.errors(include_input=False, include_url=False)[0]
    steps = _named(first["loc"])
    name = ".".join(steps)
    variable = prefix + "__".join(steps).upper()
    if first["type"] == "extra_forbidden":
        known = ", ".join(_known(steps[:-1]))
        return f"unknown setting `{name}` (environment `{variable}`); known are {known}"
    return f"setting `{name}` (environment `{variable}`): {first['msg'].removeprefix(_OURS)}"


def _named(place: Sequence[int | str]) -> list[str]:
    """Return the place without what pydantic adds: which of several types it tried."""
    steps: list[str] = []
    inside: Any = Settings
    for step in place:
        if inside is None:
            break
        steps.append(str(step))
        inside = _below(inside, str(step))
    return steps


def _known(section: Sequence[str]) -> list[str]:
    """Return the names of the settings in a section, each with the sections that it lies in."""
    inside: Any = Settings
    for step in section:
        inside = _below(inside, step)
    model = _section(inside) or Settings
    return [".".join((*section, name)) for name in model.model_fields]


def _below(inside: Any, step: str) -> Any:
    """Return the type of what lies under that name; None if nothing can."""
    model = _section(inside)
    if model is not None:
        field = model.model_fields.get(step)
        return field.annotation if field is not None else None
    mapping = next((one for one in _unions(inside) if _is_mapping(one)), None)
    return get_args(mapping)[1] if mapping is not None else None


def _section(inside: Any) -> type[BaseModel] | None:
    models = (one for one in _unions(inside) if isinstance(one, type))
    return next((one for one in models if issubclass(one, BaseModel)), None)


def _unions(annotation: Any) -> tuple[Any, ...]:
    """Return the types that an annotation allows: itself, or those of `A | None`."""
    if _is_mapping(annotation) or isinstance(annotation, type):
        return (annotation,)
    return get_args(annotation)


def _is_mapping(annotation: Any) -> bool:
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping)
