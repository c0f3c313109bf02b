"""Names too ordinary to hold a secret. To redact one loads the scanner's rules: half a second."""

import re

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEPARATORS = re.compile(r"[/\\._~{}-]+")
_SHORT_WORD = re.compile(r"[^\W\d_]{0,15}\d{0,2}|[^\W_]{0,8}")


def is_plain(name: str) -> bool:
    """Return whether a name or a path has only short words and uuids, no other sign, no space."""
    return all(map(_SHORT_WORD.fullmatch, _SEPARATORS.split(_UUID.sub("", name))))
