"""URLs of an object store, and the folders of this machine that belong to them.

A lake is a folder of a bucket. An archive is an object with any name that a path can have; where a
`Path` is expected it is the path that its URL makes, which has one slash after the scheme. Which
hosts of a URL are this machine, and how one is shown, stands here too.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

SCHEMES = ("s3", "gs", "az")
"""Amazon S3 and servers with its API, Google Cloud Storage, Azure Blob Storage."""
CACHE = "turnetl-objects"
"""Folder of the copies of objects in the user's cache."""
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME_PART = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]+")
_URL_PATH = re.compile(rf"({'|'.join(SCHEMES)}):/+")
_PART = re.compile(r"[\w.=+@, -]+")


@dataclass(frozen=True, slots=True)
class ObjectUrl:
    """`s3://bucket/prefix`: the objects whose names begin with the prefix and a slash."""

    scheme: str
    bucket: str
    """Of Azure: the container."""
    prefix: str
    """Without a slash at its ends; may be empty."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self._path}"

    def below(self, folder: Path) -> Path:
        return folder / self.scheme / self._path

    @property
    def _path(self) -> str:
        return f"{self.bucket}/{self.prefix}".rstrip("/")


def object_url(text: str | os.PathLike[str]) -> ObjectUrl | None:
    """Return the URL in a text, or in a path that was made from it; None if it is another path.

    Raises:
        ValueError: it names no folder of a store. The message omits the text: it may hold a
            password.
    """
    return _parsed(
        text,
        lambda part: _PART.fullmatch(part) and part.strip("."),
        "prefix` with letters, digits, spaces and `._-=+@,`, and without a user, a password, a "
        "query or `..`",
    )


def archive_url(text: str | os.PathLike[str]) -> ObjectUrl | None:
    """Return the URL of an archive, or of a folder of archives; errors as `object_url`."""
    return _parsed(
        text,
        lambda part: _NAME_PART.fullmatch(part) and part not in (".", ".."),
        "name` without a user and a password, and without empty parts, `.`, `..` and control "
        "characters in the name",
    )


def _parsed(
    text: str | os.PathLike[str], is_part: Callable[[str], object], form: str
) -> ObjectUrl | None:
    scheme = url_scheme(text)
    if scheme not in SCHEMES:
        return None
    # A `Path` has one slash after the colon.
    bucket, _, name = os.fspath(text).partition(":/")[2].removeprefix("/").partition("/")
    name = name.removesuffix("/")
    if not (_BUCKET.fullmatch(bucket) and all(map(is_part, name.split("/") if name else []))):
        raise ValueError(f"must be `{scheme}://bucket/{form}")
    return ObjectUrl(scheme, bucket, name)


def url_text(path: str) -> str | None:
    """Return the URL that a path of an archive stands for; None if it is a path of this machine."""
    match = _URL_PATH.match(path)
    return f"{match[1]}://{path[match.end() :]}" if match else None


def cache_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return the folder of copies: in `$XDG_CACHE_HOME` if it is absolute, or `~/.cache`."""
    cache = Path(environment.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else home / ".cache") / CACHE


def shown_name(path: Path) -> str:
    """Return the path of a file, or the URL of the object that it is a copy of."""
    parts = path.parts
    if CACHE not in parts:
        return str(path)
    scheme, *below = parts[parts.index(CACHE) + 1 :] or ("",)
    return f"{scheme}://{'/'.join(below)}" if scheme in SCHEMES else str(path)


def state_path(path: Path) -> Path:
    """Return the file that says which state of an object a file is a copy of."""
    # Not with the suffix of a table, as which it would be searched.
    return path.with_name(f".{path.name.replace('.parquet', '')}.etag")


def discard_copy(path: Path) -> None:
    """Have an object read again, if the file is a copy of one."""
    if CACHE in path.parts:
        state_path(path).unlink(missing_ok=True)


def path_text(path: Path) -> str:
    """Return a path as text that every table can store, even if its bytes are not valid UTF-8."""
    return storable_text(str(path))


def storable_text(path: str) -> str:
    """Return `path_text` of a path that is a text."""
    return (url_text(path) or path).encode("utf-8", "backslashreplace").decode()


# A second `/` is optional, because a `Path` of a URL has only one. One letter is a drive.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def url_scheme(path: str | os.PathLike[str]) -> str | None:
    """Return the scheme of a URL, as `s3`; None of a path, unless a relative one looks like it."""
    match = _URL.match(os.fspath(path))
    return match[1].lower() if match else None


def without_credentials(value: str) -> str:
    """Return a server's URL without user and password; `NEO4J_PASSWORD` can replace them."""
    scheme, separator, rest = value.partition("://")
    is_local = not separator or scheme == "ladybug"
    return value if is_local else f"{scheme}://{rest.rpartition('@')[2]}"


def is_loopback(host: str) -> bool:
    """Return whether a host of a URL is this machine. Only the name `localhost` is, everywhere."""
    from ipaddress import ip_address  # noqa: PLC0415 - few commands need it

    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


MASK = "********"
"""Stands for a password or a key."""


def shown_text(value: str) -> str:
    """Return a text, masked if it is a URL; one of an embedded graph is a path."""
    is_secret = "://" in value and not value.startswith("ladybug://")
    return masked_url(value) if is_secret else value


def masked_url(url: str) -> str:
    """Return a URL without its password, the values of its query, and its fragment."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return MASK
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    # A service may take its key as the user of a URL, without a password.
    is_key = bool(user) and not colon and parts.scheme in ("http", "https")
    netloc = f"{MASK if is_key else user}{colon}{MASK if colon else ''}{at}{host}"
    names = [(name, MASK) for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    # Without `=` the query itself may be the key.
    is_named = "=" in parts.query
    query = urlencode(names, safe="*") if is_named else parts.query and MASK
    fragment = parts.fragment and MASK
    return urlunsplit((parts.scheme, netloc, parts.path, query, fragment))
