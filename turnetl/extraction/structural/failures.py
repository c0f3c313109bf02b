"""Errors out of what a command printed: a type and a message that stay the same tomorrow."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_HEAD = 12_000
_TAIL = 12_000
_MOST = 6
_NAME = 110
_LETTERS, _SHORTEST = 4, 10


@dataclass(frozen=True, slots=True)
class CommandFailure:
    """One error, or one test that failed."""

    name: str
    """`KeyError: 'x'`, or the name of a test."""
    where: str
    """The file or test it happened in, as printed; empty if not said."""
    is_test: bool = False


_CHANGING = (
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
_TYPED = re.compile(
    r"^(?:E[ ]{1,8}|Uncaught |Caused by: |Exception in thread \"[^\"\n]{1,80}\" |\[?)?"
    r"((?:[A-Za-z_]\w{0,40}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt"
    r"|Failure))\b(?:: (.{0,300}))?$",
    re.MULTILINE,
)
_IN_PYTHON = re.compile(r"^ {0,8}File \"([^\"\n]{1,300})\", line \d", re.MULTILINE)


def _tests(pattern: str) -> Callable[[str], Iterator[CommandFailure]]:
    compiled = re.compile(pattern, re.MULTILINE)

    def find(text: str) -> Iterator[CommandFailure]:
        for match in compiled.finditer(text):
            groups = match.groupdict()
            yield CommandFailure(_test_name(match["test"]), groups.get("where") or "", is_test=True)

    return find


def _errors(pattern: str, prefix: str = "") -> Callable[[str], Iterator[CommandFailure]]:
    compiled = re.compile(pattern, re.MULTILINE)

    def find(text: str) -> Iterator[CommandFailure]:
        for match in compiled.finditer(text):
            groups = match.groupdict()
            kind = f"{groups['kind']}: " if groups.get("kind") else prefix
            yield CommandFailure(kind + match["message"], groups.get("where") or "")

    return find


def _typed(text: str) -> Iterator[CommandFailure]:
    """Python, JavaScript and Java say `SomeError: message`; Python says where before that."""
    for match in _TYPED.finditer(text):
        before = _IN_PYTHON.findall(text[max(0, match.start() - 1500) : match.start()])
        where = next((path for path in reversed(before) if "site-packages" not in path), "")
        kind = match.group(1).rpartition(".")[2]
        yield CommandFailure(f"{kind}: {match.group(2)}" if match.group(2) else kind, where)


_FINDERS: tuple[Callable[[str], Iterator[CommandFailure]], ...] = (
    _tests(r"^\s{0,20}--- FAIL: (?P<test>[\w/.:#=-]{1,200})"),
    _tests(rf"^(?:FAILED|ERROR) (?P<where>{_PATH}\.py)::(?P<test>[^\s]{{1,150}})"),
    _tests(r"^test (?P<test>[\w:]{1,200}) \.\.\. FAILED$"),
    _tests(r"^\s{0,12}(?:✕|✗|\u00d7) (?P<test>[^\n]{3,120}?)(?: \(?\d+ ?ms\)?)?$"),
    _tests(r"^FAIL:? (?P<test>test_\w{1,100}) \((?P<where>[\w.]{1,150})\)"),
    _typed,
    _errors(r"^panic: (?P<message>[^\n]{3,300}?)(?: \[recovered\])?$", "panic: "),
    _errors(r"^(?P<kind>error\[E\d{4}\]): (?P<message>[^\n]{3,300})"
            rf"(?:\n\s{{0,8}}--> (?P<where>{_PATH}):\d)?"),
    _errors(rf"^(?P<where>{_PATH}\.\w{{1,4}})(?:\(\d+,\d+\)|:\d+:\d+)(?:: "
        rf"| - )error (?P<kind>TS\d{{2,5}}): "
            r"(?P<message>[^\n]{3,300})"),
    _errors(rf"^(?:vet: |# )?(?P<where>{_PATH}\.\w{{1,5}}):\d+:\d+: (?:fatal error: |error: )?"
            r"(?!warning|note|info)(?P<message>[A-Za-z][^\n]{5,300})"),
    _errors(r"^\s{2,16}(?P<where>[\w/.-]{1,100}_test\.go):\d+: (?P<message>[^\n]{5,300})"),
    _errors(r"^\s{1,8}\d+:\d+\s{1,8}error\s{1,8}(?P<message>[^\n]{3,200}?)\s{2,40}(?P<kind>[\w@/-]{3,60})$"),
    _errors(r"^(?:/bin/)?(?:zsh|bash|sh)[:\w() -]{0,40}: (?:line \d+: )?(?P<message>[^\n]{1,150}: "
            r"command not found|command not found: [^\n]{1,80})$"),
    _errors(r"^fatal: (?P<message>[^\n]{5,300})$", "fatal: "),
    _errors(r"^npm (?:ERR!|error) (?!A complete log|code |path |errno )(?P<message>[^\n]{8,300})$"),
    _errors(r"^(?:Error|ERROR|error): (?P<message>[^\n]{5,300})$"),
)  # fmt: skip
_SAYS_FAILURE = re.compile(
    r"\b(?:error|fail(?:ed|ure)?|cannot|can't|could not|not found|denied|refused|invalid|missing"
    r"|unable|no such|unknown|undefined|unexpected|conflict|rejected|forbidden|timed out)\b",
    re.IGNORECASE,
)
_MACHINERY = re.compile(
    r"^(?:exit (?:code|status) \d|error: (?:process completed|script|task) |FAIL$|make: \*\*\*"
    r"|\[?\w{1,20}\]? ?(?:exited|failed)|errors?$|failed$|error: exit|issues found"
    r"|\[[\w:-]{1,40}\] ERROR task)",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b((?:[A-Za-z_]\w{0,40}\.){0,4}[A-Z]\w{1,50}(?:Error|Exception)): ([^\n`]{3,160})"
    r"|^panic: ([^\n]{3,160})"
    r"|^fatal: ([^\n]{3,160})",
    re.MULTILINE,
)


def failures(outcome: str, *, is_error: bool) -> list[CommandFailure]:
    """Return the errors that an outcome names, tests first, at most six, each once.

    Args:
        is_error: the call failed, so that a line which only sounds like a failure is one.
    """
    text = _ANSI.sub("", _bounded(outcome))
    found: dict[str, CommandFailure] = {}
    for finder in _FINDERS:
        for failure in finder(text):
            tidy = CommandFailure(stable(failure.name), failure.where, failure.is_test)
            if _is_name(tidy.name):
                found.setdefault(tidy.name, tidy)
            if len(found) >= _MOST:
                return list(found.values())
    if not found and is_error:
        found.update((failure.name, failure) for failure in _last_resort(text))
    return list(found.values())


def reported(words: str) -> list[CommandFailure]:
    """Return the errors that a person pasted or named, at most three."""
    found: dict[str, CommandFailure] = {}
    for kind, message, panic, fatal in _REPORTED.findall(words):
        name = f"{kind.rpartition('.')[2]}: {message}" if kind else ""
        name = stable(name or (f"panic: {panic}" if panic else f"fatal: {fatal}"))
        found.setdefault(name, CommandFailure(name, ""))
    return list(found.values())[:3]


def stable(message: str) -> str:
    """Take out what is another one every time: places, addresses, times, temporary paths."""
    for changing, instead in _CHANGING:
        message = changing.sub(instead, message)
    message = message.replace("`", "'").strip(" .:,-")
    return message if len(message) <= _NAME else message[: _NAME - 1].rstrip() + "…"


def _bounded(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def _test_name(test: str) -> str:
    """Leave a test's modules and cases out; a title in words stays as it is."""
    if " " in test:
        return test
    return test.rpartition("::")[2].partition("[")[0].partition("/")[0]


def _is_name(name: str) -> bool:
    return sum(letter.isalpha() for letter in name) >= _LETTERS and not _MACHINERY.match(name)


def _last_resort(text: str) -> Iterator[CommandFailure]:
    for line in text.split("\n")[:60]:
        name = stable(line[:300])
        if len(name) >= _SHORTEST and _SAYS_FAILURE.search(name) and _is_name(name):
            yield CommandFailure(name, "")
            return
