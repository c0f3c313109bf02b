"""Results: what a command returns, declared once.

A result is a frozen dataclass. Each field, and each property, whose type has a description is a key
of the object that `--json` prints; the others are for views only. A field inherited or overridden
keeps its place.

    @dataclass(frozen=True, slots=True)
    class UndoReport:
        groups: Annotated[tuple[GroupUndo, ...], described("The groups, sorted by name.")]
        cascade: bool

        @property
        @described("Turns to undo.")
        def turns(self) -> int:
            return sum(len(group.turns) for group in self.groups)
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from enum import Enum, StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin

from turnetl.base.clock import encoded_time
from turnetl.base.control_characters import displayed_json
from turnetl.base.object_url import path_text

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Description:
    """What a value of a result is, and how it is printed."""

    text: str
    """A sentence."""
    _: KW_ONLY
    keys: type[StrEnum] | None = None
    """The only keys of a mapping."""
    name: str | None = None
    """The key of the object, if it is not the name of the field."""
    digits: int | None = None
    """Decimals of a number; None: all that it has."""
    counted: bool = False
    """Print the number of elements of a list or a mapping instead of them."""
    inlined: bool = False
    """The keys of this result are keys of the object itself."""

    def __call__(self, getter: Callable[P, T]) -> Callable[P, T]:
        """Describe what a property returns, as `Annotated` would in its type."""
        returned: Any = getter.__annotations__["return"]
        getter.__annotations__["return"] = Annotated[returned, self]
        return getter


described = Description
"""As it reads in the type of a field, `Annotated[int, described("Turns to undo.")]`, and above the
getter of a property."""

INLINED = described("", inlined=True)


@dataclass(frozen=True, slots=True)
class Key:
    attribute: str
    """The field or property that has the value."""
    type: Any
    """With its description."""
    description: Description

    @property
    def name(self) -> str:
        return self.description.name or self.attribute


@dataclass(frozen=True, slots=True)
class ErrorOutput:
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
    found = ((name, hint, _description(hint)) for name, hint in hints.items())
    return tuple(Key(name, hint, description) for name, hint, description in found if description)


def plain(value: Any) -> Any:
    """Return a value as `--json` prints it: of mappings, lists, texts, numbers and None."""
    match value:
        case Enum() | datetime() | Path():
            return _text(value)
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(plain(key)): plain(one) for key, one in value.items()}
        case Sequence():
            return [plain(one) for one in value]
        case _:
            return {key: plain(one) for key, one in _items(value)}


def encoded(result: Any) -> str:
    """Return a result as one line of JSON in which control characters are escaped."""
    import msgspec  # noqa: PLC0415 - the models import this module, and `--help` them

    return displayed_json(msgspec.json.encode(plain(result)).decode())


def _text(value: Enum | datetime | Path) -> Any:
    match value:
        case Enum():
            return value.value
        case datetime():
            return encoded_time(value)
        case _:
            return path_text(value)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    kind: type = type(value)
    keys = keys_of(kind)
    if not keys:
        raise TypeError(f"a {kind.__name__} is no result: no field of it is described")
    for key in keys:
        one, how = getattr(value, key.attribute), key.description
        if how.inlined:
            yield from _items(one)
        elif how.counted:
            yield key.name, len(one)
        else:
            yield key.name, one if one is None or how.digits is None else round(one, how.digits)


def _description(hint: Any) -> Description | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((one for one in get_args(hint)[1:] if isinstance(one, Description)), None)
