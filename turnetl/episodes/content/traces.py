"""Stack traces: the exceptions with their messages, and the innermost frame in the project."""

import polars as pl

from turnetl.episodes.content import output_lines
from turnetl.episodes.content.base import CWD, TEXT, ContentType, join_lines, matching_lines

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


def _condensed() -> pl.Expr:
    exception = pl.element().str.replace(_PYTHON_FRAMES, "").str.strip_chars()
    exceptions = (
        TEXT.str.extract_all(_EXCEPTION).list.eval(exception).list.unique(maintain_order=True)
    )
    ends = exceptions.list.head(1).list.concat(exceptions.list.tail(_MAX_EXCEPTIONS - 1))
    totals = matching_lines(TEXT, output_lines.whole_line(output_lines.TOTAL))
    failures = matching_lines(TEXT, output_lines.whole_line(output_lines.FAILURE)).list.eval(
        _outside_trace(pl.element())
    )
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


TRACES = ContentType("traces", TEXT.str.contains(_TRACE), _condensed())
