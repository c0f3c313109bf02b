"""The base of all `--json` objects, and the object that an error prints."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, overload

import msgspec
from msgspec import Meta

from turnetl.base.clock import encoded_time
from turnetl.base.control_characters import displayed_json


def described(description: str, *, keys: type[StrEnum] | None = None) -> Meta:
    """Return the description of a field; `keys` are the only keys of a mapping."""
    if keys is None:
        return Meta(description=description)
    names = {"title": keys.__name__, "enum": [key.value for key in keys]}
    return Meta(description=description, extra_json_schema={"propertyNames": names})


Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A time in UTC as ISO 8601 with `+00:00`, so that timestamps sort as text."""


@overload
def timestamp(time: datetime) -> Timestamp: ...
@overload
def timestamp(time: datetime | None) -> Timestamp | None: ...
def timestamp(time: datetime | None) -> Timestamp | None:
    return None if time is None else encoded_time(time)


class JsonOutput(msgspec.Struct, forbid_unknown_fields=True):
    """An object that `--json` prints; its JSON Schema allows no other key."""

    def encode(self) -> str:
        """Return the object as one line of JSON in which control characters are escaped."""
        return displayed_json(msgspec.json.encode(self).decode())


class ErrorOutput(JsonOutput):
    """The object of a command that ends without a result."""

    error: Annotated[str, described("What happened and what to do, in one sentence.")]
    exit_code: Annotated[int, described("The exit code of the process.")]
