"""Whether an answer is what was asked for: JSON, of the form, of a reasonable size."""

import json
import re
from typing import Any

from pydantic import ValidationError

from turnetl.llm.chat import ResponseSchema

_FENCE = "```"
_LANGUAGE = re.compile(r"\w*")
"""Said behind the first fence."""
_AMONG_WORDS = re.compile(r"\A[^{\[]*(\{.*\})[^}\]]*\Z", re.DOTALL)
_MOST_ENTRIES = 500
"""In a list: no turn speaks of more things. A model that does not stop does."""
_LONGEST_NAME = 1_000
"""Characters."""
_DEEPEST = 50
"""Lists and objects within each other."""
_TOO_DEEP = "it is nested too deeply"
_MOST_SAID = 600


def strip_wrapping(text: str) -> str:
    """Return the text out of its Markdown fence, or the object out of the words around it."""
    stripped = text.strip()
    if stripped.startswith(_FENCE) and stripped.endswith(_FENCE):
        return _LANGUAGE.sub("", stripped.strip("`"), count=1).strip()
    found = _AMONG_WORDS.match(stripped)
    return found[1] if found else stripped


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object.

    Raises:
        ValueError: it is none.
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if not isinstance(found, dict):
        raise ValueError(f"expected a JSON object, got {type(found).__name__}")  # noqa: TRY004 - as JSON's
    return found


def check_response(text: str, schema: ResponseSchema | None) -> None:
    """See that the text is a JSON object that fits.

    Raises:
        ValueError: it is not; `describe` says why.
    """
    found = parse_object(text)
    _bounded(found)
    if schema is not None and schema.response_model is not None:
        schema.response_model.model_validate(found)


def describe(error: ValueError) -> str:
    """Say what is wrong without the answer's own words: they may be anything."""
    if not isinstance(error, ValidationError):
        return str(error)[:_MOST_SAID]
    wrongs = error.errors(include_input=False, include_url=False)
    lines = (f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}" for wrong in wrongs)
    return "; ".join(lines)[:_MOST_SAID]


def _bounded(value: Any, key: str = "", depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise ValueError(_TOO_DEEP)
    if isinstance(value, dict):
        for name, below in value.items():
            _bounded(below, name, depth + 1)
    elif isinstance(value, list):
        if len(value) > _MOST_ENTRIES:
            most = f"at most {_MOST_ENTRIES}"
            raise ValueError(f"`{key}` has {len(value):,} entries; give {most}")
        for entry in value:
            _bounded(entry, key, depth + 1)
    elif isinstance(value, str) and key.endswith("name") and len(value) > _LONGEST_NAME:
        raise ValueError(f"a `{key}` has {len(value):,} characters; give at most {_LONGEST_NAME:,}")
