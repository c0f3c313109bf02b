"""A report without personal data: what `--redact-pii` would have removed from the lake, too."""

from turnetl.activity_report.model import ReportedTurn
from turnetl.activity_report.report import ActivityReport
from turnetl.activity_report.walk import replaced, values_of
from turnetl.parsing.archive_paths import path_texts, redacted_path
from turnetl.parsing.person_names import path_without_persons, users_in
from turnetl.redact import Redactor


def without_personal_data(report: ActivityReport, redactor: Redactor) -> ActivityReport:
    """Return the report with placeholders in place of personal data.

    A name that one text reveals is redacted in all of them. Ids that turnetl made stay.

    Args:
        report: as it was collected.
        redactor: redacts persons.
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

    def same(text: str) -> str:
        return text

    by_field = {"archive": path, "lake": path, "missing_archives": path}
    return replaced(report, by_field | {"turn_id": same, "run_id": same}, redacted.__getitem__)


def _paths(report: ActivityReport) -> set[str]:
    """Return the paths in the report."""
    turns = values_of(report, ReportedTurn)
    return {report.scope.lake, *(turn.archive for turn in turns)} | {
        *report.pending.missing_archives.items
    }
