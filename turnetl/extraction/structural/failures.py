"""Finds errors and failed tests in command output, with names that are stable across runs."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_MAX_HEAD = 12_000
_MAX_TAIL = 12_000
_MAX_FAILURES = 6
_MAX_NAME_LENGTH = 110
_MIN_LETTERS, _MIN_LENGTH = 4, 10


@dataclass(frozen=True, slots=True)
class CommandFailure:
    name: str
    """`KeyError: 'x'`, or the name of a test."""
    location: str
    """The file or test where it occurred, as printed; empty if the output does not name one."""
    is_test: bool = False


_VARIABLE_PARTS = (
    (re.compile(r"(?:/private)?/(?:tmp|var/folders)/[^\s'\"`:,)]{1,300}"), "…"),
    (re.compile(r"/(?:Users|home)/[^\s'\"`:,)]{1,300}/(?=[^\s/'\"`:,)]{1,100})"), "…/"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
        r"|\b(?=[a-f]*\d)[0-9a-f]{10,64}\b"), "…"),
    (re.compile(r"\b0x[0-9a-fA-F]{4,16}\b"), "0x…"),
    (re.compile(r"(?<=\w):\d{1,6}(?::\d{1,6})?\b"), ""),
    (re.compile(r"\b(?:line|column|pid|port) \d{1,7}\b"), "…"),
    (re.compile(r"\b\d{4}[-/]\d\d[-/]\d\d[T ]?(?:\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?Z?)?"), "…"),
    (re.compile(r"\x1b\[[0-9;]{0,10}[A-Za-z]"), ""),
    (re.compile(r"https?://[^\s'\"`)]{1,300}|\b\d{1,6}(?:\.\d{1,6})?(?:ms|s|m\d{1,2}s)\b"), ""),
    (re.compile(r"[\s\x00-\x1f\x7f]+"), " "),
)  # fmt: skip
_ANSI = re.compile(r"\x1b\[[0-9;]{0,10}[A-Za-z]")

_PATH = r"[^\s:()'\"]{1,200}"
_TYPED_ERROR = re.compile(
    r"^(?:E[ ]{1,8}|Uncaught |Caused by: |Exception in thread \"[^\"\n]{1,80}\" |\[?)?"
    r"((?:[A-Za-z_]\w{0,40}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt"
    r"|Failure))\b(?:: (.{0,300}))?$",
    re.MULTILINE,
)
_PYTHON_FRAME = re.compile(r"^ {0,8}File \"([^\"\n]{1,300})\", line \d", re.MULTILINE)


def _test_finder(pattern: str) -> Callable[[str], Iterator[CommandFailure]]:
    compiled = re.compile(pattern, re.MULTILINE)

    def find(text: str) -> Iterator[CommandFailure]:
        for match in compiled.finditer(text):
            groups = match.groupdict()
            location = groups.get("location") or ""
            yield CommandFailure(_test_name(match["test"]), location, is_test=True)

    return find


def _error_finder(pattern: str, prefix: str = "") -> Callable[[str], Iterator[CommandFailure]]:
    compiled = re.compile(pattern, re.MULTILINE)

    def find(text: str) -> Iterator[CommandFailure]:
        for match in compiled.finditer(text):
            groups = match.groupdict()
            kind = f"{groups['kind']}: " if groups.get("kind") else prefix
            yield CommandFailure(kind + match["message"], groups.get("location") or "")

    return find


def _typed_errors(text: str) -> Iterator[CommandFailure]:
    """Find `SomeError: message` (Python, JavaScript, Java); Python prints the file before it."""
    for match in _TYPED_ERROR.finditer(text):
        before = _PYTHON_FRAME.findall(text[max(0, match.start() - 1500) : match.start()])
        location = next((path for path in reversed(before) if "site-packages" not in path), "")
        kind = match.group(1).rpartition(".")[2]
        yield CommandFailure(f"{kind}: {match.group(2)}" if match.group(2) else kind, location)


_FINDERS: tuple[Callable[[str], Iterator[CommandFailure]], ...] = (
    _test_finder(r"^\s{0,20}--- FAIL: (?P<test>[\w/.:#=-]{1,200})"),
    _test_finder(rf"^(?:FAILED|ERROR) (?P<location>{_PATH}\.py)::(?P<test>[^\s]{{1,150}})"),
    _test_finder(r"^test (?P<test>[\w:]{1,200}) \.\.\. FAILED$"),
    _test_finder(r"^\s{0,12}(?:✕|✗|\u00d7) (?P<test>[^\n]{3,120}?)(?: \(?\d+ ?ms\)?)?$"),
    _test_finder(r"^FAIL:? (?P<test>test_\w{1,100}) \((?P<location>[\w.]{1,150})\)"),
    _typed_errors,
    _error_finder(r"^panic: (?P<message>[^\n]{3,300}?)(?: \[recovered\])?$", "panic: "),
    _error_finder(r"^(?P<kind>error\[E\d{4}\]): (?P<message>[^\n]{3,300})"
            rf"(?:\n\s{{0,8}}--> (?P<location>{_PATH}):\d)?"),
    _error_finder(rf"^(?P<location>{_PATH}\.\w{{1,4}})(?:\(\d+,\d+\)|:\d+:\d+)(?:: "
        rf"| - )error (?P<kind>TS\d{{2,5}}): "
            r"(?P<message>[^\n]{3,300})"),
    _error_finder(rf"^(?:vet: |# )?(?P<location>{_PATH}\.\w{{1,5}}):\d+:\d+: "
            r"(?:fatal error: |error: )?(?!warning|note|info)(?P<message>[A-Za-z][^\n]{5,300})"),
    _error_finder(r"^\s{2,16}(?P<location>[\w/.-]{1,100}_test\.go):\d+: (?P<message>[^\n]{5,300})"),
    _error_finder(r"^\s{1,8}\d+:\d+\s{1,8}error\s{1,8}(?P<message>[^\n]{3,200}?)\s{2,40}"
            r"(?P<kind>[\w@/-]{3,60})$"),
    _error_finder(r"^(?:/bin/)?(?:zsh|bash|sh)[:\w() -]{0,40}: (?:line \d+: )?"
            r"(?P<message>[^\n]{1,150}: command not found|command not found: [^\n]{1,80})$"),
    _error_finder(r"^fatal: (?P<message>[^\n]{5,300})$", "fatal: "),
    _error_finder(r"^npm (?:ERR!|error) (?!A complete log|code |path |errno )"
            r"(?P<message>[^\n]{8,300})$"),
    _error_finder(r"^(?:Error|ERROR|error): (?P<message>[^\n]{5,300})$"),
)  # fmt: skip
_FAILURE_WORD = re.compile(
    r"\b(?:error|fail(?:ed|ure)?|cannot|can't|could not|not found|denied|refused|invalid|missing"
    r"|unable|no such|unknown|undefined|unexpected|conflict|rejected|forbidden|timed out)\b",
    re.IGNORECASE,
)
_GENERIC_MESSAGE = re.compile(
    r"^(?:exit (?:code|status) \d|error: (?:process completed|script|task) |FAIL$|make: \*\*\*"
    r"|\[?\w{1,20}\]? ?(?:exited|failed)|errors?$|failed$|error: exit|issues found"
    r"|\[[\w:-]{1,40}\] ERROR task)",
    re.IGNORECASE,
)
_PASTED_ERROR = re.compile(
    r"\b((?:[A-Za-z_]\w{0,40}\.){0,4}[A-Z]\w{1,50}(?:Error|Exception)): ([^\n`]{3,160})"
    r"|^panic: ([^\n]{3,160})"
    r"|^fatal: ([^\n]{3,160})",
    re.MULTILINE,
)


def failures(output: str, *, is_error: bool) -> list[CommandFailure]:
    """Return the errors in the output, tests first, at most six, each once.

    With `is_error` the call failed, so a line that only looks like an error counts as one.
    """
    text = _ANSI.sub("", _clip(output))
    by_name: dict[str, CommandFailure] = {}
    for finder in _FINDERS:
        for failure in finder(text):
            named = CommandFailure(stable_name(failure.name), failure.location, failure.is_test)
            if _is_name(named.name):
                by_name.setdefault(named.name, named)
            if len(by_name) >= _MAX_FAILURES:
                return list(by_name.values())
    if not by_name and is_error:
        return list(_fallback(text))
    return list(by_name.values())


def failures_in_prompt(prompt: str) -> list[CommandFailure]:
    """Return the errors that a prompt contains, at most three."""
    by_name: dict[str, CommandFailure] = {}
    for kind, message, panic, fatal in _PASTED_ERROR.findall(prompt):
        name = f"{kind.rpartition('.')[2]}: {message}" if kind else ""
        name = stable_name(name or (f"panic: {panic}" if panic else f"fatal: {fatal}"))
        by_name.setdefault(name, CommandFailure(name, ""))
    return list(by_name.values())[:3]


def stable_name(message: str) -> str:
    """Remove the parts that differ between runs: lines, addresses, times, temporary paths."""
    for pattern, replacement in _VARIABLE_PARTS:
        message = pattern.sub(replacement, message)
    message = message.replace("`", "'").strip(" .:,-")
    if len(message) <= _MAX_NAME_LENGTH:
        return message
    return message[: _MAX_NAME_LENGTH - 1].rstrip() + "…"


def _clip(text: str) -> str:
    if len(text) <= _MAX_HEAD + _MAX_TAIL:
        return text
    return f"{text[:_MAX_HEAD]}\n{text[-_MAX_TAIL:]}"


def _test_name(test: str) -> str:
    """Return a test's name without modules and cases; a title in words is unchanged."""
    if " " in test:
        return test
    return test.rpartition("::")[2].partition("[")[0].partition("/")[0]


def _is_name(name: str) -> bool:
    letters = sum(map(str.isalpha, name))
    return letters >= _MIN_LETTERS and not _GENERIC_MESSAGE.match(name)


def _fallback(text: str) -> Iterator[CommandFailure]:
    for line in text.split("\n")[:60]:
        name = stable_name(line[:300])
        if len(name) >= _MIN_LENGTH and _FAILURE_WORD.search(name) and _is_name(name):
            yield CommandFailure(name, "")
            return
