"""Find and replace values inside frozen dataclasses and tuples."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

T = TypeVar("T")
V = TypeVar("V")


def values_of(value: Any, kind: type[T]) -> Iterator[T]:
    """Yield all values of a kind inside a value, in its order; not those inside of these."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from values_of(one, kind)
    elif is_dataclass(value):
        for field in fields(value):
            yield from values_of(getattr(value, field.name), kind)


def replaced(
    value: V, by_field: Mapping[str, Callable[[str], str]], other: Callable[[str], str]
) -> V:
    """Return a value with all texts replaced.

    Args:
        value: a dataclass, a tuple, a text, or anything else, which stays.
        by_field: replaces the texts of fields with these names.
        other: replaces all other texts.
    """
    return _replaced(value, by_field, other)  # type: ignore[no-any-return]


def _replaced(value: Any, by_field: Mapping[str, Callable[[str], str]], replace: Any) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, tuple):
        return tuple(_replaced(one, by_field, replace) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {
        field.name: _replaced(
            getattr(value, field.name), by_field, by_field.get(field.name, replace)
        )
        for field in fields(value)
    }
    return type(value)(**changed)
