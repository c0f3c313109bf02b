"""URLs where a path is expected: a path of that text would be a folder named `s3:`."""

import os
import re

# A second `/` is optional, because a `Path` of a URL has only one. One letter is a drive.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def url_scheme(path: str | os.PathLike[str]) -> str | None:
    """Return the scheme of a URL, as `s3`; None if the text is a path of this machine.

    A relative path that starts like a URL counts as one. Its absolute path does not.
    """
    match = _URL.match(os.fspath(path))
    return match[1].lower() if match else None


def without_credentials(value: str) -> str:
    """Return a server's URL without user and password; `NEO4J_PASSWORD` can replace them."""
    scheme, separator, rest = value.partition("://")
    is_local = not separator or scheme == "ladybug"
    return value if is_local else f"{scheme}://{rest.rpartition('@')[2]}"
