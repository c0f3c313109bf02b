"""A report that was written, on one line."""

from turnetl.activity_report.model import TokenCount
from turnetl.activity_report.report import ReportFile
from turnetl.base.text import plural, size
from turnetl.views.nodes import View

_MILLION = 1_000_000


def view(written: ReportFile) -> View:
    """Return the file, its size and what it is about."""
    counts = (
        f"{plural(written.turns, 'turn')} of {plural(written.sessions, 'session')} in "
        f"{plural(written.projects, 'project')}"
    )
    tokens = token_split(written.tokens)
    return [f"{written.path}: {size(written.bytes)}, {counts}; {tokens}"]


def token_split(tokens: TokenCount) -> str:
    """Return all tokens and what they are: `12.3 M tokens: 0.4 M input, ...`."""
    parts = [
        (tokens.input_tokens, "input"),
        (tokens.cache_write_tokens, "cache write"),
        (tokens.cache_read_tokens, "cache read"),
        (tokens.output_tokens, "output"),
    ]
    reasoning = tokens.reasoning_tokens
    listed = ", ".join(f"{_rounded(one)} {name}" for one, name in parts if one is not None)
    of_it = f" ({_rounded(reasoning)} of it reasoning)" if reasoning else ""
    return f"{_rounded(tokens.tokens)} tokens: {listed}{of_it}"


def _rounded(count: int) -> str:
    """Return a number, in millions if it is large."""
    return f"{count / _MILLION:,.1f} M" if count >= _MILLION // 10 else f"{count:,}"
