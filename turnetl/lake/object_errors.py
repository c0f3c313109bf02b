"""Errors of obstore, translated without their text: it may hold a signed address."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import TracebackType

from turnetl.base.errors import BadUsage, Fatal, LakeBusy, TurnetlError
from turnetl.base.object_url import ObjectUrl

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


class StoreErrors:
    """A context that translates the errors of obstore, without their text and their traceback."""

    def __init__(self, url: ObjectUrl, translate: Translate) -> None:
        self._url, self._translate = url, translate

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if isinstance(error, FileNotFoundError) and not is_missing_bucket(error):
            raise FileNotFoundError(2, "No such object") from None
        if isinstance(error, Exception) and _is_of_obstore(error):
            failure, status = _classify(error)
            raise self._translate(self._url, failure, status) from None


def is_missing_bucket(error: Exception) -> bool:
    return _NO_BUCKET.search(str(error)) is not None


def is_empty_range(error: Exception) -> bool:
    """Return whether an object ends before the range that was asked for."""
    return _status(error) == "416"


def lake_error(url: ObjectUrl, failure: StoreFailure, status: str | None) -> TurnetlError:
    """Return the error of the object store of a lake."""
    kind, message = _OF_LAKES[failure]
    return kind(message.format(url=url, status=status))


_OF_LAKES: Mapping[StoreFailure, tuple[type[TurnetlError], str]] = {
    StoreFailure.NO_BUCKET: (
        BadUsage,
        "the bucket of the lake `{url}` does not exist; create it, or name another with --lake",
    ),
    StoreFailure.REFUSED: (
        Fatal,
        (
            "the object store refuses access to the lake `{url}` (status {status}): check that the "
            "credentials in this environment may list, read, write and delete its objects"
        ),
    ),
    StoreFailure.NO_CREDENTIALS: (
        Fatal,
        (
            "there are no valid credentials for the lake `{url}`: set those of the provider in "
            "this environment, as docs/object-storage.md describes"
        ),
    ),
    StoreFailure.NO_CONDITIONS: (
        Fatal,
        (
            "the object store of the lake `{url}` has no conditional writes (If-Match and "
            "If-None-Match), without which machines would overwrite each other: use another server"
        ),
    ),
    StoreFailure.INVALID_NAME: (
        Fatal,
        (
            "the lake `{url}` holds an object whose name has an empty part, `.`, `..` or a control "
            "character, and turnetl writes no such object: delete or rename it"
        ),
    ),
    StoreFailure.NO_ANSWER: (
        LakeBusy,
        (
            "the object store of the lake `{url}` did not answer: check the network and the "
            "endpoint, then repeat the command"
        ),
    ),
    StoreFailure.OTHER: (
        Fatal,
        (
            "the object store of the lake `{url}` refused a request (status {status}): check "
            "bucket, region and endpoint"
        ),
    ),
}


def _is_of_obstore(error: Exception) -> bool:
    if isinstance(error, FileNotFoundError):
        return True
    return type(error).__module__.startswith(("obstore", "pyo3", "builtins"))


def _classify(error: Exception) -> tuple[StoreFailure, str | None]:
    kind, status = type(error).__name__, _status(error)
    failures = {
        StoreFailure.NO_BUCKET: is_missing_bucket(error),
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
