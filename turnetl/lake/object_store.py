"""Requests to an object store, by obstore. The credentials are those of the provider's own chain.

No message of obstore reaches a log or an error: it may hold a signed address.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from turnetl.base.errors import BadUsage, Fatal, LakeBusy, TurnetlError
from turnetl.base.object_url import ObjectUrl
from turnetl.lake.parallel import interruptible

_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|[Bb]ucket does not exist")
_NO_CREDENTIALS = re.compile(
    r"169\.254\.|metadata\.google|[Cc]redential|[Tt]oken|[Aa]ccount must be specified"
    r"|InvalidAccessKeyId|SignatureDoesNotMatch"
)
_STATUS = re.compile(r"status code: (\d{3})")


class StoreFailure(StrEnum):
    """What an object store did instead of what a request asked for."""

    NO_BUCKET = "no_bucket"
    REFUSED = "refused"
    """The credentials do not allow it."""
    NO_CREDENTIALS = "no_credentials"
    NO_CONDITIONS = "no_conditions"
    """It has no conditional writes."""
    INVALID_NAME = "invalid_name"
    """An object has a name that the library cannot represent."""
    NO_ANSWER = "no_answer"
    OTHER = "other"


Translate = Callable[[ObjectUrl, StoreFailure, str | None], Exception]
"""Returns the error to raise for a failure of the store at a URL; the text is the HTTP status."""


@contextmanager
def _translated(url: ObjectUrl, translate: Translate) -> Iterator[None]:
    """Translate the errors of obstore, without their text and their traceback."""
    try:
        yield
    except Exception as error:
        if isinstance(error, FileNotFoundError) and not _is_missing_bucket(error):
            raise FileNotFoundError(2, "No such object") from None
        if not _is_of_obstore(error):
            raise
        raise translate(url, *_classify(error)) from None


def _is_missing_bucket(error: Exception) -> bool:
    return _NO_BUCKET.search(str(error)) is not None


def lake_error(url: ObjectUrl, failure: StoreFailure, status: str | None) -> TurnetlError:
    kinds = {StoreFailure.NO_BUCKET: BadUsage, StoreFailure.NO_ANSWER: LakeBusy}
    return kinds.get(failure, Fatal)(_OF_LAKES[failure].format(url=url, status=status))


_OF_LAKES: Mapping[StoreFailure, str] = {
    StoreFailure.NO_BUCKET: (
        "the bucket of the lake `{url}` does not exist; create it, or name another with --lake"
    ),
    StoreFailure.REFUSED: (
        "the object store refuses access to the lake `{url}` (status {status}): check that the "
        "credentials in this environment may list, read, write and delete its objects"
    ),
    StoreFailure.NO_CREDENTIALS: (
        "there are no valid credentials for the lake `{url}`: set those of the provider in "
        "this environment, as docs/object-storage.md describes"
    ),
    StoreFailure.NO_CONDITIONS: (
        "the object store of the lake `{url}` has no conditional writes (If-Match and "
        "If-None-Match), without which machines would overwrite each other: use another server"
    ),
    StoreFailure.INVALID_NAME: (
        "the lake `{url}` holds an object whose name has an empty part, `.`, `..` or a control "
        "character, and turnetl writes no such object: delete or rename it"
    ),
    StoreFailure.NO_ANSWER: (
        "the object store of the lake `{url}` did not answer: check the network and the "
        "endpoint, then repeat the command"
    ),
    StoreFailure.OTHER: (
        "the object store of the lake `{url}` refused a request (status {status}): check "
        "bucket, region and endpoint"
    ),
}


def _is_of_obstore(error: Exception) -> bool:
    if isinstance(error, FileNotFoundError):
        return True
    return type(error).__module__.startswith(("obstore", "pyo3", "builtins"))


def _classify(error: Exception) -> tuple[StoreFailure, str | None]:
    kind, status = type(error).__name__, _status(error)
    failures = {
        StoreFailure.NO_BUCKET: _is_missing_bucket(error),
        StoreFailure.REFUSED: kind in ("PermissionDeniedError", "UnauthenticatedError"),
        StoreFailure.INVALID_NAME: kind == "InvalidPathError",
        StoreFailure.NO_CREDENTIALS: _NO_CREDENTIALS.search(str(error)),
        StoreFailure.NO_CONDITIONS: status == "501",
        StoreFailure.NO_ANSWER: status is None or status.startswith("5") or status == "429",
    }
    return next(
        (failure for failure, holds in failures.items() if holds), StoreFailure.OTHER
    ), status


def _status(error: Exception) -> str | None:
    return match[1] if (match := _STATUS.search(str(error))) else None


_RETRIES = 4
_RETRY_SECONDS = 30
_CLIENT: Any = {"connect_timeout": "10s", "timeout": "120s"}


class ObjectChanged(Exception):
    """An object is not as the request demands: it exists, is gone, or has another version."""


@dataclass(frozen=True, slots=True)
class ObjectState:
    e_tag: str
    """Changes with the content."""
    version: str | None = None
    """The store's own version, if it has one."""
    modified: datetime | None = None
    size: int | None = None
    """In bytes. None after a write."""


class ObjectStore:
    """The objects below one URL, named by their paths below it.

    `translate` returns the error for one of the library; by default that of a lake: `BadUsage` for
    a missing bucket, `Fatal` for a refusal, `LakeBusy` for no answer.
    """

    def __init__(
        self, url: ObjectUrl, *, allow_http: bool, translate: Translate = lake_error
    ) -> None:
        self._url, self._translate = url, translate
        with self._errors():
            self._store: Any = _open(url, allow_http=allow_http)

    def check(self) -> None:
        self._call(lambda: next(iter(self._store.list(chunk_size=1)), None))

    def states(self, folder: str) -> dict[str, ObjectState]:
        """Return the objects in a folder and below it, by name; empty: all."""
        pages = self._call(lambda: list(self._store.list(folder or None)))
        return {found["path"]: _state(found) for page in pages for found in page}

    def folder(self, folder: str) -> tuple[dict[str, ObjectState], list[str]]:
        """Return the objects in a folder, and the folders in it."""
        found = self._call(lambda: self._store.list_with_delimiter(folder or None))
        states = {one["path"]: _state(one) for one in found["objects"]}
        return states, list(found["common_prefixes"])

    def read(self, name: str, known: ObjectState | None) -> tuple[bytes, ObjectState] | None:
        """Return an object with its state; None if it has the state that is known."""
        from obstore.exceptions import NotModifiedError  # noqa: PLC0415 - an extra

        options = {"if_none_match": known.e_tag} if known is not None else {}
        with self._errors():
            try:
                return interruptible(lambda: _content(self._store.get(name, options=options)))
            except NotModifiedError:
                return None

    def write(
        self, name: str, content: bytes, expected: ObjectState | None, *, create: bool = False
    ) -> ObjectState:
        """Write an object atomically and return its state.

        Another state than the expected one, or any with `create`, raises `ObjectChanged`.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415

        mode: Any = "create" if create else "overwrite"
        if expected is not None:
            mode = {"e_tag": expected.e_tag}
            mode |= {"version": expected.version} if expected.version is not None else {}
        with self._errors():
            try:
                # A condition holds for one request only, not for the parts of an upload.
                written = interruptible(
                    lambda: self._store.put(name, content, mode=mode, use_multipart=False)
                )
            except (AlreadyExistsError, PreconditionError):
                raise ObjectChanged from None
        return _state(written)

    def copy(self, name: str, target: str) -> None:
        """Copy an object within the store; raise `FileNotFoundError` if there is none."""
        self._call(lambda: self._store.copy(name, target))

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._call(lambda: self._store.delete(name))

    def head(self, name: str) -> ObjectState:
        """Return the state of an object; raise `FileNotFoundError` if there is none."""
        return _state(self._call(lambda: self._store.head(name)))

    def read_range(self, name: str, start: int, end: int) -> tuple[bytes, ObjectState]:
        """Return bytes of an object with its state; fewer if it ends before `end`.

        If it ends before `start`, `ObjectChanged` is raised.
        """
        options = {"range": (start, end)}
        with self._errors():
            try:
                return interruptible(lambda: _content(self._store.get(name, options=options)))
            except Exception as error:
                if _status(error) == "416":  # It ends before the range.
                    raise ObjectChanged from None
                raise

    def _call(self, request: Callable[[], Any]) -> Any:
        with self._errors():
            return interruptible(request)

    def _errors(self) -> AbstractContextManager[None]:
        return _translated(self._url, self._translate)


def _open(url: ObjectUrl, *, allow_http: bool) -> Any:
    try:
        from obstore.store import from_url  # noqa: PLC0415 - an extra, and only for such a lake
    except ImportError:
        raise BadUsage(
            f"`{url.scheme}://` needs the package obstore: install `turnetl[objects]`"
        ) from None
    retry: Any = {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRY_SECONDS)}
    # Options that are given here replace those that obstore reads from the environment.
    client: Any = {**_CLIENT, "allow_http": allow_http}
    return from_url(str(url), client_options=client, retry_config=retry)


def _content(found: Any) -> tuple[bytes, ObjectState]:
    return bytes(found.bytes()), _state(found.meta)


def _state(found: Any) -> ObjectState:
    return ObjectState(
        str(found["e_tag"]), found.get("version"), found.get("last_modified"), found.get("size")
    )
