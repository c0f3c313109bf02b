"""Finds what failed in the output of a run, each under a name that is the same in every run.

A failure is a test, a rule of a linter in a file, a message of a compiler, or an exception.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile

_MAX_HEAD = 12_000
_MAX_TAIL = 12_000
_MAX_FAILURES = 6
_MAX_NAME_LENGTH = 110
_MAX_MESSAGE_LENGTH = 260
_MIN_LETTERS, _MIN_LENGTH = 4, 10
_SHORT_LINES = 3
"""Lines of an output that says nothing but why its program failed."""


class FailureKind(StrEnum):
    TEST = "test"
    FINDING = "finding"
    """Of a compiler or a linter, which list all of theirs."""
    ERROR = "error"
    CALL = "call"
    """A call of another tool than the shell."""


@dataclass(frozen=True, slots=True)
class CommandFailure:
    name: str
    """`TestCart/empty`, `errcheck in src/cart.go`, `KeyError: 'x'`."""
    location: str
    """The file where it occurred, as printed; empty if the output does not name one."""
    kind: FailureKind = FailureKind.ERROR
    message: str = ""
    """What the output says beside the name; if the name is cut, all of it."""
    package: str = ""
    """Go package of a test."""

    @property
    def has_own_error(self) -> bool:
        """Whether it is a test that says why it failed."""
        return self.kind is FailureKind.TEST and _is_name(self.message)


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
_CI_PREFIX = re.compile(
    r"^[^\t\n]{1,80}\t[^\t\n]{1,80}\t\ufeff?\d{4}-\d\d-\d\dT[\d:.]{8,18}Z ", re.MULTILINE
)
"""Job, step and time before each line of a log that `gh run view` prints."""

_PATH = r"[^\s:()'\"]{1,200}"
_TYPED_ERROR = re.compile(
    r"^(?:E[ ]{1,8}|Uncaught |Caused by: |Exception in thread \"[^\"\n]{1,80}\" |\[?)?"
    r"((?:[A-Za-z_]\w{0,40}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt"
    r"|Failure))\b(?:: (.{0,300}))?$",
    re.MULTILINE,
)
_PYTHON_FRAME = re.compile(r"^ {0,8}File \"([^\"\n]{1,300})\", line \d", re.MULTILINE)


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)


_TESTS = _patterns(
    rf"^(?:FAILED|ERROR) (?P<location>{_PATH}\.py)::(?P<test>[^\s]{{1,150}})"
    r"(?: - (?P<message>[^\n]{1,300}))?",
    r"^test (?P<test>[\w:]{1,200}) \.\.\. FAILED$",
    r"^\s{0,8}not ok \d{1,6} (?:- )?(?P<test>[^\n#]{3,150})$",
    r"^\s{0,12}(?:✕|✗|✖|\u00d7) (?P<test>[^\n]{3,120}?)(?: \(?\d+ ?ms\)?)?$",
    r"^\s{0,4}● (?P<test>[^\n]{1,150} \u203a [^\n]{1,150})$",
    r"^\s{0,4}FAIL {1,4}(?P<location>[^\s>]{1,200}) > (?P<test>[^\n]{3,200})$",
    r"^(?:FAIL|ERROR):? (?P<test>test_\w{1,100}) \((?P<location>[\w.]{1,150})\)",
    rf"^(?P<location>{_PATH}):\d+: error: -\[[\w.]{{1,100}} (?P<test>\w{{1,100}})\] : "
    r"(?P<message>[^\n]{1,300})",
)
_GO_TEST = re.compile(r"^\s{0,20}--- FAIL: (?P<test>[\w/.:#=-]{1,200})", re.MULTILINE)
_GO_MESSAGE = re.compile(
    r"^\s{1,24}(?P<location>[\w/.-]{1,100}\.go):\d+: (?P<message>[^\n]{3,300})"
)
_GO_STEP = re.compile(r"^\s{0,20}(?:---|===) ")
_GO_PACKAGE = re.compile(r"^FAIL\t(\S{1,200})", re.MULTILINE)
_MESSAGE_CHARS = 6000
"""Characters before and after the name of a failed Go test that are searched for its message."""
_FINDINGS = _patterns(
    rf"^(?P<location>{_PATH}\.\w{{1,5}}):\d+:\d+: (?P<message>[^\n]{{5,300}}?) "
    r"\((?P<rule>[a-z][\w-]{1,30})\)$",
    rf"^(?P<location>{_PATH}\.pyi?):\d+:\d+: (?P<rule>[A-Z]{{1,5}}\d{{3,4}}) "
    r"(?P<message>[^\n]{3,300})$",
    r"^X (?P<message>[^\n]{5,300}?) \((?P<rule>[a-z][\w-]{1,30})\)\n[\w ./-]{1,80}: "
    rf"(?P<location>{_PATH})#\d",
    r"^(?P<rule>[A-Z]{1,5}\d{3,4})(?: \[\*\])? (?P<message>[^\n]{3,300})\n\s{0,8}--> "
    rf"(?P<location>{_PATH}):\d",
    rf"^(?P<location>{_PATH}\.pyi?):\d+(?::\d+)?: error: (?P<message>[^\n]{{3,300}}?)  "
    r"\[(?P<rule>[\w-]{3,40})\]$",
    r"^\s{1,8}\d+:\d+\s{1,8}error\s{1,8}(?P<message>[^\n]{3,200}?)\s{2,40}"
    r"(?P<rule>[\w@/-]{3,60})$",
    r"^(?P<kind>error\[E\d{4}\]): (?P<message>[^\n]{3,300})"
    rf"(?:\n\s{{0,8}}--> (?P<location>{_PATH}):\d)?",
    rf"^(?P<location>{_PATH}\.\w{{1,4}})(?:\(\d+,\d+\)|:\d+:\d+)(?:: | - )error "
    r"(?P<kind>TS\d{2,5}): (?P<message>[^\n]{3,300})",
    rf"^(?:vet: |# )?(?P<location>{_PATH}\.\w{{1,5}}):\d+:\d+: (?:fatal error: |error: )?"
    r"(?!warning|note|info)(?P<message>[A-Za-z][^\n]{5,300})",
)
_RULE_CODE = re.compile(r"^([A-Z]{1,5}\d{2,5}): ")
_LISTED_FILE = re.compile(r"^(?:/|\./)?[\w@./-]{1,200}\.\w{1,5}$", re.MULTILINE)
"""The line above the findings of ESLint."""
_ERRORS = _patterns(
    rf"^(?:FAILED|ERROR) (?P<location>{_PATH}\.py) - (?P<message>[^\n]{{3,300}})$",
    r"^(?P<kind>panic): (?P<message>[^\n]{3,300}?)(?: \[recovered\])?$",
    r"^(?:/bin/)?(?:zsh|bash|sh)[:\w() -]{0,40}: (?:line \d+: )?"
    r"(?P<message>[^\n]{1,150}: command not found|command not found: [^\n]{1,80})$",
    r"^(?P<kind>fatal): (?P<message>[^\n]{5,300})$",
    r"^npm (?:ERR!|error) (?!A complete log|code |path |errno )(?P<message>[^\n]{8,300})$",
    r"^(?:Error|ERROR|error): (?P<message>[^\n]{5,300})$",
)
_PROGRAM_ERROR = re.compile(
    r"^(?:Output: )?(?:[\w()/-]{1,20}: ?)?(?:line \d{1,5}: |\d{1,5}: )?(?P<program>[\w.-]{1,20}): "
    r"(?P<message>[^\n]{5,300})$",
    re.MULTILINE,
)
_FAILURE_WORD = re.compile(
    r"\b(?:error|fail(?:ed|ure)?|cannot|can't|could not|not found|denied|refused|invalid|missing"
    r"|unable|no such|unknown|undefined|unexpected|conflict|rejected|forbidden)\b",
    re.IGNORECASE,
)
_GENERIC_MESSAGE = re.compile(
    r"^(?:exit (?:code|status) \d|\(none\)|error: (?:process completed|script|task) "
    r"|(?-i:FAIL(?:ED)?\b)|make: \*\*\*|\[?\w{1,20}\]? ?(?:exited|failed)|errors?$|failed$"
    r"|error: exit|issues found"
    r"|\[[\w:-]{1,40}\] ERROR task|process completed with|command failed with|lifecycle script"
    r"|command timed out|failed to push some refs)",
    re.IGNORECASE,
)
_RAN_TESTS = re.compile(r"^(?:ok {1,4}\t|\s{0,20}--- PASS|=== RUN|FAIL\t)", re.MULTILINE)
_PASSED_TEST = re.compile(
    r"^\s{0,20}--- PASS: ([\w/.:#=-]{1,200})|^\S{1,200}?::(\S{1,150}) PASSED\b"
    r"|^test ([\w:]{1,200}) \.\.\. ok$|^\s{0,12}[✓✔] ([^\n]{3,120}?)(?: \(?\d+ ?ms\)?)?$",
    re.MULTILINE,
)
_PASSED_PACKAGE = re.compile(r"^ok {1,4}\t(\S{1,200})(?![^\n]*no tests to run)", re.MULTILINE)
_FAILED_SUMMARY = re.compile(
    r"^(?:\s{0,8}--- FAIL|FAIL\b|FAILED\b|\[[\w:-]{1,40}\] ERROR task failed"
    r"|make(?:\[\d\])?: \*\*\*|npm (?:ERR!|error)|BUILD FAILED|\*\* \w{4,9} FAILED"
    r"|test result: FAILED|panic: |error(?:\[E\d+\])?: |exit status [1-9]|Exit code [1-9]"
    r"|# [\w.-]{1,80}/[\w./-]{1,200}$)"
    r"|\berror TS\d|\b[1-9]\d{0,5} (?:failed|failing|failures?|errors?|problems?|issues?)\b",
    re.MULTILINE,
)
_FATAL = re.compile(
    r"^(?:error(?:\[E\d{4}\])?: |npm (?:ERR!|error) |panic: |fatal: |BUILD FAILED|make: \*\*\* )",
    re.MULTILINE,
)
_PASTED_ERROR = re.compile(
    r"\b((?:[A-Za-z_]\w{0,40}\.){0,4}[A-Z]\w{1,50}(?:Error|Exception)): ([^\n`]{3,160})"
    r"|^panic: ([^\n]{3,160})"
    r"|^fatal: ([^\n]{3,160})",
    re.MULTILINE,
)


def printed(output: str) -> str:
    """Return head and tail of an output without colours and without the columns of a CI log."""
    text = output
    if len(text) > _MAX_HEAD + _MAX_TAIL:
        text = f"{text[:_MAX_HEAD]}\n{text[-_MAX_TAIL:]}"
    text = _ANSI.sub("", text)
    if "\n" not in text:
        # Some clients record the line ends of an output as they are written in JSON.
        text = text.replace("\\n", "\n")
    return _CI_PREFIX.sub("", text).replace("##[error]", "") if "\t" in text else text


def has_failed_summary(text: str) -> bool:
    """Whether a program that tests, builds or checks says that something failed."""
    return _FAILED_SUMMARY.search(text) is not None


def check_failures(text: str, *, is_error: bool) -> list[CommandFailure]:
    """Return what failed in the `printed` output of tests, a build or a linter, at most six.

    What tests log is none: exceptions and messages count only if no test ran.
    """
    if not is_error and not has_failed_summary(text):
        return []
    listed = _distinct([*_failed_tests(text), *_findings(text)])
    if listed or _RAN_TESTS.search(text):
        return listed
    return _distinct(_messages(text))


def unlisted_failure(text: str) -> list[CommandFailure]:
    """Return the first line that tells why a check failed that ran no tests and lists nothing."""
    return [] if _RAN_TESTS.search(text) else _distinct(_fallback(text))


def failed_tests(text: str) -> list[CommandFailure]:
    """Return the tests that failed by a summary in the `printed` output of any command."""
    return _distinct(_failed_tests(text)) if has_failed_summary(text) else []


def error_failures(text: str) -> list[CommandFailure]:
    """Return the errors that the `printed` output of a failed command names, at most six."""
    listed = _distinct([*_findings(text), *_messages(text)])
    return listed or _distinct(_fallback(text)) or _distinct(_short(text))


def program_failures(text: str, shell: str, *, is_script: bool = False) -> list[CommandFailure]:
    """Return what failed programs of a shell line print under their own names, or raise."""
    named = (
        CommandFailure(f"{match['program']}: {match['message']}", "")
        for match in _PROGRAM_ERROR.finditer(text)
        if match["program"] in shell
    )
    return _distinct([*named, *_messages(text)]) or (
        _distinct(_fallback(text)) if is_script else []
    )


def says_fatal(text: str) -> bool:
    """Whether a line begins as only that of a program that stops."""
    return _FATAL.search(text) is not None


def ends_with_error(text: str) -> bool:
    """Whether the last line is the exception of a trace or a program that was not found."""
    last = text.rstrip().rpartition("\n")[2][:400]
    if "Traceback (most recent call last)" in text and _TYPED_ERROR.match(last):
        return True
    return last.endswith(": command not found") or "command not found: " in last


def passed_tests(text: str) -> frozenset[str]:
    """Return the names of tests that an output says passed, and of Go packages."""
    tests = (name_of_test(next(filter(None, found))) for found in _PASSED_TEST.findall(text))
    return frozenset(tests).union(_PASSED_PACKAGE.findall(text))


def failures_in_prompt(prompt: str) -> list[CommandFailure]:
    """Return the errors that a prompt contains, at most three."""
    by_name: dict[str, CommandFailure] = {}
    for kind, message, panic, fatal in _PASTED_ERROR.findall(prompt):
        name = f"{kind.rpartition('.')[2]}: {message}" if kind else ""
        name = stable_name(name or (f"panic: {panic}" if panic else f"fatal: {fatal}"))
        by_name.setdefault(name, CommandFailure(name, ""))
    return list(by_name.values())[:3]


def stable_name(message: str, limit: int = _MAX_NAME_LENGTH) -> str:
    """Remove the parts that differ between runs: lines, addresses, times, temporary paths."""
    for pattern, replacement in _VARIABLE_PARTS:
        message = pattern.sub(replacement, message)
    message = message.replace("`", "'").strip(" .:,-")
    return message if len(message) <= limit else message[: limit - 1].rstrip() + "…"


def name_of_test(test: str) -> str:
    """Return a test's name without modules and parameters; a title is its last part."""
    if " " in test:
        return re.split(r" [>\u203a] ", test)[-1].strip()
    return test.rpartition("::")[2].partition("[")[0]


def _distinct(found: Iterable[CommandFailure]) -> list[CommandFailure]:
    by_name: dict[str, CommandFailure] = {}
    for failure in found:
        name = stable_name(failure.name)
        if _is_name(name):
            message = failure.message or (failure.name if name.endswith("…") else "")
            message = stable_name(message, _MAX_MESSAGE_LENGTH)
            by_name.setdefault(name, replace(failure, name=name, message=message))
        if len(by_name) >= _MAX_FAILURES:
            break
    return list(by_name.values())


def _failed_tests(text: str) -> Iterator[CommandFailure]:
    yield from _failed_go_tests(text)
    for pattern in _TESTS:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            yield CommandFailure(
                name_of_test(match["test"]),
                groups.get("location") or "",
                FailureKind.TEST,
                groups.get("message") or "",
            )


def _failed_go_tests(text: str) -> Iterator[CommandFailure]:
    matches = list(_GO_TEST.finditer(text))
    names = [match["test"] for match in matches]
    for match in matches[: 4 * _MAX_FAILURES]:
        test = match["test"]
        # A test fails because one of its cases failed.
        if not any(name.startswith(f"{test}/") for name in names):
            location, message = _go_message(text, match)
            package = _GO_PACKAGE.search(text, match.end())
            yield CommandFailure(
                test, location, FailureKind.TEST, message, package[1] if package else ""
            )


def _go_message(text: str, match: re.Match[str]) -> tuple[str, str]:
    """Return file and message of a failed test: below its name, or with `-v` above it.

    It is the last line that the test printed: those before it may be its log.
    """
    below = text[match.end() : match.end() + _MESSAGE_CHARS].split("\n")[1:]
    above = text[max(0, match.start() - _MESSAGE_CHARS) : match.start()].split("\n")[-2::-1]
    of_test = [*takewhile(_is_no_go_step, below)]
    for lines in (reversed(of_test), takewhile(_is_no_go_step, above)):
        found = next(filter(None, map(_GO_MESSAGE.match, lines)), None)
        if found:
            return found["location"], found["message"]
    return "", ""


def _is_no_go_step(line: str) -> bool:
    return _GO_STEP.match(line) is None


def _findings(text: str) -> Iterator[CommandFailure]:
    starts: set[int] = set()
    for pattern in _FINDINGS:
        # The last pattern, of compilers, matches what some linters print, too.
        for match in (one for one in pattern.finditer(text) if one.start() not in starts):
            starts.add(match.start())
            groups = match.groupdict()
            location, message = groups.get("location") or "", match["message"]
            if rule := groups.get("rule"):
                if not location:
                    above = _LISTED_FILE.findall(text, max(0, match.start() - 4000), match.start())
                    location = above[-1] if above else ""
                code = _RULE_CODE.match(message)
                name = f"{rule} {code[1]}" if code else rule
                message = message[code.end() :] if code else message
                name = f"{name} in {location}" if location else f"{name}: {message}"
                yield CommandFailure(name, location, FailureKind.FINDING, message)
            else:
                name = f"{groups['kind']}: {message}" if groups.get("kind") else message
                yield CommandFailure(name, location, FailureKind.FINDING)


def _messages(text: str) -> Iterator[CommandFailure]:
    yield from _typed_errors(text)
    for pattern in _ERRORS:
        for match in pattern.finditer(text):
            kind = match.groupdict().get("kind")
            name = f"{kind}: {match['message']}" if kind else match["message"]
            yield CommandFailure(name, match.groupdict().get("location") or "")


def _typed_errors(text: str) -> Iterator[CommandFailure]:
    """Find `SomeError: message` (Python, JavaScript, Java); Python prints the file before it."""
    for match in _TYPED_ERROR.finditer(text):
        before = _PYTHON_FRAME.findall(text[max(0, match.start() - 1500) : match.start()])
        location = next((path for path in reversed(before) if "site-packages" not in path), "")
        kind = match.group(1).rpartition(".")[2]
        yield CommandFailure(f"{kind}: {match.group(2)}" if match.group(2) else kind, location)


def _is_name(name: str) -> bool:
    letters = sum(map(str.isalpha, name))
    return letters >= _MIN_LETTERS and not _GENERIC_MESSAGE.match(name)


def _short(text: str) -> Iterator[CommandFailure]:
    lines = [line for line in text.split("\n") if _is_name(line)]
    if len(lines) <= _SHORT_LINES:
        yield from (CommandFailure(line[:300], "") for line in lines[:1])


def _fallback(text: str) -> Iterator[CommandFailure]:
    for line in text.split("\n")[:60]:
        name = stable_name(line[:300])
        if len(name) >= _MIN_LENGTH and _FAILURE_WORD.search(name) and _is_name(name):
            yield CommandFailure(line[:300], "")
            return
