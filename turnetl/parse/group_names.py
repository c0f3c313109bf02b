"""Names of groups as a person gives them: fixed, or with placeholders that archives fill."""

import string
from collections.abc import Mapping

from turnetl import ids
from turnetl.errors import BadUsage
from turnetl.model import GroupId

PLACEHOLDERS = ("project", "format", "user", "host")
_THERE_ARE = "there are " + ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
_LONGEST = 120
"""Characters of a group's id: it is the name of a folder and of a file."""


def check(template: str, where: str) -> None:
    """Refuse a name that could not be filled; `where` begins the sentence: `--group`.

    Raises:
        BadUsage: says what is wrong and which placeholders there are.
    """
    try:
        parts = [(text, field, spec, how) for text, field, spec, how in _FORMATTER.parse(template)]
    except ValueError:
        raise BadUsage(
            f"{where}: `{template}` has a brace without its other half; {_THERE_ARE}"
        ) from None
    for _, field, spec, how in parts:
        if field is not None and (field not in PLACEHOLDERS or spec or how):
            wrong = f"{field}{'!' + how if how else ''}{':' + spec if spec else ''}"
            raise BadUsage(f"{where}: `{{{wrong}}}` is no placeholder; {_THERE_ARE}")
    says = any(field or any(map(str.isalnum, text)) for text, field, _, _ in parts)
    if not says:
        raise BadUsage(
            f"{where}: the group has no name: `{template}` has neither letters nor digits; "
            f"give it some, or a placeholder ({_THERE_ARE})"
        )


def is_fixed(template: str) -> bool:
    """Say whether all archives get the same name."""
    return all(field is None for _, field, _, _ in _FORMATTER.parse(template))


def fill(template: str, values: Mapping[str, str]) -> GroupId:
    """Return the group that a checked template names.

    Each value becomes one token by itself, so that two projects in another script stay two.
    """
    tokens = {name: ids.group_id(value) for name, value in values.items()}
    return bounded(ids.group_id(template.format_map(tokens)))


def bounded(group: GroupId) -> GroupId:
    """Return a group's id as it is, or, if it is too long for a folder, its head and a digest."""
    if len(group) <= _LONGEST:
        return group
    return GroupId(f"{group[: _LONGEST - 9]}_{ids.digest(group)[:8]}")


_FORMATTER = string.Formatter()
