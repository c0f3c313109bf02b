"""Content types of what programs print: commands, logs, stack traces, results for the model.

Character classes and word boundaries are ASCII: with Unicode boundaries a pattern is thirty times
slower on texts that contain other characters.
"""

import polars as pl

from turnetl.episodes.content.base import (
    CWD,
    FAILED,
    ROLE,
    TEXT,
    ContentType,
    flatten,
    join_lines,
    matching_lines,
    tidy_line,
    truncate,
)

_B = r"(?-u:\b)"
"""A word boundary."""
_S = r"[^ \t\n]"
"""A visible character."""

FAILURE = "|".join(
    (
        rf"{_B}FAIL(?:ED|URES?|S)?{_B}|[a-z](?:Error|Exception){_B}|{_B}ERROR{_B}|^[Ee]rror{_B}",
        r"(?:[Ee]rror|ERR!)(?:\[[A-Za-z0-9_]+\]| [A-Z]+[0-9]+)?:|panic:|panicked|fatal:|refused",
        rf"{_B}denied{_B}|{_B}fails?{_B}|^[ \t]*Failed ",
        r"[Ff]ailed(?::| to | with | for |!| asserting)",
        r"^[ \t]*(?:●|[0-9]+\)|Expected|Received|expected|Actual|got)(?::| [^ ])|Failure/Error",
        r"^[ \t]+[0-9]+:[0-9]+ +(?:error|warning)",
        r"[Nn]ot found|No such|[Cc]annot |[Cc]ould not|[Uu]nable to|undefined:|[Tt]imed out",
        rf"Traceback|CONFLICT|##\[error\]|^E  +{_S}|^not ok |✗|✖|✘|❌",
        rf"{_B}[1-9][0-9]* (?:failed|failures?|errors?){_B}",
        r"[Ee]xit(?:ed with)?(?: status| [Cc]ode):? [1-9]|[a-z_]\.[a-z]+:[0-9]+[: ]",
        r" \([a-z]{4,}\)$",
    )
)
"""Part of a line that reports a failure."""

_COUNTED = (
    "pass(?:ed|ing)|fail(?:ed|ing)|skipped|tests?|examples?|assertions?|issues?|insertions?"
    "|files? (?:changed|left|would|reformatted)|deletions?|commits?|warnings?|problems?|packages?"
    "|vulnerabilities"
)
TOTAL = "|".join(
    (
        rf"{_B}[0-9]+ (?:{_COUNTED}){_B}|^(?:ok|OK|PASS|Ran|BUILD|TOTAL){_B}|^test result",
        r"^Tests?:|^Plan: |(?:[Ff]ailed|[Pp]assed): +[0-9]|will be (?:created|destroyed|updated)",
        r"^\[[^\]\n]+ [0-9a-f]{7,}\]|^ +[0-9a-f]{7,}\.\.|^ [*+!-] \[[^\]\n]+\]|HEAD is now",
        r"[Ss]witched to |^On branch |^Your branch is (?:ahead|behind)|[Uu]p[- ]to[- ]date",
        r"^[ \t]+(?:modified|new file|deleted|renamed): |^Merge |^Fast-forward|[Ss]uccess(?:ful)",
        r"^(?:Installed|[Aa]dded|[Rr]emoved|Updated|[Cc]reated|Deleted|Wrote|Built) |^\+ [^ \t\n]",
        rf"^go: (?:added|upgraded)|^[Vv]ersion|==[0-9]+\.[0-9]|^{_S}+[ @]v?[0-9]+\.[0-9.]+{_S}*$",
        r"^(?:remote: +)?https?://|/(?:pull|issues|merge_requests|releases|runs|commit)/[0-9a-f]",
        r"[Cc]overage|[Ll]istening on|localhost:[0-9]",
    )
)
"""Part of a line that reports an outcome: totals, commits, versions, addresses."""

ERROR_CAUSE = (
    r"(?i-u:error|exception|fail(?:ed|ure|s|:)|fatal|panic|denied|refused|not found|no such"
    r"|undefined|cannot|can't|unable|traceback|timed? ?out|conflict|invalid|missing"
    r"|exit(?:ed with)? code:? [1-9])"
)
"""Part of a line that may say why a call failed; broader than `FAILURE`."""


def whole_line(part: str) -> str:
    return rf"(?m)^[^\n]*(?:{part})[^\n]*$"


_FIRST_FAILURES, _LAST_FAILURES, _CAUSES = 5, 4, 3
"""Lines kept: the first and the last failures, and possible causes."""
_FIRST_TOTALS, _LAST_TOTALS = 2, 5
"""Lines kept of totals."""
_SHORT_CHARS, _SHORT_BREAKS = 240, 4
"""Maximum characters and line breaks of a result that is kept whole."""
_REPORT_CHARS, _OTHER_CHARS = 1500, 300
"""Characters kept of a report, and of a result of no other type."""
_REJECTED = "The user doesn't want to "
_LAUNCHED, _AGENT = "Async agent launched", r"agentId: ([0-9A-Za-z-]+)"
_REJECTION = "tool use rejected by the user"
_FAILURE = whole_line(FAILURE)
_TOTAL = whole_line(TOTAL)
_CAUSE = whole_line(ERROR_CAUSE)
_UNINFORMATIVE = r"\(cached\)|no test files|(?-u:\b)(?:INFO|DEBUG|TRACE)(?-u:\b)"


def _failure_reason() -> pl.Expr:
    causes = matching_lines(TEXT, _CAUSE).list.head(_CAUSES)
    lines = _joined_or_null(_failures(), causes, _totals())
    return pl.coalesce(lines, tidy_line(_first_line()))


def _failures() -> pl.Expr:
    return _ends(_informative_lines(_FAILURE), _FIRST_FAILURES, _LAST_FAILURES)


def _totals() -> pl.Expr:
    return _ends(_informative_lines(_TOTAL), _FIRST_TOTALS, _LAST_TOTALS)


def _ends(lines: pl.Expr, first: int, last: int) -> pl.Expr:
    """Return the first and the last lines; some occur twice if there are few."""
    # One gather, because polars evaluates an expression at each use.
    indexes = [*range(first), *range(-last, 0)]
    return lines.list.gather(indexes, null_on_oob=True)


def _informative_lines(pattern: str) -> pl.Expr:
    informative = pl.element().filter(~pl.element().str.contains(_UNINFORMATIVE))
    return matching_lines(TEXT, pattern).list.eval(informative)


def _joined_or_null(*lines: pl.Expr) -> pl.Expr:
    return join_lines(pl.concat_list(*lines)).replace("", None)


def _first_line() -> pl.Expr:
    return TEXT.str.strip_chars_start().str.extract(r"\A[^\n]*", 0).fill_null("")


def _first_and_last_line() -> pl.Expr:
    """Return both, for a command whose output has neither failures nor totals."""
    last = TEXT.str.strip_chars_end().str.extract(r"[^\n]*\z", 0).fill_null("")
    return join_lines(pl.concat_list(_first_line(), last))


def _report() -> pl.Expr:
    """Return the findings; of an agent that still runs only its id."""
    prose = truncate(TEXT.str.replace_all(r"\s+", " "), _REPORT_CHARS)
    launched = pl.format("launched {}", TEXT.str.extract(_AGENT)).fill_null("")
    return pl.when(TEXT.str.starts_with(_LAUNCHED)).then(launched).otherwise(prose)


REJECTED = ContentType("rejected", FAILED & TEXT.str.starts_with(_REJECTED), pl.lit(_REJECTION))
"""A call that the user rejected; the reason is in what the user typed."""

SHORT = ContentType(
    "short",
    (TEXT.str.len_chars() <= _SHORT_CHARS)
    & (TEXT.str.count_matches("\n", literal=True) <= _SHORT_BREAKS),
    flatten(TEXT),
)
"""A short result is kept whole, regardless of its content."""

ERRORS = ContentType("errors", FAILED, _failure_reason())

COMMANDS = ContentType(
    "commands",
    ROLE == "run",
    pl.coalesce(_joined_or_null(_failures(), _totals()), _first_and_last_line()),
)
"""A command that succeeded, or that reports its failure only in its output."""

REPORTS = ContentType("reports", ~FAILED & (ROLE == "report"), _report())
"""The findings of a subagent, or a web page."""

OTHERS = ContentType(
    "others", pl.lit(value=True), truncate(TEXT.str.replace_all(r"\s+", " "), _OTHER_CHARS)
)


_PREFIX = r"(?m)^(?:[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[\])]? *)?[ -~\t]{0,24}?(?-u:\b)"
_LEVELS = {
    "debug": "(?:DEBUG|TRACE|debug)",
    "info": "(?:INFO|NOTICE|info)",
    "warnings": "(?:WARN(?:ING)?|warn)",
    "errors": "(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|error|fatal)",
}
_LEVEL = "(?:" + "|".join(_LEVELS.values()) + ")"
_LOG_LINE = (
    r"(?m)^(?:[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[ -~\t]{0,40}?(?-u:\b)|\[|time=[ -~]{0,60}?level=)"
    + _LEVEL
)
_MIN_LINES = 4
_MAX_ERRORS = 5
_TIME = r"^[\[(]?[0-9][0-9TZ:.,/ +-]{7,}[\])]? *"


def _is_log() -> pl.Expr:
    """Return whether most lines have a level near their start, after a time or in brackets."""
    lines = TEXT.str.count_matches(_LOG_LINE)
    return (lines >= _MIN_LINES) & (lines * 2 >= TEXT.str.count_matches("\n", literal=True))


def _condensed() -> pl.Expr:
    counts = [
        pl.when((count := TEXT.str.count_matches(rf"{_PREFIX}{level}(?-u:\b)")) > 0)
        .then(pl.format("{} {}", count, pl.lit(name)))
        .otherwise(pl.lit(""))
        for name, level in _LEVELS.items()
    ]
    levels = pl.concat_list(counts).list.eval(pl.element().filter(pl.element() != ""))
    errors = matching_lines(TEXT, rf"{_PREFIX}{_LEVELS['errors']}(?-u:\b)[^\n]*").list.eval(
        pl.element().str.replace(_TIME, "")
    )
    different = errors.list.unique(maintain_order=True).list.head(_MAX_ERRORS)
    totals = matching_lines(TEXT, whole_line(TOTAL)).list.tail(2)
    summary = pl.concat_list("log: " + levels.list.join(", "))
    return join_lines(summary.list.concat(different).list.concat(totals))


LOGS = ContentType("logs", _is_log(), _condensed())


_TRACE = (
    r"(?m)Traceback \(most recent call last\)|^\s+at [^\n]+:[0-9]+|^\s+at [\w.$<>]+\("
    r"|^goroutine [0-9]+ \[|panicked at |\.rb:[0-9]+:in [`']"
)
_EXCEPTION = (
    # Python, for any name of the type: the line after the last frame.
    r"(?m)^ +File \"[^\n]+\n(?: {4}[^\n]*\n)?(?:[ ^~]+\n)?[A-Za-z_][\w.]*(?:: [^\n]*|$)"
    # JavaScript, Java, C#.
    r"|^(?:Exception in thread \"[^\"\n]*\" |Unhandled exception\. |Uncaught |Caused by: |E +)?"
    r"[\w.$/]*(?:Error|Exception|Throwable)(?: \[\w+\])?(?::[^\n]*|$)"
    # Go and Rust; newer versions of Rust write the message on the next line.
    r"|^(?:panic|fatal error): [^\n]*|^thread '[^\n]*panicked at [^\n]*:\n[^\n]+"
    r"|^thread '[^\n]*panicked at [^\n]*"
    # Ruby.
    r"|^\S+\.rb:[0-9]+:in [^\n]*"
)
_PYTHON_FRAMES = r"(?s)^ +File \".*\n"
_FRAME = (
    r"(?m)^\s*File \"[^\"\n]+\", line [0-9]+(?:, in [^\n]+)?|^\s+at [^\n]+"
    r"|^\s+[^\s:]+\.go:[0-9]+|^\s+from \S+\.rb:[0-9]+[^\n]*"
)
_LIBRARY = (
    r"site-packages|dist-packages|node_modules|lib/python[0-9]|<frozen |<string>|node:|\(internal/"
    r"|/usr/lib/|/go/src/|/go/pkg/mod/|\.cargo/|/rustc/|/rustlib/|/gems/|/rubygems"
    r"|at (?:async )?(?:java|javax|jdk|sun|scala|kotlin|System|Microsoft|Xunit|NUnit)\."
    r"|at org\.(?:junit|springframework|apache|gradle|hibernate|eclipse)\."
    r"|at (?:std|core|alloc)::|/libexec/|<anonymous>\)?$|\(native"
)
_ABSOLUTE_PATH = r"[\"(\s](?:/|[A-Z]:\\|file://)"
_PYTHON_FRAME = r"^\s*File \""
_MAX_EXCEPTIONS = 3
_TRACE_LINE = r"^[ \t]*(?:at |File \"|from |[0-9]+: |raise |throw |Traceback)|\.(?:go|rb):[0-9]+"
_MAX_FAILURES, _MAX_TOTALS = 4, 3


def _traces_condensed() -> pl.Expr:
    exception = pl.element().str.replace(_PYTHON_FRAMES, "").str.strip_chars()
    exceptions = (
        TEXT.str.extract_all(_EXCEPTION).list.eval(exception).list.unique(maintain_order=True)
    )
    ends = exceptions.list.head(1).list.concat(exceptions.list.tail(_MAX_EXCEPTIONS - 1))
    totals = matching_lines(TEXT, whole_line(TOTAL))
    failures = matching_lines(TEXT, whole_line(FAILURE)).list.eval(_outside_trace(pl.element()))
    location = _innermost_frame().list.eval("at " + _location(pl.element()))
    return join_lines(
        pl.concat_list(
            ends,
            failures.list.head(_MAX_FAILURES),
            location,
            totals.list.tail(_MAX_TOTALS),
        )
    )


def _outside_trace(line: pl.Expr) -> pl.Expr:
    """Remove frames and the code in them: no test reports its failure there."""
    return line.filter(~line.str.contains(_TRACE_LINE))


def _innermost_frame() -> pl.Expr:
    """Return the innermost frame in the project, as a list of one or none.

    The turn's working directory is removed from all frames first; a frame within it then has a
    relative path.
    """
    relative = pl.when(CWD == "").then(TEXT).otherwise(TEXT.str.split(CWD + "/").list.join(""))
    own = relative.str.extract_all(_FRAME).list.eval(
        pl.element().filter(~pl.element().str.contains(_LIBRARY))
    )
    in_project = own.list.eval(pl.element().filter(~pl.element().str.contains(_ABSOLUTE_PATH)))
    frames = pl.when(in_project.list.len() > 0).then(in_project).otherwise(own)
    # Python lists the innermost frame last, other languages list it first.
    is_python = frames.list.eval(pl.element().str.contains(_PYTHON_FRAME).any())
    return (
        pl.when(is_python.list.first().fill_null(value=False))
        .then(frames.list.tail(1))
        .otherwise(frames.list.head(1))
    )


def _location(frame: pl.Expr) -> pl.Expr:
    plain = frame.str.replace(r"File \"([^\"]+)\", line ([0-9]+)", "$1:$2")
    return plain.str.replace(r"^\s*(?:at|from) ", "").str.strip_chars()


TRACES = ContentType("traces", TEXT.str.contains(_TRACE), _traces_condensed())


_SHORT_LINE_CHARS, _SEARCHED_CHARS = 120, 400
"""Maximum characters of a short result, and of one that is searched for failures."""
_NO_RESULT = r"No such file|[Nn]ot found|[Dd]enied|^fatal:|[Ee]xit [Cc]ode: [1-9]"
_LOCATION = r"(?:[^ \t\n:]+:)?[0-9]+:"
_MATCH = rf"(?m)^{_LOCATION}[^\n]*|^[^ \t\n:]+/[^ \t\n:/]+\.[A-Za-z0-9]+$"
"""A match of a search: `path:line:text`, `line:text` in a single file, or a path alone."""
_MAX_MATCHES, _LINE_CHARS = 5, 100
"""Matches kept, and maximum characters of the first, which is kept with its text."""
_CREATED = r"^(?:File created|Created|Successfully created)|\nA [^ ]"
_CONFIRMATION = r"^(?:The file |Edit applied|Success\. Updated|Wrote file|\s*$)"
_DISPLAYS = ~FAILED & ROLE.is_in(["read", "search"])


def _file_change() -> pl.Expr:
    """Return `created` for a new file; otherwise what a short first line adds to a confirmation."""
    first_line = TEXT.str.extract(r"\A([^\n]*)").fill_null("")
    is_usual = TEXT.str.contains(_CONFIRMATION)
    line = pl.when(is_usual).then(pl.lit("")).otherwise(tidy_line(first_line, _SHORT_LINE_CHARS))
    return pl.when(TEXT.str.contains(_CREATED)).then(pl.lit("created")).otherwise(line)


def _search_result() -> pl.Expr:
    """Return failures, if the text is too short to be code; otherwise the matches."""
    is_short = TEXT.str.len_chars() <= _SEARCHED_CHARS
    text = pl.when(is_short).then(TEXT).otherwise(pl.lit(""))
    failures = join_lines(matching_lines(text, whole_line(_NO_RESULT)))
    return pl.coalesce(failures.replace("", None), _matches())


def _matches() -> pl.Expr:
    """Return the first match, and of other matches the file with its folder and line.

    The agent works on the matches next, so their text occurs in its following calls.
    """
    matches = TEXT.str.extract_all(_MATCH).list.head(_MAX_MATCHES)
    location = pl.element().str.replace(rf"^({_LOCATION}).*", "$1").str.strip_chars_end(":")
    others = matches.list.slice(1).list.eval(location.str.replace(r"^.*/([^/]+/[^/]+)$", "$1"))
    return join_lines(matches.list.head(1).list.concat(others), _LINE_CHARS)


DISCARDED = ~FAILED & (ROLE == "read")
"""Texts of which nothing is kept, so that no expression needs to read them."""

DISPLAYED = ContentType(
    "displayed",
    _DISPLAYS & (DISCARDED | (TEXT.str.len_chars() <= _SHORT_LINE_CHARS)),
    pl.when(DISCARDED).then(pl.lit("")).otherwise(flatten(TEXT)),
)
"""Files and listings, of which nothing is kept; and short results of searches, which are kept."""

SEARCH_RESULT = ContentType("search_result", _DISPLAYS, _search_result())
"""Results of searches and of commands that only display something."""

FILE_CHANGE = ContentType("file_change", ~FAILED & (ROLE == "edit"), _file_change())
"""Confirmation that a file was changed; the change itself is in the call."""
