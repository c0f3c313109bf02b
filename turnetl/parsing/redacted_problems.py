"""Problems with paths and archives, without the secrets and persons that a path may name."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from turnetl.lake import absolute_path_text
from turnetl.parsing.archive_paths import path_texts, redacted_path
from turnetl.parsing.person_names import path_without_persons, users_in
from turnetl.parsing.report import ArchiveReport, Problem
from turnetl.redact import Redactor
from turnetl.redact.plain import is_plain


def redacted_problems(problems: Sequence[Problem], redactor: Redactor) -> tuple[Problem, ...]:
    """Return the problems with their paths redacted, in the messages too, in order."""
    if not redactor.redacts_persons and all(is_plain(problem.path) for problem in problems):
        return tuple(problems)
    texts = [path_texts(problem.path) for problem in problems]
    redacted = redactor.redact_many(texts)
    return tuple(
        problem.of(_redacted(problem.path, dict(zip(before, after.texts, strict=True)), redactor))
        for problem, before, after in zip(problems, texts, redacted, strict=True)
    )


def redacted_reports(
    reports: Sequence[ArchiveReport], redactor: Redactor
) -> tuple[ArchiveReport, ...]:
    """Return the reports with those on skipped archives redacted, in order.

    The archives that were read are redacted with their turns.
    """
    skipped = {
        position: report.problem
        for position, report in enumerate(reports)
        if report.format is None and report.problem is not None
    }
    redacted = dict(zip(skipped, redacted_problems([*skipped.values()], redactor), strict=True))
    return tuple(
        replace(report, archive=redacted[position].path, problem=redacted[position])
        if position in redacted
        else report
        for position, report in enumerate(reports)
    )


def _redacted(path: str, redacted: dict[str, str], redactor: Redactor) -> str:
    name = redacted_path(path, redacted)
    if not redactor.redacts_persons:
        return name
    users = users_in([absolute_path_text(Path(path))])
    return path_without_persons(name, users, redactor.person_placeholder)
