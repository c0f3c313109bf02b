"""Render a turn as episode text: `user: ...`, `assistant: ...`, `tools: ...`."""

from collections.abc import Sequence

import polars as pl

from turnetl.base.model import ClosedBy
from turnetl.episodes import content, tool_calls

_INTERRUPTED = "\n\nuser: [Request interrupted by user]"
"""What coding agents write where the user interrupts them."""


def render_turns(turns: pl.DataFrame, patterns: Sequence[str] = ()) -> pl.Series:
    """Return `text`, one per row of `schema.TURNS`: prompt, response, steering, answers, calls.

    What the user typed is complete. What the patterns (Rust syntax) match is removed from the
    agent's text, from tool calls and from their results. A blank line separates messages.
    """
    unmatched = tool_calls.remove_patterns(pl.col("assistant_text"), patterns)
    agent = turns.with_columns(unmatched, _cwd())
    cleaned = agent.with_columns(
        tool_calls.clean_messages(agent["user_text"]),
        tool_calls.clean_messages(condense_code_blocks(agent)),
        tool_calls.call_lines(agent, patterns),
    )
    messages = pl.concat_list(
        _message("user", pl.col("user_text")),
        _message("assistant", tool_calls.clean_prose(pl.col("assistant_text"))),
        _messages("user", "steering"),
        _messages("user", "user_answers"),
        pl.col("calls").list.eval("tools: " + pl.element()).list.join("\n"),
    )
    text = messages.list.eval(pl.element().filter(pl.element() != "")).list.join("\n\n")
    rows = cleaned.select(text.alias("text"), "closed_by")
    ended = pl.when(_is_interrupted()).then(pl.col("text") + _INTERRUPTED).otherwise("text")
    return rows.select(ended)["text"]


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


def _messages(speaker: str, column: str) -> pl.Expr:
    texts = pl.col(column).list.eval(_message(speaker, tool_calls.clean_user_text(pl.element())))
    return texts.list.eval(pl.element().filter(pl.element() != "")).list.join("\n\n")


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
