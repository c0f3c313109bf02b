"""Render a turn as episode text: `user: ...`, `assistant: ...`, `tools: ...`.

A tool call is one line: tool name and input, and after an arrow the result: whether the call
failed, and what its content type keeps of it. The role of a tool decides what that is. Two other
modules interpret tool names: `structural.tool_calls` and `parsing.table`. They do not share this
table, because their errors cost different things. Here a pattern also matches unknown names, since
a wrong role only condenses a result differently; there only known names count, since a wrong role
would create a false fact, or change what is stored of a turn.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import polars as pl

from turnetl.base import edit_outline
from turnetl.base.model import ClosedBy, by_subagent
from turnetl.base.text import AUTHORED
from turnetl.episodes import content
from turnetl.noise.machine_prompts import HISTORY_CALL

_INTERRUPTED = "\n\nuser: [Request interrupted by user]"
"""What coding agents write where the user interrupts them."""


def render_turns(turns: pl.DataFrame, patterns: Sequence[str] = ()) -> pl.Series:
    """Return `text`, one per row of `schema.TURNS`: prompt, response, calls.

    Steering and answers of the user stand where they were said in the response, else after it.
    What the user typed is complete. What the patterns (Rust syntax) match is removed from the
    agent's text, from tool calls and from their results. A blank line separates messages. The text
    of a turn that has nothing but marks of redactions is empty.
    """
    agent = turns.with_columns(_cwd())
    cleaned = agent.with_columns(
        clean_messages(agent["user_text"]), _spoken(agent, patterns), call_lines(agent, patterns)
    )
    messages = pl.concat_list(
        _message("user", pl.col("user_text")),
        "spoken",
        pl.col("calls").list.eval("tools: " + pl.element()).list.join("\n"),
    )
    text = messages.list.eval(pl.element().filter(pl.element() != "")).list.join("\n\n")
    rows = apply_where(
        cleaned.select(text.alias("text"), "closed_by"),
        pl.col("text").str.contains_any(_MARKS),
        pl.when(_has_words(pl.col("text"))).then("text").otherwise(pl.lit("")).alias("text"),
        pl.col("text"),
    )
    ended = pl.when(_is_interrupted()).then(pl.col("text") + _INTERRUPTED).otherwise("text")
    return rows.select(ended)["text"]


_MARK = r"[\[<](?i-u:redacted)[^\[\]<>\n]{0,80}[\]>]|\*{4,}|█{2,}"
"""What turnetl, an agent or an exporter writes in place of a secret or of a whole text."""
_MARKS = [f"{bracket}{word}" for bracket in "[<" for word in ("REDACTED", "redacted", "Redacted")]
_MARKS += ["****", "██"]


def _has_words(text: pl.Expr) -> pl.Expr:
    """Return whether a text says anything without names of speakers and marks of redactions."""
    bare = text.str.replace_all(_MARK, "").str.replace_all(r"(?m)^(?:user|assistant): ", "")
    return bare.str.contains(r"[\p{L}\p{N}]")


def _says_nothing() -> pl.Expr:
    """Return whether the input of a call is a mark of a redaction, and the result at most one."""
    texts = [
        # Null, so that no pattern reads the other texts.
        pl.when(pl.col(name).str.contains(rf"^\s*(?:{_MARK})|^(?:null)?$"))
        .then(name)
        .replace("null", "")
        for name in ("input", "result")
    ]
    blank = [(~_has_words(one)).fill_null(value=False) for one in texts]
    return (pl.col("input") != "") & blank[0] & blank[1]


def _is_interrupted() -> pl.Expr:
    """Return whether the user interrupted the turn; false for a turn without text."""
    return (pl.col("closed_by") == ClosedBy.INTERRUPTED) & (pl.col("text") != "")


def _cwd() -> pl.Expr:
    """Return `cwd`: the turn's working directory without a final slash, or an empty string.

    A directory at the root is not a project: paths keep its name, because they need it.
    """
    cwd = pl.col("cwd").fill_null("").str.strip_chars_end("/")
    return pl.when(cwd.str.contains("./")).then(cwd).otherwise(pl.lit("")).alias("cwd")


def _message(speaker: str, text: pl.Expr) -> pl.Expr:
    return pl.when(text == "").then(pl.lit("")).otherwise(f"{speaker}: " + text)


def _spoken(turns: pl.DataFrame, patterns: Sequence[str]) -> pl.Series:
    """Return `spoken`: what the agent said, and the user after the prompt, as messages in order."""
    columns = ("cwd", "assistant_text", "steering", "user_answers", "places")
    rows = turns.select(columns).with_row_index()
    is_dialogue = pl.col("steering").list.len() + pl.col("user_answers").list.len() > 0
    alone = rows.filter(~is_dialogue)
    spoken = alone.select("index").with_columns(_agent_messages(alone, patterns))
    if alone.height == rows.height:
        return spoken["spoken"]
    schema = {"index": pl.UInt32, "cwd": pl.String, "by_user": pl.Boolean, "text": pl.String}
    said = [part for row in rows.filter(is_dialogue).iter_rows(named=True) for part in _parts(row)]
    parts = pl.DataFrame(said, schema, orient="row").with_row_index("position")
    agent = parts.filter(~pl.col("by_user")).rename({"text": "assistant_text"})
    user = parts.filter("by_user").with_columns(
        spoken=_message("user", clean_user_text(pl.col("text")))
    )
    messages = pl.concat(
        one.select("index", "position", "spoken")
        for one in (agent.with_columns(_agent_messages(agent, patterns)), user)
    )
    dialogues = messages.filter(pl.col("spoken") != "").sort("position").group_by("index")
    joined = pl.concat([spoken, dialogues.agg(pl.col("spoken").str.join("\n\n"))])
    ordered = rows.select("index").join(joined, on="index", how="left", maintain_order="left")
    return ordered["spoken"].fill_null("")


def _parts(row: Mapping[str, Any]) -> Iterator[tuple[int, str, bool, str]]:
    """Yield the texts of agent and user in order, each with index, folder and whether a user's."""
    index, cwd, text = row["index"], row["cwd"], row["assistant_text"]
    said = (*row["steering"], *row["user_answers"])
    places = row["places"] or ()
    # Of a turn that an older turnetl wrote they are unknown.
    at = places if len(places) == len(said) else [len(text)] * len(said)
    start = 0
    for place, one in sorted(zip(at, said, strict=True), key=itemgetter(0)):
        if text[start:place].strip():
            yield index, cwd, False, text[start:place]
            start = place
        yield index, cwd, True, one
    yield index, cwd, False, text[start:]


def _agent_messages(turns: pl.DataFrame, patterns: Sequence[str]) -> pl.Series:
    """Return `spoken`: `assistant_text` as a message, without what the patterns match."""
    unmatched = turns.with_columns(remove_patterns(pl.col("assistant_text"), patterns))
    cleaned = unmatched.select(clean_messages(condense_code_blocks(unmatched)))
    message = _message("assistant", clean_prose(pl.col("assistant_text")))
    return cleaned.select(spoken=message)["spoken"]


FENCED = r"(?ms)^[ \t]*```[^\n`]*\n.*?^[ \t]*```[ \t]*$"
_START, _END = "\ue000", "\ue001"
"""Delimiters from Unicode's private use area; a text that contains one is left unchanged."""
_SHORT_CHARS, _SHORT_BREAKS = 700, 14
"""Maximum characters and line breaks of a block that is kept unchanged."""


def condense_code_blocks(turns: pl.DataFrame) -> pl.Series:
    """Return `assistant_text`, one per turn, with each long block replaced by one line."""
    text = pl.col("assistant_text")
    rows = turns.select("assistant_text", "cwd").with_row_index()
    may_have_long = (text.str.len_bytes() > _SHORT_BREAKS) & text.str.contains("```", literal=True)
    candidates = rows.filter(may_have_long & ~text.str.contains_any([_START, _END]))
    condensed = _condensed(candidates).rename({"text": "condensed"})
    joined = rows.select("index", "assistant_text").join(
        condensed, on="index", how="left", maintain_order="left"
    )
    return joined.select(pl.coalesce("condensed", text).alias("assistant_text"))["assistant_text"]


def _condensed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `index` and `text`: the blocks split from the prose, condensed, and joined again."""
    delimited = pl.col("assistant_text").str.replace_all(FENCED, f"{_START}$0{_END}")
    # A segment is a block and the prose after it; the first segment has only prose, as `block`.
    segments = (
        rows.with_columns(delimited.str.split(_START).alias("segment"))
        .drop("assistant_text")
        .explode("segment")
        .with_columns(pl.col("segment").str.split_exact(_END, 1).alias("fields"))
        .unnest("fields")
        .rename({"field_0": "block", "field_1": "prose"})
        .with_row_index("position")
    )
    block = pl.col("block")
    is_long = (block.str.len_chars() > _SHORT_CHARS) | (
        block.str.count_matches("\n", literal=True) > _SHORT_BREAKS
    )
    blocks = segments.filter(pl.col("prose").is_not_null() & is_long)
    summaries = blocks.select("position", _summaries(blocks))
    joined = segments.join(summaries, on="position", how="left", maintain_order="left")
    segment = pl.coalesce("summary", block) + pl.col("prose").fill_null("")
    return joined.group_by("index", maintain_order=True).agg(segment.str.join("").alias("text"))


def _summaries(blocks: pl.DataFrame) -> pl.Series:
    """Return `[language, condensed text]` for each block."""
    block = pl.col("block")
    body = block.str.replace(r"\A[^\n]*\n", "").str.replace(r"\n?[^\n]*\z", "")
    language = block.str.extract(r"\A[ \t]*```[ \t]*([\w+#.-]*)")
    texts = blocks.select(text=body, role=pl.lit("code"), failed=pl.lit(value=False), cwd="cwd")
    condensed = texts.select(content.condense(texts, content.BLOCKS))
    labelled = condensed.with_columns(blocks.select(language=language)["language"])
    label = pl.when(pl.col("language") == "").then(pl.lit("code")).otherwise("language")
    return labelled.select(pl.format("[{}, {}]", label, "text").alias("summary"))["summary"]


_HEAD, _TAIL = 400, 100
"""Characters kept of a long input: the last step of a long command comes after a long text."""
_MAX_RESULTS = 3
"""Results kept of the same call: the first ones and the last."""
_STRING = r'":"((?:[^"\\]|\\.)*)"'


def call_lines(turns: pl.DataFrame, patterns: Sequence[str] = ()) -> pl.Series:
    """Return `calls`, one list per turn: its calls in order, each once with all its results."""
    rows = turns.select("cwd", "tool_calls").with_row_index()
    calls = rows.explode("tool_calls").drop_nulls("tool_calls").unnest("tool_calls")
    if has_subagents(turns):
        calls = pl.concat(
            [calls.with_columns(by=pl.lit("")), _subagent_steps(turns)], how="diagonal"
        )
    # What turnetl itself answered was said in other turns, and at other times.
    is_aside = pl.col("name").is_in(BOOKKEEPING_TOOLS) | pl.col("name").str.contains(HISTORY_CALL)
    relevant = calls.filter(~is_aside & ~_says_nothing()).with_columns(
        remove_patterns(pl.col("input", "result"), patterns)
    )
    relevant = apply_where(
        relevant,
        pl.col("input").str.contains(edit_outline.BEFORE, literal=True),
        pl.col("input").str.splitn(edit_outline.BEFORE, 2).struct.field("field_0").alias("input"),
        pl.col("input"),
    )
    # In steps, because polars evaluates an expression at each use.
    cleaned = clean_inputs(relevant).with_columns(tool_role())
    if "by" in cleaned.columns:
        is_answer = (pl.col("by") != "") & (pl.col("name") == _ANSWER)
        role = pl.when(is_answer).then(pl.lit("report")).otherwise("role")
        kept = (pl.col("by") == "") | is_answer | pl.col("role").is_in(_SUBAGENT_ROLES)
        cleaned = cleaned.filter(kept).with_columns(role=role)
    condensed = _with_call(cleaned).with_columns(condense_results(cleaned))
    distinct = condensed.group_by("index", "call", maintain_order=True).agg(
        pl.col("result").unique(maintain_order=True)
    )
    arrow = pl.when(pl.col("result") != "").then(" -> " + pl.col("result"))
    line = pl.concat_str("call", arrow, ignore_nulls=True)
    lines = _with_joined_results(distinct).group_by("index", maintain_order=True)
    joined = rows.select("index").join(
        lines.agg(line.alias("calls")), on="index", how="left", maintain_order="left"
    )
    none = pl.lit([], dtype=pl.List(pl.String))
    return joined.select(pl.coalesce("calls", none).alias("calls"))["calls"]


_SUBAGENT_ROLES = ("edit", "run")
"""Of rendered steps of subagents: what they read is in their answers, as far as it counts."""
_ANSWER = "answer"
"""In place of a tool: the last text of a subagent that is the result of no call."""
_COMPARED = 200
"""Characters of an answer by which the result of a call is known to hold it."""


def has_subagents(turns: pl.DataFrame) -> bool:
    """Return whether a turn has subagents; the column may be missing."""
    return "subagents" in turns.columns and bool((turns["subagents"].list.len() > 0).any())


def _subagent_steps(turns: pl.DataFrame) -> pl.DataFrame:
    """Return the calls of subagents with `by`, and answers that are the result of no call."""
    results = pl.col("tool_calls").list.eval(pl.element().struct.field("result")).list.join("\n")
    runs = (
        turns.select("cwd", "subagents", results=results)
        .with_row_index()
        .explode("subagents")
        .drop_nulls("subagents")
        .unnest("subagents")
    )
    by = [f" ({by_subagent([kind or ''])})" for kind in runs["type"]]
    runs = runs.with_columns(by=pl.Series(by, dtype=pl.String))
    steps = runs.select("index", "cwd", "by", "tool_calls").explode("tool_calls")
    answer = pl.col("answer")
    is_known = pl.col("results").str.contains(answer.str.head(_COMPARED), literal=True)
    answers = runs.filter((answer != "") & ~is_known).select(
        "index",
        "cwd",
        "by",
        name=pl.lit(_ANSWER),
        input=pl.lit(""),
        result="answer",
        is_error=pl.lit(value=False),
    )
    return pl.concat(
        [steps.drop_nulls("tool_calls").unnest("tool_calls").drop("line"), answers], how="diagonal"
    )


def _with_joined_results(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `result`, a list of the results in order, as one text."""
    result = pl.col("result")
    results = result.list.eval(pl.element().replace("", "done"))
    ends = results.list.head(_MAX_RESULTS - 1).list.concat(results.list.tail(1))
    kept = pl.when(result.list.len() > _MAX_RESULTS).then(ends).otherwise(results)
    joined = kept.list.join(", then ").alias("result")
    return apply_where(calls, result.list.len() > 1, joined, result.list.first())


def _with_call(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls with `call`: tool name and input, with paths relative to `cwd`."""
    call = pl.col("input")
    is_json = call.str.contains(r"^[{\[]")
    readable = apply_where(calls, is_json, _from_json().alias("input"), _relative(call))
    name = pl.col("name").str.replace(r"^mcp__.*__", "")
    one_line = call.str.replace_all(r"[ \t\n]{2,}|[\t\n]", " ")
    lines = readable.with_columns(call=one_line, original=calls["input"])
    text = pl.col("call")
    cut = apply_where(lines, text.str.len_chars() > _HEAD + _TAIL, _without_middle(text), text)
    by = [pl.col("by")] if "by" in calls.columns else []
    line = (name + " " + text).str.strip_chars_end()
    return cut.with_columns(call=pl.concat_str(line, *by))


def _without_middle(call: pl.Expr) -> pl.Expr:
    """Return the ends of long inputs; a text that an agent wrote for people is kept."""
    ends = call.str.head(_HEAD) + "..." + call.str.tail(_TAIL)
    is_authored = (pl.col("name") + " " + pl.col("original")).str.contains(AUTHORED)
    return pl.when(is_authored).then(call).otherwise(ends).alias("call")


def _from_json() -> pl.Expr:
    """Return a JSON input as text: a search as pattern and place, other input without escapes."""
    folder = (" in " + _relative(_json_field("path"))).fill_null("")
    plan = _json_field("plan").str.replace_all(r"(?:\\[nrt])+ *", " ")
    files = (" of " + pl.coalesce(_json_field("glob"), _json_field("include"))).fill_null("")
    unescaped = pl.col("input").str.replace_all(r"([^\\])(?:\\[nrt])+", "$1 ")
    search = _json_field("pattern") + folder + files
    return pl.coalesce(search, plan, unescaped.str.replace_all(r'\\"', '"'))


def _json_field(name: str) -> pl.Expr:
    value = pl.col("input").str.extract(rf'^\{{(?:.*[,{{])?"{name}{_STRING}')
    return value.str.replace_all(r'\\(["\\/])', "$1")


def _relative(call: pl.Expr) -> pl.Expr:
    cwd = pl.col("cwd")
    relative = call.str.strip_prefix("cd " + cwd + " && ").str.strip_prefix(cwd + "/")
    return pl.when(cwd == "").then(call).otherwise(relative)


def condense_results(calls: pl.DataFrame) -> pl.Series:
    """Return `result`, one per call with `role`, `result`, `is_error` and `cwd`, on one line."""
    texts = calls.select(text="result", role="role", failed="is_error", cwd="cwd")
    # Most text is discarded: drop it before any pattern reads it.
    text = pl.when(content.DISCARDED).then(pl.lit("")).otherwise("text").alias("text")
    cleaned = clean_results(texts.with_columns(text))
    condensed = content.condense(cleaned, content.RESULTS)
    failure = pl.format("failed: {}", "text").str.strip_chars_end(": ")
    result = pl.when("failed").then(failure).otherwise("text")
    return texts.select("failed").with_columns(condensed).select(result=result)["result"]


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


def tool_role() -> pl.Expr:
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


_COLOUR = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_REMINDER = r"(?s)<system-reminder>.*?</system-reminder>"
_TRUNCATED_REMINDER = r"(?s)<system-reminder>.*"
_BASE64 = r"(?:data:[a-z]+/[a-z0-9.+-]+;base64,)?[A-Za-z0-9+/]{400,}={0,2}"
_BLOB = r"[A-Za-z0-9+/]{400}"
_OVERWRITTEN = r"(?m)^[^\n]*\r"
_BAR_CHARACTERS = "█▓▒░▏▎▍▌▋▊▉━─═╌┄┈■□▪▫●○⣿⣀#=*-"
_BAR = rf"[{_BAR_CHARACTERS}]{{8,}}>?"
_CONTROL_MARKERS = ["\x1b", "\r", "<system-reminder>"]
_RESULT_MARKERS = [*_CONTROL_MARKERS, *(character * 8 for character in _BAR_CHARACTERS)]
"""A tool result without any of these contains nothing to remove but base64; so does a prompt, a
response or a tool input without `_CONTROL_MARKERS`."""
_SIGNED = "Co-Authored-By: "
_SIGNATURE = r"(?:🤖 Generated with \S+ \S+ +)?Co-Authored-By: [^<\n]{0,60}<[^>\n]*> ?"
"""The signature that a coding agent appends to commit messages."""
SEARCHED_CHARS = 50_000
"""Characters of a text, from its start, that the user's patterns search. A pattern whose every
match looks ahead to the end of the text costs the square of this: seconds here, days for 50 MB."""
_BOLD = r"(?m)(^|[ \t|>])\*\*([^*\s/][^*\n]*[^*\s(,])\*\*"
"""Bold text in Markdown; not powers, glob patterns or keyword arguments."""
_BLANK_LINES = r"\n[ \t]*(?:\n[ \t]*)+\n"


def clean_user_text(text: pl.Expr) -> pl.Expr:
    """Return the user's text without text that the client inserted."""
    return (
        text.str.replace_all(_COLOUR, "")
        .str.replace_all(_REMINDER, "")
        .str.replace_all(_BASE64, "[base64]")
        .str.replace_all("\r\n", "\n", literal=True)
        .str.strip_chars()
    )


def clean_messages(texts: pl.Series) -> pl.Series:
    """Return `clean_user_text` of each text; a single scan selects the few that need it."""
    text = pl.col(texts.name)
    affected = text.str.contains_any(_CONTROL_MARKERS) | text.str.contains(_BLOB)
    cleaned = apply_where(texts.to_frame(), affected, clean_user_text(text), text.str.strip_chars())
    return cleaned[texts.name]


def clean_prose(text: pl.Expr) -> pl.Expr:
    """Return an agent's text with single blank lines and without bold markers."""
    return text.str.replace_all(_BOLD, "$1$2").str.replace_all(_BLANK_LINES, "\n\n")


def clean_output(text: pl.Expr) -> pl.Expr:
    """Return the output of a program as a terminal finally displays it."""
    closed = clean_user_text(text).str.replace(_TRUNCATED_REMINDER, "")
    return closed.str.replace_all(_OVERWRITTEN, "").str.replace_all(_BAR, " ").str.strip_chars()


def clean_results(texts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `clean_output` of `text`; a single scan selects the few that need it."""
    text = pl.col("text")
    affected = text.str.contains_any(_RESULT_MARKERS) | text.str.contains(_BLOB)
    return apply_where(texts, affected, clean_output(text), text.str.strip_chars())


def clean_inputs(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `input` without terminal escapes and client reminders."""
    call = pl.col("input")
    affected = call.str.contains_any([*_CONTROL_MARKERS, _SIGNED]) | call.str.contains(_BLOB)
    return apply_where(calls, affected, clean_user_text(call).str.replace_all(_SIGNATURE, ""), call)


def apply_where(
    rows: pl.DataFrame, condition: pl.Expr, matching: pl.Expr, others: pl.Expr
) -> pl.DataFrame:
    """Return the rows in their order; each expression is evaluated for its own rows only.

    Both replace the same column: `matching` where the condition, never null, is true.
    """
    marked = rows.with_row_index("position").with_columns(condition.alias("matching"))
    if not marked["matching"].any():
        return rows.with_columns(others)
    unmatched = marked.filter(~pl.col("matching")).with_columns(others)
    matched = marked.filter("matching").with_columns(matching)
    return pl.concat([unmatched, matched]).sort("position").drop("position", "matching")


def remove_patterns(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    """Return the text without what the patterns (Rust syntax) match in `SEARCHED_CHARS`."""
    if not patterns:
        return text
    searched = text.str.head(SEARCHED_CHARS)
    for pattern in patterns:
        searched = searched.str.replace_all(pattern, "")
    return searched + text.str.slice(SEARCHED_CHARS)
