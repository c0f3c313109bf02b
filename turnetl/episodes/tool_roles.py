"""Roles of tools across agents: the role decides what is kept of a call's result.

Two other modules interpret tool names: `structural.calls` and `parsing.excerpts`. They do
not share this table, because their errors cost different things. Here a pattern also matches
unknown names, since a wrong role only condenses a result differently; there only known names count,
since a wrong role would create a false fact, or change what is stored of a turn.
"""

import polars as pl

BOOKKEEPING_TOOLS = ("TodoWrite", "TodoRead", "TaskUpdate", "TaskList", "TaskGet", "update_plan")
"""Names of tools that manage an agent's own lists; the other calls contain the work itself."""

RUN_TOOLS = r"(?i-u:bash|shell|exec|terminal|command|(?:^|_)run_|(?:^|_)test|write_stdin)"
"""Names of tools that run commands."""
_READ_TOOLS = (
    r"^(?i-u:(?:notebook)?read|(?:read|open|view|get|cat)_?(?:many_?)?files?(?:_contents?)?|view|cat"
    r"|ls|list|list_?(?:dir|directory|files|file_tree)|lsp|skill|toolsearch|tool_search)$"
)
_SEARCH_TOOLS = (
    r"^(?i-u:grep|glob|rg|find|grep_search|file_search|codebase_search|search_files?(?:_content)?"
    r"|search_for_pattern|find_file|find_symbol)$"
)
EDIT_TOOLS = (
    r"^(?i-u:(?:multi_?|notebook)?edit|(?:multi_?)?replace|write|update|patch|apply_(?:patch|diff)"
    r"|(?:write|create|edit|delete|insert|search|str|string)_(?:to_|and_|_)?(?:file|replace|edit)\w*)$"
)
"""Names of tools that change files."""
_REPORT_TOOLS = r"^(?i-u:task|agent|(?:google_)?web_?(?:search|fetch)|fetch|spawn_agent|wait)$"

_DISPLAY_COMMAND = (
    r"(?:cat|head|tail|sed|grep|egrep|rg|ls|find|fd|jq|wc|tree|nl|awk|less|sort|cut|column|echo|pwd|cd"
    r"|which|file|stat|du|type|Get-Content|Get-ChildItem|Select-String|dir|git blame)"
)
_COMMAND_START = r"(?:^|&& *|; *|\|\| *)"
_ANY_COMMAND = _COMMAND_START + r"[A-Za-z./_(\[{]"
_ONLY_DISPLAY = _COMMAND_START + _DISPLAY_COMMAND + r"(?-u:\b)"


def role() -> pl.Expr:
    """Return `role` from columns `name` and `input`: what kind of result to expect.

    - read: a file or a listing.
    - edit: a confirmation of a change.
    - search: matches, or the output of a command that only displays something.
    - report: the findings of a subagent, or a web page.
    - run: the output of a command that may change something.
    - other: unknown.
    """
    name = pl.col("name")
    role_of_name = (
        pl.when(name.str.contains(_READ_TOOLS))
        .then(pl.lit("read"))
        .when(name.str.contains(EDIT_TOOLS))
        .then(pl.lit("edit"))
        .when(name.str.contains(_SEARCH_TOOLS))
        .then(pl.lit("search"))
        .when(name.str.contains(_REPORT_TOOLS))
        .then(pl.lit("report"))
        .when(name.str.contains(RUN_TOOLS))
        .then(pl.when(_only_displays()).then(pl.lit("search")).otherwise(pl.lit("run")))
        .otherwise(pl.lit("other"))
    )
    return role_of_name.alias("role")


def _only_displays() -> pl.Expr:
    """Return whether each command of a line is one that only displays something."""
    call = pl.col("input")
    return call.str.count_matches(_ANY_COMMAND) == call.str.count_matches(_ONLY_DISPLAY)
