"""What a template says: instructions for the model, and what texts leave out.

A template may begin with front matter, YAML between two lines of `---`: `name`, `description`,
`noise_patterns` and `focus_areas`. The rest is the instructions, all of it without front matter.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from turnetl.errors import BadUsage
from turnetl.regex_check import regex_error

log = logging.getLogger(__name__)

_FENCE = "---"
_TEXTS, _LISTS = ("name", "description"), ("noise_patterns", "focus_areas")
_FOCUS = "### Focus"
_SHOWN = 80
"""Characters of a pattern that are told."""


@dataclass(frozen=True, slots=True)
class Preprocessor:
    """How a turn is prepared for the model, in the model's own pass."""

    name: str
    instructions: str
    noise_patterns: tuple[str, ...] = ()
    """Regular expressions (Rust's, as polars has them): what they match is left out of the texts of
    episodes. The person's own words are always whole."""
    focus_areas: tuple[str, ...] = ()

    @property
    def prompt(self) -> str:
        """What the model is told: the instructions, and a list of the focus areas if there are."""
        focus = "\n".join([_FOCUS, *(f"- {area}" for area in self.focus_areas)])
        return "\n\n".join(
            part for part in (self.instructions, focus if self.focus_areas else "") if part
        )


def read(text: str, origin: Path) -> Preprocessor:
    """Return what a template says; an unknown key is a warning.

    Args:
        text: the whole template.
        origin: its file, for what is said of it; without a `name` it is called after that.

    Raises:
        BadUsage: as `parsed`.
    """
    try:
        found, unknown = parsed(text, origin.stem)
    except BadUsage as wrong:
        raise BadUsage(f"template `{origin}`: {wrong}") from wrong
    if unknown:
        log.warning("template `%s`: %s", origin, unknown)
    return found


def parsed(text: str, name: str) -> tuple[Preprocessor, str | None]:
    """Return what a template says, and what is said of keys that mean nothing, if there are.

    Args:
        text: the whole template.
        name: what it is called if it does not say so itself.

    Raises:
        BadUsage: front matter that cannot be used: what shall be left out must not be let through.
            Says what and in which line, not of which file.
    """
    head, body = _parted(text)
    if head is None:
        return Preprocessor(name, body), None
    said = _mapping(head)
    for wrong in _wrong(said):
        raise BadUsage(wrong)
    found = Preprocessor(
        name=said.get("name") or name,
        instructions=body,
        noise_patterns=tuple(said.get("noise_patterns") or ()),
        focus_areas=tuple(said.get("focus_areas") or ()),
    )
    return found, _unknown(said)


def _parted(text: str) -> tuple[str | None, str]:
    """Return front matter with its lines where the file has them, None if none, and the rest."""
    body = text.strip()
    first, *lines = body.split("\n")
    if first.rstrip() != _FENCE:
        return None, body
    above = text[: text.index(_FENCE)].count("\n") + 1
    end = next((at for at, line in enumerate(lines) if line.rstrip() == _FENCE), None)
    if end is None:
        raise BadUsage(
            f"line {above}: front matter begins here and has no end; put a line `{_FENCE}` behind "
            "it, or write the line across as `***`"
        )
    return "\n" * above + "\n".join(lines[:end]), "\n".join(lines[end + 1 :]).strip()


def _mapping(head: str) -> Mapping[str, Any]:
    """Return what stands in front matter whose lines are those of the file."""
    try:
        _refuse_twice(yaml.compose(head, yaml.SafeLoader))
        said = yaml.safe_load(head)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f"line {mark.line + 1}: " if mark is not None else ""
        raise BadUsage(f"{line}broken YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadUsage(f"broken YAML: {_first_line(error)}") from error
    if not isinstance(said, dict | None):
        raise BadUsage(
            "front matter must be names with values, `name: value`; "
            "a template that begins with a line across writes it as `***`"
        )
    return said or {}


def _refuse_twice(node: Any) -> None:
    """See that no name stands twice: YAML would take the second and hide the first.

    Raises:
        yaml.MarkedYAMLError: one does.
    """
    keys = [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    seen: list[Any] = []
    for key in keys:
        if key.value in seen:
            problem = f"`{key.value}` stands here a second time"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        seen.append(key.value)


def _unknown(said: Mapping[str, Any]) -> str | None:
    known = (*_TEXTS, *_LISTS)
    unknown = [str(key) for key in said if key not in known]
    if not unknown:
        return None
    return f"`{'`, `'.join(unknown)}` means nothing; known are {', '.join(known)}"


def _wrong(said: Mapping[str, Any]) -> Iterator[str]:
    for key in _TEXTS:
        if not isinstance(said.get(key), str | None):
            yield f"`{key}` must be a text"
    for key in _LISTS:
        given = said.get(key)
        texts = isinstance(given, list) and all(isinstance(one, str) and one for one in given)
        if given is not None and not texts:
            yield f"`{key}` must be a list of texts, none of them empty"
    for pattern in said.get("noise_patterns") or ():
        if wrong := regex_error(pattern):
            yield f"noise pattern `{pattern[:_SHOWN]}` {wrong}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
