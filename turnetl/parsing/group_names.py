"""Group names that the user gives: fixed names, or templates whose placeholders archives fill."""

import string
from collections.abc import Mapping

from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId

PLACEHOLDERS = ("project", "format", "user", "host")
_VALID = "the placeholders are " + ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
_MAX_CHARS = 120
"""Characters of a group id: it is the name of a folder and of a file."""


def check_template(template: str, where: str) -> None:
    """Reject an invalid template.

    Args:
        template: a name, or a name with placeholders.
        where: the start of the error message, such as `--group`.

    Raises:
        BadUsage: the template is invalid; the message names the valid placeholders.
    """
    try:
        parts = list(_FORMATTER.parse(template))
    except ValueError:
        raise BadUsage(f"{where}: `{template}` has an unmatched brace; {_VALID}") from None
    for _, field, spec, conversion in parts:
        if field is not None and (field not in PLACEHOLDERS or spec or conversion):
            invalid = f"{field}{'!' + conversion if conversion else ''}{':' + spec if spec else ''}"
            raise BadUsage(f"{where}: `{{{invalid}}}` is not a placeholder; {_VALID}")
    if not any(field or any(map(str.isalnum, text)) for text, field, _, _ in parts):
        raise BadUsage(
            f"{where}: the group has no name, because `{template}` has neither letters nor digits; "
            f"add some, or a placeholder ({_VALID})"
        )


def is_fixed(template: str) -> bool:
    """Return whether all archives get the same name."""
    return all(field is None for _, field, _, _ in _FORMATTER.parse(template))


def expand_template(template: str, values: Mapping[str, str]) -> GroupId:
    """Return the group id that a valid template gives.

    Each value becomes one token by itself, so that two projects in another script stay two groups.
    """
    tokens = {name: ids.group_id(value) for name, value in values.items()}
    return bounded_group_id(ids.group_id(template.format_map(tokens)))


def bounded_group_id(group: GroupId) -> GroupId:
    """Return a group id, or its head and a digest if it is too long for a folder name."""
    if len(group) <= _MAX_CHARS:
        return group
    return GroupId(f"{group[: _MAX_CHARS - 9]}_{ids.digest(group)[:8]}")


_FORMATTER = string.Formatter()
