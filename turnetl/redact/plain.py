"""Names and paths that are too ordinary to hold a secret.

To redact one path loads all rules of the scanner: half a second, in runs that read nothing else.
"""

import re

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEPARATORS = re.compile(r"[/\\._~{}-]+")
_SHORT_WORD = re.compile(r"[^\W\d_]{0,15}\d{0,2}|[^\W_]{0,8}")


def is_plain(name: str) -> bool:
    """Return whether a name or a path surely holds no secret.

    It has only short words and uuids, no sign that announces a value, and no space.
    """
    return all(map(_SHORT_WORD.fullmatch, _SEPARATORS.split(_UUID.sub("", name))))
