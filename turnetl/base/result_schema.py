"""The JSON Schema of results: each as the struct that its object decodes to."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache, reduce
from operator import or_
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, NewType, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from turnetl.base.results import JsonOutput, keys_of

Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A time in UTC as ISO 8601 with `+00:00`, so that timestamps sort as text."""


def definitions_of(
    kinds: Sequence[type],
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return a reference to the schema of each kind of result, and all definitions by name."""
    references, definitions = msgspec.json.schema_components(
        [encoded_type(kind) for kind in kinds], ref_template="#/$defs/{name}"
    )
    return list(references), definitions


@cache
def encoded_type(declared: Any) -> Any:
    """Return the type of a declared value in JSON: a struct of a result, `str` of a path."""
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return Annotated[encoded_type(arguments[0]), *arguments[1:]]
    if origin in (Union, UnionType):
        return reduce(or_, map(encoded_type, arguments))
    if isinstance(declared, NewType):
        return encoded_type(declared.__supertype__)
    kind = origin or declared
    return _encoded_class(kind, arguments) if isinstance(kind, type) else declared


def _encoded_class(kind: type, arguments: tuple[Any, ...]) -> Any:
    if issubclass(kind, Mapping) and arguments:
        return dict[encoded_type(arguments[0]), encoded_type(arguments[1])]  # type: ignore[misc]
    if issubclass(kind, Sequence) and arguments:
        return list[encoded_type(arguments[0])]  # type: ignore[misc]
    if issubclass(kind, datetime):
        return Timestamp
    if issubclass(kind, PurePath):
        return str
    return _struct(kind) if is_dataclass(kind) else kind


def _struct(kind: type) -> type[msgspec.Struct]:
    """Return the struct of a result; it has the same name and description."""
    fields = [(key.name, encoded_type(key.type)) for key in keys_of(kind)]
    described = {"__doc__": (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")}
    return msgspec.defstruct(
        kind.__name__, fields, bases=(JsonOutput,), namespace=described, kw_only=True
    )
