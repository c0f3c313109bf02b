"""What a tool does, whatever agent calls it so: its role decides what is kept of its outcome."""

import polars as pl

BOOKKEEPING = ("TodoWrite", "TodoRead", "TaskUpdate", "TaskList", "TaskGet", "update_plan")
"""Lists that an agent keeps for itself: what it did stands in the other calls."""

RUN_TOOLS = r"(?i-u:bash|shell|exec|terminal|command|(?:^|_)run_|(?:^|_)test|write_stdin)"
"""Names of tools that run commands."""
_READS = (
    r"^(?i-u:(?:notebook)?read|(?:read|open|view|get|cat)_?(?:many_?)?files?(?:_contents?)?|view|cat"
    r"|ls|list|list_?(?:dir|directory|files|file_tree)|lsp|skill|toolsearch|tool_search)$"
)
_LOOKS = (
    r"^(?i-u:grep|glob|rg|find|grep_search|file_search|codebase_search|search_files?(?:_content)?"
    r"|search_for_pattern|find_file|find_symbol)$"
)
EDIT_TOOLS = (
    r"^(?i-u:(?:multi_?|notebook)?edit|(?:multi_?)?replace|write|update|patch|apply_(?:patch|diff)"
    r"|(?:write|create|edit|delete|insert|search|str|string)_(?:to_|and_|_)?(?:file|replace|edit)\w*)$"
)
"""Names of tools that change files."""
_REPORTS = r"^(?i-u:task|agent|(?:google_)?web_?(?:search|fetch)|fetch|spawn_agent|wait)$"

_SHOWING = (
    r"(?:cat|head|tail|sed|grep|egrep|rg|ls|find|fd|jq|wc|tree|nl|awk|less|sort|cut|column|echo|pwd|cd"
    r"|which|file|stat|du|type|Get-Content|Get-ChildItem|Select-String|dir|git blame)"
)
_STARTS = r"(?:^|&& *|; *|\|\| *)"
_ANY = _STARTS + r"[A-Za-z./_(\[{]"
_SHOWS = _STARTS + _SHOWING + r"(?-u:\b)"


def role() -> pl.Expr:
    """Return `role` of columns `name` and `input`: what kind of outcome is to be expected.

    runs: a command that may change something. looks: a search, or a command that only shows.
    reads: a file or a listing. edits, reports: what they say. other: no one knows.
    """
    name = pl.col("name")
    told = (
        pl.when(name.str.contains(_READS))
        .then(pl.lit("reads"))
        .when(name.str.contains(EDIT_TOOLS))
        .then(pl.lit("edits"))
        .when(name.str.contains(_LOOKS))
        .then(pl.lit("looks"))
        .when(name.str.contains(_REPORTS))
        .then(pl.lit("reports"))
        .when(name.str.contains(RUN_TOOLS))
        .then(pl.when(_only_shows()).then(pl.lit("looks")).otherwise(pl.lit("runs")))
        .otherwise(pl.lit("other"))
    )
    return told.alias("role")


def _only_shows() -> pl.Expr:
    """Say whether each command of a line is one that shows."""
    call = pl.col("input")
    return call.str.count_matches(_ANY) == call.str.count_matches(_SHOWS)
