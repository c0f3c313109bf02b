"""Stack traces: what was raised, with its message, and the innermost frame in the project."""

import polars as pl

from turnetl.episodes.content import output_lines
from turnetl.episodes.content.base import CWD, TEXT, ContentType, join_lines
from turnetl.episodes.content.base import matching_lines as lines_of

_SIGN = (
    r"(?m)Traceback \(most recent call last\)|^\s+at [^\n]+:[0-9]+|^\s+at [\w.$<>]+\("
    r"|^goroutine [0-9]+ \[|panicked at |\.rb:[0-9]+:in [`']"
)
_RAISED = (
    # Python, whatever the type is called: the line behind the last frame.
    r"(?m)^ +File \"[^\n]+\n(?: {4}[^\n]*\n)?(?:[ ^~]+\n)?[A-Za-z_][\w.]*(?:: [^\n]*|$)"
    # JavaScript, Java, C#.
    r"|^(?:Exception in thread \"[^\"\n]*\" |Unhandled exception\. |Uncaught |Caused by: |E +)?"
    r"[\w.$/]*(?:Error|Exception|Throwable)(?: \[\w+\])?(?::[^\n]*|$)"
    # Go and Rust; the message of a newer Rust stands on the next line.
    r"|^(?:panic|fatal error): [^\n]*|^thread '[^\n]*panicked at [^\n]*:\n[^\n]+"
    r"|^thread '[^\n]*panicked at [^\n]*"
    # Ruby.
    r"|^\S+\.rb:[0-9]+:in [^\n]*"
)
_FRAMES_BEFORE = r"(?s)^ +File \".*\n"
_FRAME = (
    r"(?m)^\s*File \"[^\"\n]+\", line [0-9]+(?:, in [^\n]+)?|^\s+at [^\n]+"
    r"|^\s+[^\s:]+\.go:[0-9]+|^\s+from \S+\.rb:[0-9]+[^\n]*"
)
_FOREIGN = (
    r"site-packages|dist-packages|node_modules|lib/python[0-9]|<frozen |<string>|node:|\(internal/"
    r"|/usr/lib/|/go/src/|/go/pkg/mod/|\.cargo/|/rustc/|/rustlib/|/gems/|/rubygems"
    r"|at (?:async )?(?:java|javax|jdk|sun|scala|kotlin|System|Microsoft|Xunit|NUnit)\."
    r"|at org\.(?:junit|springframework|apache|gradle|hibernate|eclipse)\."
    r"|at (?:std|core|alloc)::|/libexec/|<anonymous>\)?$|\(native"
)
_ABSOLUTE = r"[\"(\s](?:/|[A-Z]:\\|file://)"
_PYTHON = r"^\s*File \""
_MESSAGES = 3
_IN_TRACE = r"^[ \t]*(?:at |File \"|from |[0-9]+: |raise |throw |Traceback)|\.(?:go|rb):[0-9]+"
_FAILURES, _TOTALS = 4, 3


def _shortened() -> pl.Expr:
    said = pl.element().str.replace(_FRAMES_BEFORE, "").str.strip_chars()
    raised = TEXT.str.extract_all(_RAISED).list.eval(said).list.unique(maintain_order=True)
    ends = raised.list.head(1).list.concat(raised.list.tail(_MESSAGES - 1))
    totals = lines_of(TEXT, output_lines.whole_line(output_lines.TOTAL)).list.tail(_TOTALS)
    wrong = lines_of(TEXT, output_lines.whole_line(output_lines.FAILURE)).list.eval(
        _no_frame(pl.element())
    )
    where = _innermost().list.eval("at " + _place(pl.element()))
    return join_lines(pl.concat_list(ends, wrong.list.head(_FAILURES), where, totals))


def _no_frame(line: pl.Expr) -> pl.Expr:
    """Leave out frames and the code in them, which a failure of a test does not stand in."""
    return line.filter(~line.str.contains(_IN_TRACE))


def _innermost() -> pl.Expr:
    """Return the innermost frame in the project, a list of one or none.

    Frames lose the folder of the turn, so that one inside it is told by its path.
    """
    inside = pl.when(CWD == "").then(TEXT).otherwise(TEXT.str.split(CWD + "/").list.join(""))
    own = inside.str.extract_all(_FRAME).list.eval(
        pl.element().filter(~pl.element().str.contains(_FOREIGN))
    )
    near = own.list.eval(pl.element().filter(~pl.element().str.contains(_ABSOLUTE)))
    frames = pl.when(near.list.len() > 0).then(near).otherwise(own)
    last = frames.list.eval(pl.element().str.contains(_PYTHON).any())
    return (
        pl.when(last.list.first().fill_null(value=False))
        .then(frames.list.tail(1))
        .otherwise(frames.list.head(1))
    )


def _place(frame: pl.Expr) -> pl.Expr:
    plain = frame.str.replace(r"File \"([^\"]+)\", line ([0-9]+)", "$1:$2")
    return plain.str.replace(r"^\s*(?:at|from) ", "").str.strip_chars()


TRACES = ContentType("traces", TEXT.str.contains(_SIGN), _shortened())
