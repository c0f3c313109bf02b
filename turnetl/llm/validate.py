"""Validation of a response: JSON, matching its schema, of a plausible size.

The responses already match their schema. A schema cannot express these rules, and one such value
must not cost a turn.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from turnetl.llm.chat import ResponseSchema

_FENCE = "```"
_LANGUAGE = re.compile(r"\w*")
"""The language after the opening fence."""
_OBJECT_IN_PROSE = re.compile(r"\A[^{\[]*(\{.*\})[^}\]]*\Z", re.DOTALL)
_MAX_ENTRIES = 500
"""Maximum entries of a list. No turn mentions more entities; only an endless loop writes more."""
_MAX_NAME = 1_000
"""Characters of a name."""
_MAX_DEPTH = 50
"""Nested lists and objects."""
_TOO_DEEP = "it is nested too deeply"
_MAX_DESCRIPTION = 600


def strip_wrapping(text: str) -> str:
    """Return the text inside a Markdown fence, or the JSON object inside surrounding prose."""
    stripped = text.strip()
    if stripped.startswith(_FENCE) and stripped.endswith(_FENCE):
        return _LANGUAGE.sub("", stripped.strip("`"), count=1).strip()
    match = _OBJECT_IN_PROSE.match(stripped)
    return match[1] if match else stripped


def parse_object(text: str) -> dict[str, Any]:
    """Return the parsed JSON object.

    Raises:
        ValueError: the text is not a JSON object.
    """
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if not isinstance(parsed, dict):
        raise ValueError(f"expected a JSON object, got {type(parsed).__name__}")  # noqa: TRY004 - as JSON's
    return parsed


def check_response(text: str, schema: ResponseSchema | None) -> None:
    """Check that the text is a JSON object that matches its schema.

    Raises:
        ValueError: it does not; `describe` returns the reason.
    """
    parsed = parse_object(text)
    _check_size(parsed)
    if schema is not None and schema.response_model is not None:
        schema.response_model.model_validate(parsed)


def describe(error: ValueError) -> str:
    """Return the reason without quoting the response: its content is not trusted."""
    if not isinstance(error, ValidationError):
        return str(error)[:_MAX_DESCRIPTION]
    details = error.errors(include_input=False, include_url=False)
    lines = (f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)
    return "; ".join(lines)[:_MAX_DESCRIPTION]


def _check_size(value: Any, key: str = "", depth: int = 0) -> None:
    if depth > _MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    if isinstance(value, dict):
        for name, child in value.items():
            _check_size(child, name, depth + 1)
    elif isinstance(value, list):
        if len(value) > _MAX_ENTRIES:
            limit = f"at most {_MAX_ENTRIES}"
            raise ValueError(f"`{key}` has {len(value):,} entries; give {limit}")
        for entry in value:
            _check_size(entry, key, depth + 1)
    elif isinstance(value, str) and key.endswith("name") and len(value) > _MAX_NAME:
        raise ValueError(f"a `{key}` has {len(value):,} characters; give at most {_MAX_NAME:,}")


_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\u200b\u200c\u200d\ufeff\u2060\ud800-\udfff]")
"""Graphiti's clients remove the same characters from every prompt."""
_MAX_RELATION = 100
"""Characters."""
_MAX_FACT = 2000
"""Characters. A longer text is not one sentence."""
_DEFAULT_RELATION = "RELATES_TO"
"""Graphiti's own."""


def sanitized(value: Any, key: str = "") -> Any:
    """Return the parsed JSON with every text as a graph can store it.

    Args:
        value: the response, or its part under `key`.
        key: name of the field.
    """
    if isinstance(value, dict):
        return {name: sanitized(child, name) for name, child in value.items()}
    if isinstance(value, list):
        return [sanitized(child, key) for child in value]
    if isinstance(value, str):
        return _BY_KEY.get(key, strip_invisible)(value)
    return value


def strip_invisible(text: str) -> str:
    """Return the text without invisible characters, some of which databases reject."""
    return _INVISIBLE.sub("", text)


def _single_line(text: str) -> str:
    return " ".join(strip_invisible(text).split())


def _relation(text: str) -> str:
    return _single_line(text)[:_MAX_RELATION].strip() or _DEFAULT_RELATION


def _fact(text: str) -> str:
    return _single_line(text)[:_MAX_FACT]


def _timestamp(text: str) -> str | None:
    """Return the time if it is valid, in UTC too: the first day of the year 1 in Tokyo is not."""
    try:
        time = datetime.fromisoformat(text)
        (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return text


_BY_KEY: dict[str, Callable[[str], str | None]] = {
    "name": _single_line,
    "source_entity_name": _single_line,
    "target_entity_name": _single_line,
    "relation_type": _relation,
    "fact": _fact,
    "valid_at": _timestamp,
    "invalid_at": _timestamp,
}
