"""Reads the front matter of templates: YAML whose keys occur once."""

from collections.abc import Mapping
from typing import Any

import yaml

from turnetl.base.errors import BadUsage


def load(front_matter: str) -> Mapping[str, Any]:
    """Return the keys and values of front matter; BadUsage names the line of an error."""
    try:
        values = _parse(front_matter)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f"line {mark.line + 1}: " if mark is not None else ""
        raise BadUsage(f"{line}invalid YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadUsage(f"invalid YAML: {_first_line(error)}") from error
    if not isinstance(values, dict | None):
        raise BadUsage(
            "front matter must be keys with values, `key: value`; "
            "write a horizontal rule at the start of a template as `***`"
        )
    return values or {}


def _parse(front_matter: str) -> Any:
    loader = yaml.SafeLoader(front_matter)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _reject_duplicate_keys(node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _reject_duplicate_keys(node: Any) -> None:
    """Raise MarkedYAMLError for a repeated key: YAML would silently use the second value."""
    keys = [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    seen: list[Any] = []
    for key in keys:
        if key.value in seen:
            problem = f"the key `{key.value}` is repeated"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        seen.append(key.value)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
