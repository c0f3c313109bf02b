"""The error that a pasted text asks about: its lines without those of what passed, and its names.

A text may be a message, a part of one, or the output of a run with many tests.
"""

import re
from collections.abc import Iterator

_FAILED_COUNT = re.compile(
    r"\b[1-9]\d* (?:\w+ )?(?:failed|failures?|errors?|problems?|issues?)\b"
    r"|\b(?:failures?|failed|errors?)\s?[:=]\s?[1-9]",
    re.IGNORECASE,
)
_PASSED = re.compile(
    r"---\s+(?:PASS|SKIP)\b.*|===\s+(?:RUN|PAUSE|CONT)\b.*|PASS(?:ED)?(?:\s.*)?"
    r"|.*\sPASSED(?:\s+\[\s*\d+%\])?|.*\.\.\.\s*ok|(?:OK|ok)(?:\s+\(.*\))?"
    r"|ok\s+(?:\d+\b.*|\S+\s+(?:\(cached\)|[\d.]+s\b).*)|[\u2713\u2714\u221a].*"
    r"|(?i:(?:(?:success|info|result|done|ok): )?(?:no (?:errors?|issues?|problems?"
    r"|failures?)(?: (?:was|were))?(?: (?:found|detected|reported))?"
    r"|all checks passed|build success(?:ful)?)\b.{0,60})"
)
_COUNT = r"(?:\d+ [a-z]+(?: out| tests?| files?)?|[a-z]+(?: run)?: \d+)"
_COUNTS = re.compile(
    rf"[^\w]*(?:test result: ok\.|found|tests?:|result:)?\s*{_COUNT}(?:\s*[,;.]?\s*{_COUNT})*"
    r"(?:[\s;,]+(?:finished\b|in\b).*)?[^\w]*",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b0 (?:failed|failures?|errors?|problems?|issues?)\b|\b(?:failures?|failed|errors?): 0\b"
    r"|\b\d+ passed\b",
    re.IGNORECASE,
)
_TESTS = (
    re.compile(r"---\s+FAIL:\s+(?P<test>\S+)"),
    re.compile(r"(?:FAILED|ERROR)\s+\S+?::(?P<test>\S+)"),
    re.compile(r"\S+?\.\w+::(?P<test>\S+)\s+(?:FAILED|ERROR)\b.*"),
    re.compile(r"test\s+(?P<test>[\w:]+)\s+\.\.\.\s+FAILED"),
    re.compile(r"(?:FAIL|ERROR):?\s+(?P<test>test\w+)\b"),
    re.compile("\u25cf\\s+(?P<test>.+ \u203a .+)"),
    re.compile("[\u2715\u2717\u00d7]\\s+(?P<test>.+?)(?:\\s+\\(?\\d+ ?ms\\)?)?"),
)
_FRAME = re.compile(r"at\s+\S.*|File \".*|-->\s.*|\d+ \|.*")
_QUOTED = re.compile(r"(?<!\w)(['\"`])([^\s'\"`]{1,80})\1(?!\w)")
_NOT_FOUND = re.compile(r"(\S+): (?:command )?not found(?!:)|command not found: (\S+)")
_STATUS = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status(?: code)?|error:?)\s+([1-5]\d\d)\b", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|-)[\w$]+)*")
_NAME = re.compile(
    r".*[a-z0-9][A-Z].*|.*[A-Z]{2}[a-z].*|.*\w_\w.*|[A-Z]{1,6}\d{2,}|[A-Z]{5,}|.*::.*|[a-z]\w*\.\w+"
)
"""Camel case, snake case, a code such as `E0308`, capitals, or a name with a namespace."""
_FILE = re.compile(r".*\.(?:[a-z]{1,4}|json|toml|yaml|java|scala|swift)", re.IGNORECASE)
_COMMON = frozenset(
    {"ERROR", "ERRORS", "FAILED", "FAILURE", "FAILURES", "FATAL", "PANIC", "WARNING"}
)
"""Capitals that name nothing."""
_MAX_LINE = 500
"""Characters of a line that are examined."""


def is_passing(line: str) -> bool:
    """Return whether a line says that something passed, or that nothing failed."""
    line = line.strip()
    if len(line) > _MAX_LINE:
        return False
    if _FAILED_COUNT.search(line):
        return False
    is_summary = _COUNTS.fullmatch(line) is not None and _NO_FAILURE.search(line) is not None
    return is_summary or _PASSED.fullmatch(line) is not None


def without_passing(text: str) -> str:
    """Return the lines of a text without those of what passed."""
    return "\n".join(line for line in text.split("\n") if not is_passing(line))


def failed_tests(text: str) -> list[str]:
    """Return the names of the tests that failed, in order, without classes and parameters."""
    found = (_failed_test(line.strip()[:_MAX_LINE]) for line in text.split("\n"))
    return list(dict.fromkeys(name for name in found if name))


def identifiers(text: str) -> list[str]:
    """Return what names one error among others: types, codes, quoted words, functions.

    Paths and lines of a stack are none: the same error occurs in several places.
    """
    cut = (line.strip()[:_MAX_LINE] for line in text.split("\n"))
    lines = (line for line in cut if not _FRAME.fullmatch(line))
    return list(dict.fromkeys(name for line in lines for name in _names(line)))


def _failed_test(line: str) -> str:
    matches = (pattern.match(line) for pattern in _TESTS[:-1])
    match = next((one for one in matches if one is not None), None) or _TESTS[-1].fullmatch(line)
    if match is None:
        return ""
    test = match["test"].strip()
    if " " in test:
        return test.rpartition(" \u203a ")[2]
    return test.rpartition("::")[2].partition("[")[0].partition("/")[0].strip(".,:;")


def _names(line: str) -> Iterator[str]:
    for _, quoted in _QUOTED.findall(line):
        if any(char.isalpha() for char in quoted) and "/" not in quoted:
            yield quoted
    for before, after in _NOT_FOUND.findall(line):
        yield before or after
    yield from _STATUS.findall(line)
    pieces = (piece for piece in re.split(r"[\s()\[\]{}<>,;='\"`]+", line) if "/" not in piece)
    for word in (word for piece in pieces for word in _WORD.findall(piece)):
        if _NAME.fullmatch(word) and word not in _COMMON and not _FILE.fullmatch(word):
            yield word
