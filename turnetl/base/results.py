"""Results: what a command returns, declared once.

A result is a frozen dataclass. Each field, and each property, whose type has a description is a key
of the object that `--json` prints; the others are for views only. A field inherited or overridden
keeps its place.

    @dataclass(frozen=True, slots=True)
    class UndoReport:
        groups: Annotated[tuple[GroupUndo, ...], described("The groups, sorted by name.")]
        cascade: bool

        @property
        def turns(self) -> Annotated[int, described("Turns to undo.")]:
            return sum(len(group.turns) for group in self.groups)
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from functools import cache
from pathlib import PurePath
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Meta

from turnetl.base.clock import encoded_time
from turnetl.base.control_characters import displayed_json

_NAME = "name"


def described(
    description: str, *, keys: type[StrEnum] | None = None, name: str | None = None
) -> Meta:
    """Return the description of a value of a result.

    Args:
        description: what the value is, as a sentence.
        keys: the only keys of a mapping.
        name: the key of the object, if it is not the name of the field.
    """
    extra = {} if name is None else {_NAME: name}
    if keys is None:
        return Meta(description=description, extra=extra)
    names = {"title": keys.__name__, "enum": [key.value for key in keys]}
    return Meta(description=description, extra=extra, extra_json_schema={"propertyNames": names})


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the object of a result."""

    name: str
    attribute: str
    """The field or property that has the value."""
    type: Any
    """With its description."""


class JsonOutput(msgspec.Struct, forbid_unknown_fields=True):
    """An object of `--json` that is no result; its JSON Schema allows no other key."""


class ErrorOutput(JsonOutput):
    """The object of a command that ends without a result."""

    error: Annotated[str, described("What happened and what to do, in one sentence.")]
    exit_code: Annotated[int, described("The exit code of the process.")]


@cache
def keys_of(kind: type) -> tuple[Key, ...]:
    """Return the keys of a result: those of the fields, then those of the properties, in order."""
    bases = tuple(reversed(kind.__mro__))
    hints = {name: hint for base in bases for name, hint in inspect.get_annotations(base).items()}
    for name in (name for base in bases for name in vars(base)):
        if isinstance(value := getattr(kind, name), property):
            hints[name] = inspect.get_annotations(value.fget).get("return")  # type: ignore[arg-type]
    described_hints = ((name, hint, _description(hint)) for name, hint in hints.items())
    return tuple(
        Key((meta.extra or {}).get(_NAME, name), name, hint)
        for name, hint, meta in described_hints
        if meta
    )


def plain(value: Any) -> Any:
    """Return a value as `--json` prints it: of mappings, lists, texts, numbers and None.

    Raises:
        TypeError: a value in it is of a type that is not printed, such as a dataclass without a
            described field.
    """
    match value:
        case Enum() | datetime() | PurePath():
            return _text(value)
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {plain(key): plain(one) for key, one in value.items()}
        case Sequence():
            return [plain(one) for one in value]
        case _:
            return {key: plain(one) for key, one in _items(value)}


def encoded(result: Any) -> str:
    """Return a result as one line of JSON in which control characters are escaped."""
    return displayed_json(msgspec.json.encode(plain(result)).decode())


def _text(value: Enum | datetime | PurePath) -> Any:
    match value:
        case Enum():
            return value.value
        case datetime():
            return encoded_time(value)
        case _:
            return str(value)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys of an object with their values."""
    names: Iterable[tuple[str, str]]
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    else:
        kind: type = type(value)
        names = ((key.name, key.attribute) for key in keys_of(kind))
    items = [(key, getattr(value, name)) for key, name in names]
    if not items:
        raise TypeError(f"a {type(value).__name__} is no result: no field of it is described")
    yield from items


def _description(hint: Any) -> Meta | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((one for one in get_args(hint)[1:] if isinstance(one, Meta)), None)
