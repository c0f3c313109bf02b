"""A report without personal data: what `--redact-pii` would have removed from the lake, too."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from turnetl.activity_report.model import ActivityReport, ReportedTurn
from turnetl.parsing.archive_paths import path_texts, redacted_path
from turnetl.parsing.person_names import path_without_persons, users_in
from turnetl.redact import Redactor


def without_personal_data(report: ActivityReport, redactor: Redactor) -> ActivityReport:
    """Return the report with placeholders in place of personal data.

    A name that one text reveals is redacted in all of them. Ids that turnetl made stay.
    """
    paths = {*_paths(report)}
    texts = list(dict.fromkeys(values_of(report, str)))
    parts = [part for path in sorted(paths) for part in path_texts(path)]
    asked = list(dict.fromkeys([*texts, *parts]))
    (answer,) = redactor.redact_many([asked])
    redacted = dict(zip(asked, answer.texts, strict=True))
    users = users_in(paths)

    def path(text: str) -> str:
        name = redacted_path(text, redacted) if text in paths else redacted[text]
        return path_without_persons(name, users, redactor.person_placeholder)

    # Ids stay as they are.
    by_field: dict[str, Callable[[str], str]] = {"turn_id": str, "run_id": str}
    by_field |= dict.fromkeys(("archive", "lake", "missing_archives"), path)
    personal: ActivityReport = replaced_values(report, by_field, redacted.__getitem__)
    return personal


def _paths(report: ActivityReport) -> set[str]:
    turns = values_of(report, ReportedTurn)
    return {report.scope.lake, *(turn.archive for turn in turns)} | {
        *report.pending.missing_archives.items
    }


T = TypeVar("T")


def values_of(value: Any, kind: type[T]) -> Iterator[T]:
    """Yield all values of a kind inside a value, in its order; not those inside of these."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from values_of(one, kind)
    elif is_dataclass(value):
        for field in fields(value):
            yield from values_of(getattr(value, field.name), kind)


def replaced_values(
    value: Any, by_field: Mapping[str, Callable[[str], str]], replace: Callable[[str], str]
) -> Any:
    """Return a value with all texts replaced: by the name of their field, or by `replace`."""
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, tuple):
        return tuple(replaced_values(one, by_field, replace) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {
        field.name: replaced_values(
            getattr(value, field.name), by_field, by_field.get(field.name, replace)
        )
        for field in fields(value)
    }
    return type(value)(**changed)
