"""The JSON Schema of results: each as the struct that its object decodes to."""

import inspect
from collections import Counter
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

from turnetl.base.results import Description, keys_of

Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A time in UTC as ISO 8601 with `+00:00`, so that timestamps sort as text."""
_KEYS = "x-keys"
"""Stands for `propertyNames`, which msgspec replaces by all values of the type of the keys."""


def definitions_of(kinds: Sequence[type]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return a reference to the schema of each kind of result, and all definitions by name."""
    references, definitions = msgspec.json.schema_components(
        [encoded_type(kind) for kind in kinds], ref_template="#/$defs/{name}"
    )
    # Of an enumeration, which Python stores without the indentation from 3.13 on.
    for definition in definitions.values():
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    return list(references), {name: _with_keys(one) for name, one in definitions.items()}


def _with_keys(schema: Any) -> Any:
    """Return a schema with the keys that a description names, and no other names of keys."""
    if isinstance(schema, list):
        return [_with_keys(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        "propertyNames" if name == _KEYS else name: _with_keys(one)
        for name, one in schema.items()
        if name != "propertyNames"
    }


@cache
def encoded_type(declared: Any) -> Any:
    """Return the type of a declared value in JSON: a struct of a result, `str` of a path."""
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return Annotated[encoded_type(arguments[0]), *map(_meta, arguments[1:])]
    if origin in (Union, UnionType):
        return reduce(or_, map(encoded_type, arguments))
    if isinstance(declared, NewType):
        return encoded_type(declared.__supertype__)
    kind = origin or declared
    return _encoded_class(kind, arguments) if isinstance(kind, type) else declared


def _encoded_class(kind: type, arguments: tuple[Any, ...]) -> Any:
    if issubclass(kind, Counter):
        arguments = (*arguments, int)
    if issubclass(kind, Mapping) and arguments:
        return dict[encoded_type(arguments[0]), encoded_type(arguments[1])]  # type: ignore[misc]
    if issubclass(kind, Sequence) and arguments:
        return list[encoded_type(arguments[0])]  # type: ignore[misc]
    if issubclass(kind, datetime):
        return Timestamp
    if issubclass(kind, PurePath):
        return str
    return _struct(kind, arguments) if is_dataclass(kind) else kind


def _meta(metadata: Any) -> Any:
    """Return what msgspec reads of a description."""
    if not isinstance(metadata, Description):
        return metadata
    if metadata.keys is None:
        return Meta(description=metadata.text)
    names = {"title": metadata.keys.__name__, "enum": [key.value for key in metadata.keys]}
    return Meta(description=metadata.text, extra_json_schema={_KEYS: names})


def _struct(kind: type, arguments: tuple[Any, ...]) -> type[msgspec.Struct]:
    """Return the struct of a result, with its name and description.

    That of `Answer[Turn]` is named `TurnAnswer`, and has the description of `Turn`.
    """
    name = "".join((*(argument.__name__ for argument in arguments), kind.__name__))
    documented = inspect.getdoc((*arguments, kind)[0]) or ""
    described = {"__doc__": documented.partition("\n\n")[0].replace("\n", " ")}
    # A key need not be an identifier: `$schema`.
    fields = [
        (key.lstrip("$"), declared, msgspec.field(name=key))
        for key, declared in _fields(kind, arguments)
    ]
    return msgspec.defstruct(
        name, fields, namespace=described, kw_only=True, forbid_unknown_fields=True
    )


def _fields(kind: type, arguments: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Return the names and types of the fields of the struct of a result."""
    fields: list[tuple[str, Any]] = []
    for key in keys_of(kind):
        declared = _bound(key.type, dict(zip(_parameters(kind), arguments, strict=True)))
        if key.description.inlined:
            inlined = get_args(declared)[0]
            fields += _fields(get_origin(inlined) or inlined, get_args(inlined))
        else:
            printed = Annotated[int, key.description] if key.description.counted else declared
            fields.append((key.name, encoded_type(printed)))
    return fields


def _bound(declared: Any, arguments: Mapping[Any, Any]) -> Any:
    """Return the type with the arguments of a generic result in place of its parameters."""
    parameters = _parameters(declared)
    return declared[tuple(arguments[one] for one in parameters)] if parameters else declared


def _parameters(declared: Any) -> tuple[Any, ...]:
    return getattr(declared, "__parameters__", ())
