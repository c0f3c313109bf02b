"""Requests to an object store, by obstore. The credentials are those of the provider's own chain.

No message of obstore reaches a log or an error: it may hold a signed address.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from turnetl.errors import BadUsage, Fatal, LakeBusy
from turnetl.lake.parallel import interruptible
from turnetl.object_url import ObjectUrl

_RETRIES = 4
_RETRY_SECONDS = 30
_CLIENT: Any = {"connect_timeout": "10s", "timeout": "120s"}
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|[Bb]ucket does not exist")
_NO_CREDENTIALS = re.compile(
    r"169\.254\.|metadata\.google|[Cc]redential|[Tt]oken|[Aa]ccount must be specified"
    r"|InvalidAccessKeyId|SignatureDoesNotMatch"
)
_STATUS = re.compile(r"status code: (\d{3})")


class ObjectChanged(Exception):
    """An object is not as the request demands: it exists, is gone, or has another version."""


@dataclass(frozen=True, slots=True)
class ObjectState:
    """An object, as it was listed, read or written."""

    e_tag: str
    """Changes with the content."""
    version: str | None = None
    """The store's own version, if it has one."""
    modified: datetime | None = None


class ObjectStore:
    """The objects below one URL, named by their paths below it."""

    def __init__(self, url: ObjectUrl, *, allow_http: bool) -> None:
        self._url = url
        with _errors(url):
            self._store: Any = _open(url, allow_http=allow_http)

    def check(self) -> None:
        """Check that the bucket exists and can be listed.

        Raises:
            BadUsage, Fatal, LakeBusy: as of `states`.
        """
        with _errors(self._url):
            interruptible(lambda: next(iter(self._store.list(chunk_size=1)), None))

    def states(self, folder: str) -> dict[str, ObjectState]:
        """Return the objects in a folder and below it, by name; empty: all.

        Raises:
            BadUsage: there is no such bucket.
            Fatal: the store refuses.
            LakeBusy: it does not answer.
        """
        with _errors(self._url):
            pages = interruptible(lambda: list(self._store.list(folder or None)))
            return {found["path"]: _state(found) for page in pages for found in page}

    def read(self, name: str, known: ObjectState | None) -> tuple[bytes, ObjectState] | None:
        """Return an object with its state; None if it has the state that is known.

        Raises:
            FileNotFoundError: there is none.
            BadUsage, Fatal, LakeBusy: as of `states`.
        """
        from obstore.exceptions import NotModifiedError  # noqa: PLC0415 - an extra

        options = {"if_none_match": known.e_tag} if known is not None else {}
        with _errors(self._url):
            try:
                return interruptible(lambda: _content(self._store.get(name, options=options)))
            except NotModifiedError:
                return None

    def write(
        self, name: str, content: bytes, expected: ObjectState | None, *, create: bool = False
    ) -> ObjectState:
        """Write an object at once and return its state.

        Args:
            name: of the object.
            content: of the object.
            expected: the state that is replaced; None: whatever it is.
            create: only if there is none.

        Raises:
            ObjectChanged: its state is another one.
            BadUsage, Fatal, LakeBusy: as of `states`.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415

        mode: Any = "create" if create else "overwrite"
        if expected is not None:
            mode = {"e_tag": expected.e_tag}
            mode |= {"version": expected.version} if expected.version is not None else {}
        with _errors(self._url):
            try:
                # A condition holds for one request only, not for the parts of an upload.
                written = interruptible(
                    lambda: self._store.put(name, content, mode=mode, use_multipart=False)
                )
            except (AlreadyExistsError, PreconditionError):
                raise ObjectChanged from None
        return _state(written)

    def copy(self, name: str, target: str) -> None:
        """Copy an object within the store.

        Raises:
            FileNotFoundError: there is none.
        """
        with _errors(self._url):
            interruptible(lambda: self._store.copy(name, target))

    def delete(self, name: str) -> None:
        """Delete an object, if there is one."""
        with _errors(self._url):
            try:
                interruptible(lambda: self._store.delete(name))
            except FileNotFoundError as error:
                if _NO_BUCKET.search(str(error)):
                    raise


def _open(url: ObjectUrl, *, allow_http: bool) -> Any:
    try:
        from obstore.store import from_url  # noqa: PLC0415 - an extra, and only for such a lake
    except ImportError:
        raise BadUsage(
            f"a lake at `{url.scheme}://` needs the package obstore: install `turnetl[objects]`"
        ) from None
    retry: Any = {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRY_SECONDS)}
    # Options that are given here replace those that obstore reads from the environment.
    client: Any = {**_CLIENT, "allow_http": allow_http}
    return from_url(str(url), client_options=client, retry_config=retry)


def _content(found: Any) -> tuple[bytes, ObjectState]:
    return bytes(found.bytes()), _state(found.meta)


def _state(found: Any) -> ObjectState:
    modified = found.get("last_modified")
    return ObjectState(str(found["e_tag"]), found.get("version"), modified)


@contextmanager
def _errors(url: ObjectUrl) -> Iterator[None]:
    """Translate the errors of obstore, without their text and their traceback."""
    try:
        yield
    except FileNotFoundError as error:
        if _NO_BUCKET.search(str(error)):
            raise _no_bucket(url) from None
        raise FileNotFoundError(2, "No such object") from None
    except (ObjectChanged, BadUsage):
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("obstore", "pyo3", "builtins")):
            raise
        raise _translated(url, error) from None


def _translated(url: ObjectUrl, error: Exception) -> Fatal | LakeBusy:
    text, kind = str(error), type(error).__name__
    status = match[1] if (match := _STATUS.search(text)) else None
    if _NO_BUCKET.search(text):
        return _no_bucket(url)
    if kind in ("PermissionDeniedError", "UnauthenticatedError"):
        return Fatal(
            f"the object store refuses access to the lake `{url}` (status {status}): check that "
            "the credentials in this environment may list, read, write and delete its objects"
        )
    if _NO_CREDENTIALS.search(text):
        return Fatal(
            f"there are no valid credentials for the lake `{url}`: set those of the provider in "
            "this environment, as docs/object-storage.md describes"
        )
    if status == "501":
        return Fatal(
            f"the object store of the lake `{url}` has no conditional writes (If-Match and "
            "If-None-Match), without which machines would overwrite each other: use another server"
        )
    if status is None or status.startswith("5") or status == "429":
        return LakeBusy(
            f"the object store of the lake `{url}` did not answer: check the network and the "
            "endpoint, then repeat the command"
        )
    return Fatal(
        f"the object store of the lake `{url}` refused a request (status {status}): check bucket, "
        "region and endpoint"
    )


def _no_bucket(url: ObjectUrl) -> BadUsage:
    return BadUsage(
        f"the bucket of the lake `{url}` does not exist; create it, or name another with --lake"
    )
