"""Finds what failed in the output of a run, each under a name that is the same in every run.

A failure is a test, a rule of a linter in a file, a message of a compiler, or an exception.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, takewhile

from turnetl.base.relations import FAILED_CALL
from turnetl.extraction.structural import failure_patterns as patterns

_MAX_HEAD = 12_000
_MAX_TAIL = 12_000
_MAX_FAILURES = 6
_MAX_MESSAGES = 2
"""Of a run that lists neither tests nor findings."""
_MAX_LINE = 500
_MAX_NAME_LENGTH = 110
_MAX_MESSAGE_LENGTH = 260
_MIN_LETTERS, _MIN_LENGTH = 4, 10
_LAST_LINES = 6
"""Lines in which a program says that it stops."""
_SHORT_LINES = 3
"""Lines of an output that says nothing but why its program failed."""
_MESSAGE_CHARS = 6000
"""Characters before and after the name of a failed Go test that are searched for its message."""
_REASON_CHARS = 2500
"""Characters below the name of another failed test."""
_TITLE_MARKS = frozenset("✕✗✖\u00d71234567890")
_NAMED_LINES = 4
"""Lines with the name of a test below which the reason is looked for."""


class FailureKind(StrEnum):
    TEST = "test"
    FINDING = "finding"
    """Of a compiler or a linter, which list all of theirs."""
    ERROR = "error"
    CALL = FAILED_CALL
    """A call of another tool than the shell."""


_JOB = "CI job "


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
    def is_job(self) -> bool:
        """Whether it is only the name of a job: its log says what failed."""
        return self.name.startswith(_JOB)

    @property
    def has_own_error(self) -> bool:
        """Whether it is a test that says why it failed."""
        return self.kind is FailureKind.TEST and _is_name(self.message)


def printed(output: str) -> str:
    """Return head and tail of an output without colours and without the columns of a CI log."""
    text = output
    if len(text) > _MAX_HEAD + _MAX_TAIL:
        text = f"{text[:_MAX_HEAD]}\n{text[-_MAX_TAIL:]}"
    text = patterns.TASK_PREFIX.sub("", patterns.BOX.sub("", patterns.ANSI.sub("", text)))
    if "\n" not in text:
        # Some clients record the line ends of an output as they are written in JSON.
        text = text.replace("\\n", "\n")
    text = patterns.CI_PREFIX.sub("", text) if "Z " in text else text
    return text.replace(patterns.CI_MARK, "")


def has_failed_summary(text: str) -> bool:
    """Whether a program that tests, builds or checks says that something failed."""
    return patterns.FAILED_SUMMARY.search(text) is not None


def check_failures(text: str, *, is_error: bool) -> list[CommandFailure]:
    """Return what failed in the `printed` output of tests, a build or a linter, at most six.

    What tests log is none: exceptions and messages count only if no test ran.
    """
    if not is_error and not has_failed_summary(text):
        return []
    listed = _distinct([*_failed_tests(text), *_findings(text)])
    if listed:
        return listed
    has_tests = patterns.RAN_TESTS.search(text) is not None
    told = (one for one in _messages(text) if not has_tests or one.name.startswith("panic: "))
    return _distinct(told)


def ci_failures(text: str, log: str, *, is_error: bool) -> list[CommandFailure]:
    """Return what failed by a log of CI, at most six; messages only if it says that it failed.

    Those that the runner marks as its errors come before others, which are of any step.

    Args:
        text: the `printed` log.
    """
    listed = check_failures(text, is_error=is_error)
    sure = [one for one in listed if one.kind is not FailureKind.ERROR or one.is_job]
    if sure or not is_error:
        return sure
    lines = (line.partition(patterns.CI_MARK)[2] for line in log.split("\n"))
    marked = [line[:300] for line in lines if line]
    told = _distinct(_messages("\n".join(marked)))
    told = told or _distinct(CommandFailure(line, "") for line in marked)
    is_cancelled = any("operation was cancel" in line for line in marked)
    return told or ([] if is_cancelled else listed)


def unlisted_failure(text: str) -> list[CommandFailure]:
    """Return the first line that tells why a check failed that ran no tests and lists nothing."""
    return [] if patterns.RAN_TESTS.search(text) else _distinct(_fallback(text))


def failed_tests(text: str) -> list[CommandFailure]:
    """Return the tests that failed by a summary in the `printed` output of any command."""
    return _distinct(_failed_tests(text)) if has_failed_summary(text) else []


def error_failures(text: str) -> list[CommandFailure]:
    """Return the errors that the `printed` output of a failed command names, at most six."""
    return (
        check_failures(text, is_error=True) or _distinct(_fallback(text)) or _distinct(_short(text))
    )


def program_failures(text: str, shell: str, *, is_script: bool = False) -> list[CommandFailure]:
    """Return what failed programs of a shell line print under their own names, or raise."""
    named = (
        CommandFailure(f"{match['program']}: {match['message']}", "")
        for match in patterns.PROGRAM_ERROR.finditer(text)
        if match["program"] in shell
    )
    found = _distinct([*named, *_messages(text)])
    return found or (_distinct(_fallback(text)) or _distinct(_short(text)) if is_script else [])


def says_exit_status(text: str) -> bool:
    """Whether the program, or what ran it, prints a status that is not 0."""
    ends = f"{text[:300]}\n{text[-300:]}"
    return (patterns.EXIT_STATUS.search(text) or patterns.EXIT_MARK.search(ends)) is not None


def says_ci_passed(text: str) -> bool:
    return patterns.CI_PASSED.search(text) is not None


def ends_with_error(text: str, shell: str = "") -> bool:
    """Whether one of the last lines tells why a program stops, and is no text of its shell line."""
    last = [line.strip(" ") for line in text.rstrip().split("\n")[-_LAST_LINES:]]
    if any(patterns.FATAL.match(line[:400]) and line not in shell for line in last):
        return True
    is_traced = "Traceback (most recent call last)" in text
    if is_traced and any(patterns.TYPED_ERROR.match(line[:400]) for line in last):
        return True
    return " at " in last[-1] and patterns.TRACED.search(text[-_MESSAGE_CHARS:]) is not None


def passed_jobs(text: str) -> frozenset[str]:
    """Return the names that failures of the jobs have of which a CI log says that they passed."""
    jobs = map("".join, patterns.PASSED_JOB.findall(text))
    return frozenset(_job_failure(job) for job in jobs)


def passed_tests(text: str) -> frozenset[str]:
    """Return the names of tests that an output says passed, and of Go packages."""
    tests = (
        name_of_test(next(filter(None, found))) for found in patterns.PASSED_TEST.findall(text)
    )
    return frozenset(tests).union(patterns.PASSED_PACKAGE.findall(text))


def failures_in_prompt(prompt: str) -> list[CommandFailure]:
    """Return the errors that a prompt names by their type, at most three."""
    by_name: dict[str, CommandFailure] = {}
    for quoted, first, kind, other, panic, fatal, said in patterns.PASTED_ERROR.findall(prompt):
        typed, message = (quoted or kind).rpartition(".")[2], first or other
        name = f"{typed}: {message}" if typed else said
        name = stable_name(name or (f"panic: {panic}" if panic else f"fatal: {fatal}"))
        by_name.setdefault(name, CommandFailure(name, ""))
    return list(by_name.values())[:3]


def pasted_failures(prompt: str, *, is_report: bool) -> list[CommandFailure]:
    """Return what failed by the outputs that a prompt quotes, at most three.

    Args:
        is_report: the prompt says that something fails; without it, only tests that failed, rules
            in files, and errors with their type are failures, not any message.
    """
    text = printed(_unquoted(prompt))
    flat = "\n".join(line.strip() for line in text.split("\n"))
    found = ([*_failed_tests(one), *_findings(one), *_named_rules(one)] for one in (text, flat))
    listed = _distinct(next(filter(None, found), ()))
    typed = failures_in_prompt(prompt)
    if not listed and not typed:
        listed = _distinct(_messages(flat))
        return listed[:2] if is_report else [one for one in listed if ": " in one.name][:1]
    if listed:
        return listed[:3]
    traced = {one.name: one for one in (*_messages(text), *_messages(flat))}
    return [
        replace(one, location=traced[one.name].location if one.name in traced else "")
        for one in typed
    ]


def _unquoted(prompt: str) -> str:
    """Return a prompt whose quoted outputs begin their lines, as programs print them."""
    lines = (patterns.QUOTE_MARK.sub("", line) for line in prompt.split("\n"))
    text = patterns.QUOTED_OUTPUT.sub("\\g<output>", "\n".join(lines))
    return patterns.OUTPUT_START.sub("\n", text)


def _named_rules(text: str) -> Iterator[CommandFailure]:
    """Yield the rules that a sentence names with their file: "`errcheck` in `cart.go`: …"."""
    for match in islice(patterns.NAMED_RULE.finditer(text), _MAX_FAILURES):
        location = match["location"]
        message = (match["message"] or "").strip(" .`")
        yield CommandFailure(
            f"{match['rule']} in {location}", location, FailureKind.FINDING, message
        )


def stable_name(message: str, limit: int = _MAX_NAME_LENGTH) -> str:
    """Remove the parts that differ between runs: lines, addresses, times, temporary paths."""
    for pattern, replacement in patterns.VARIABLE_PARTS:
        message = pattern.sub(replacement, message)
    message = message.replace("`", "'").strip(" .:,-")
    return message if len(message) <= limit else message[: limit - 1].rstrip() + "…"


def name_of_test(test: str) -> str:
    """Return a test's name without modules and parameters; a title is its last part."""
    if " " in test:
        return re.split(r" [>\u203a] ", test)[-1].strip()
    return test.rpartition("::")[2].partition("[")[0]


def _distinct(found: Iterable[CommandFailure]) -> list[CommandFailure]:
    """Return each failure once, with what several lines say about it."""
    by_name: dict[str, CommandFailure] = {}
    for failure in found:
        name = stable_name(failure.name)
        if not _is_name(name):
            continue
        message = "" if patterns.RULER.match(failure.message) else failure.message
        message = message or (failure.name if name.endswith("…") else "")
        message = stable_name(message, _MAX_MESSAGE_LENGTH)
        known = by_name.get(name, replace(failure, name=name, message=message))
        if name not in by_name and len(by_name) >= _MAX_FAILURES:
            break
        by_name[name] = replace(
            known, message=known.message or message, location=known.location or failure.location
        )
    return list(by_name.values())


def _failed_tests(text: str) -> Iterator[CommandFailure]:
    yield from _failed_go_tests(text)
    has_titles = (
        patterns.NO_TITLES.search(text) is None and patterns.COUNTS_TESTS.search(text) is not None
    )
    for pattern in patterns.TESTS:
        for match in islice(pattern.finditer(text), 2 * _MAX_FAILURES):
            if match[0].lstrip()[:1] in _TITLE_MARKS and not has_titles:
                continue
            groups = match.groupdict()
            test = match["test"] or groups["test2"]
            # A group fails because one of its tests failed; a heading ends in a colon.
            if f"\u25b6 {test}\n" in text or test.endswith(":"):
                continue
            message = groups.get("message") or ""
            if not message or patterns.CUT_SUMMARY.search(message):
                message = _reason(text, name_of_test(test)) or message
            location = groups.get("location") or _file_above(text, match.start())
            yield CommandFailure(name_of_test(test), location, FailureKind.TEST, message)


def _file_above(text: str, end: int) -> str:
    """Return the file that the last line above names as that of its tests."""
    found = patterns.TEST_FILE.findall(text, max(0, end - _MESSAGE_CHARS), end)
    return str(found[-1]) if found else ""


def _reason(text: str, test: str) -> str:
    """Return why a test failed, as stated below one of the lines that name it."""
    start = text.find(test)
    for _ in range(_NAMED_LINES):
        if start < 0:
            break
        start += len(test)
        following = patterns.NEXT_TEST.search(text, start)
        block = text[
            start : min(following.start() if following else len(text), start + _REASON_CHARS)
        ]
        first = patterns.REASON.search(block)
        values = [match["one"].strip() for match in islice(patterns.VALUES.finditer(block), 2)]
        said = patterns.REASON_MARK.sub(" ", first["first"]).strip() if first else ""
        if said or len(values) > 1:
            return f"{said} ({', '.join(values)})" if said and values else said or ", ".join(values)
        start = text.find(test, start)
    return ""


def _failed_go_tests(text: str) -> Iterator[CommandFailure]:
    matches = list(patterns.GO_TEST.finditer(text))
    names = [match["test"] for match in matches]
    for match in matches[: 4 * _MAX_FAILURES]:
        test = match["test"]
        # A test fails because one of its cases failed.
        if not any(name.startswith(f"{test}/") for name in names):
            location, message = _go_message(text, match)
            package = patterns.GO_PACKAGE.search(text, match.end())
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
    for lines in ([*reversed(of_test)], [*takewhile(_is_no_go_step, above)]):
        found = next(filter(None, map(patterns.GO_MESSAGE.match, lines)), None)
        if found:
            return found["location"], found["message"]
    place = next(filter(None, map(patterns.GO_PLACE.match, of_test)), None)
    block = "\n".join(of_test)
    said = patterns.TESTIFY.search(block) or patterns.GO_PANIC.search(block)
    values = (
        [match["one"].strip() for match in islice(patterns.VALUES.finditer(block), 2)]
        if place
        else []
    )
    message = " ".join([said[1].strip(), ", ".join(values)]) if said else ""
    return place["location"] if place else "", message


def _is_no_go_step(line: str) -> bool:
    return patterns.GO_STEP.match(line) is None


def _findings(text: str) -> Iterator[CommandFailure]:
    text = patterns.WRAPPED.sub(lambda match: patterns.LINE_BREAK.sub(" ", match[0]), text)
    starts: set[int] = set()
    for pattern in patterns.FINDINGS:
        # The last pattern, of compilers, matches what some linters print, too.
        for match in (one for one in pattern.finditer(text) if one.start() not in starts):
            starts.add(match.start())
            groups = match.groupdict()
            location, message = groups.get("location") or "", match["message"]
            rule = groups.get("rule2") or groups.get("rule")
            if "location" not in groups:
                listed = patterns.LISTED_FILE.findall(
                    text, max(0, match.start() - 4000), match.start()
                )
                location = listed[-1] if listed else ""
            if rule == "" and patterns.FORMATTING.search(text):
                name = f"formatting of {location}"
                yield CommandFailure(name, location, FailureKind.FINDING, "not formatted")
            elif rule:
                code = patterns.RULE_CODE.match(message)
                name = f"{rule} {code[1]}" if code else rule
                message = message[code.end() :] if code else message
                name = f"{name} in {location}" if location else f"{name}: {message}"
                yield CommandFailure(name, location, FailureKind.FINDING, message)
            elif rule is None:
                name = f"{groups['kind']}: {message}" if groups.get("kind") else message
                yield CommandFailure(name, location, FailureKind.FINDING)


def _job_failure(job: str) -> str:
    return f"{_JOB}{job} failed"


def _messages(text: str) -> list[CommandFailure]:
    """Return the first two messages, in order: those below tell what follows from them."""
    found = dict(_typed_errors(text))
    for pattern in patterns.ERRORS:
        for match in islice(pattern.finditer(text), _MAX_FAILURES):
            groups = match.groupdict()
            name = groups.get("message") or _job_failure(groups["job"])
            name = f"{groups['kind']}: {name}" if groups.get("kind") else name
            location = groups.get("location") or _frame(text, match.start(), match.end())
            found.setdefault(match.start(), CommandFailure(name, location))
    named = [found[start] for start in sorted(found) if _is_name(stable_name(found[start].name))]
    return named[:_MAX_MESSAGES]


def _typed_errors(text: str) -> Iterator[tuple[int, CommandFailure]]:
    """Find `SomeError: message`, and whatever ends a trace of Python, with their places.

    Of exceptions that others led to, only the last ones are what failed.
    """
    chained = [match.end() for match in patterns.CHAINED.finditer(text)]
    begin = chained[-1] if chained else 0
    for match in (*patterns.TYPED_ERROR.finditer(text, begin), *_raised(text, begin)):
        kind, message = re.split(r"\.|::", match.group(1))[-1], match.group(2) or ""
        named = f"{kind}: {message}" if message else kind
        name = message if kind == "Error" and message else named
        yield match.start(), CommandFailure(name, _frame(text, match.start(), match.end()))


def _raised(text: str, begin: int) -> Iterator[re.Match[str]]:
    for trace in islice(patterns.TRACE.finditer(text, begin), _MAX_FAILURES):
        start = trace.end() + 1
        while start < len(text) and text[start] in " \t\n|+":
            start = text.find("\n", start) + 1 or len(text)
        found = patterns.RAISED.match(text[start : start + _MAX_LINE].partition("\n")[0])
        if found and (at := patterns.RAISED.match(text, start, start + found.end())):
            yield at


def _frame(text: str, start: int, end: int) -> str:
    """Return the file of the project where an error occurred: above it in Python, else below."""
    above, below = text[max(0, start - 1500) : start], text[end : end + 1500]
    of_python, *others = patterns.FRAMES
    frames = [
        *reversed(of_python.findall(above)),
        *reversed(others[-1].findall(above)),
        *(x for one in others for x in one.findall(below)),
    ]
    return next((path for path in frames if not patterns.LIBRARY.search(path)), "")


def _is_name(name: str) -> bool:
    letters = sum(map(str.isalpha, name))
    is_said = not (patterns.GENERIC_MESSAGE.match(name) or patterns.RULER.match(name))
    return letters >= _MIN_LETTERS and is_said


def _short(text: str) -> Iterator[CommandFailure]:
    # A single word is a file that a formatter lists.
    lines = [line for line in text.split("\n") if _is_name(line) and " " in line.strip()]
    if len(lines) <= _SHORT_LINES:
        yield from (CommandFailure(line[:300], "") for line in lines[:1])


def _fallback(text: str) -> Iterator[CommandFailure]:
    for line in text.split("\n")[:60]:
        name = stable_name(line[:300])
        if len(name) >= _MIN_LENGTH and patterns.FAILURE_WORD.search(name) and _is_name(name):
            yield CommandFailure(line[:300], "")
            return
