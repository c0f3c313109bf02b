"""Parses templates: instructions for the model, and noise patterns removed from episode texts.

A template may begin with front matter, YAML between two lines of `---`, with the keys `name`,
`description`, `noise_patterns` and `focus_areas`. The rest is the instructions; without front
matter the whole file is.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnetl.base.errors import BadUsage
from turnetl.base.regex_check import regex_error

log = logging.getLogger(__name__)

_FENCE = "---"
_STRING_KEYS, _LIST_KEYS = ("name", "description"), ("noise_patterns", "focus_areas")
_FOCUS_HEADING = "### Focus"
_QUOTED_LENGTH = 80
"""Characters of a pattern that a message quotes."""


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    name: str
    instructions: str
    noise_patterns: tuple[str, ...] = ()
    """Regular expressions in Rust's syntax, as polars uses it. Their matches are removed from
    episode texts, except from prompts and steering."""
    focus_areas: tuple[str, ...] = ()

    @property
    def prompt(self) -> str:
        """The text for the model: the instructions, then a list of the focus areas if any."""
        focus = "\n".join([_FOCUS_HEADING, *(f"- {area}" for area in self.focus_areas)])
        return "\n\n".join(
            part for part in (self.instructions, focus if self.focus_areas else "") if part
        )


def parse_template_file(text: str, path: Path) -> Template:
    """Parse a template and log a warning about unknown keys.

    Args:
        text: the whole template.
        path: its file, for messages; its stem is the name if the template has no `name`.

    Raises:
        BadUsage: as `parse_template`, with the file in the message.
    """
    try:
        template, unknown_keys = parse_template(text, path.stem)
    except BadUsage as error:
        raise BadUsage(f"template `{path}`: {error}") from error
    if unknown_keys:
        log.warning("template `%s`: %s", path, unknown_keys)
    return template


def parse_template(text: str, name: str) -> tuple[Template, str | None]:
    """Return the parsed template, and a message about unknown keys if there are any.

    Args:
        text: the whole template.
        name: its name if it has no `name` key.

    Raises:
        BadUsage: the front matter is invalid. It is not ignored, because text that the noise
            patterns remove must not reach the graph. The message names the problem and the line,
            not the file.
    """
    front_matter, body = _split(text)
    if front_matter is None:
        return Template(name, body), None
    # YAML takes 0.02 s to import, and few commands read a template.
    from turnetl.extraction.front_matter import load  # noqa: PLC0415

    values = load(front_matter)
    for problem in _problems(values):
        raise BadUsage(problem)
    template = Template(
        name=values.get("name") or name,
        instructions=body,
        noise_patterns=tuple(values.get("noise_patterns") or ()),
        focus_areas=tuple(values.get("focus_areas") or ()),
    )
    return template, _unknown_keys(values)


def _split(text: str) -> tuple[str | None, str]:
    """Return front matter, None if there is none, and the body.

    Front matter is padded with blank lines, so that its line numbers are those of the file.
    """
    body = text.strip()
    first, *lines = body.split("\n")
    if first.rstrip() != _FENCE:
        return None, body
    line_number = text[: text.index(_FENCE)].count("\n") + 1
    end = next((number for number, line in enumerate(lines) if line.rstrip() == _FENCE), None)
    if end is None:
        raise BadUsage(
            f"line {line_number}: front matter begins here and has no end; add a line `{_FENCE}` "
            "after it, or write a horizontal rule as `***`"
        )
    return "\n" * line_number + "\n".join(lines[:end]), "\n".join(lines[end + 1 :]).strip()


def _unknown_keys(values: Mapping[str, Any]) -> str | None:
    known = (*_STRING_KEYS, *_LIST_KEYS)
    unknown = [str(key) for key in values if key not in known]
    if not unknown:
        return None
    return f"unknown key `{'`, `'.join(unknown)}`; known keys are {', '.join(known)}"


def _problems(values: Mapping[str, Any]) -> Iterator[str]:
    for key in _STRING_KEYS:
        if not isinstance(values.get(key), str | None):
            yield f"`{key}` must be a string"
    for key in _LIST_KEYS:
        value = values.get(key)
        is_valid = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
        if value is not None and not is_valid:
            yield f"`{key}` must be a list of strings, none of them empty"
    for pattern in values.get("noise_patterns") or ():
        if problem := regex_error(pattern):
            yield f"noise pattern `{pattern[:_QUOTED_LENGTH]}` {problem}"
