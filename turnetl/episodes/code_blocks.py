"""Replace the long fenced blocks in an agent's text by a summary of their content type."""

import polars as pl

from turnetl.episodes import content

_FENCED = r"(?ms)^[ \t]*```[^\n`]*\n.*?^[ \t]*```[ \t]*$"
_START, _END = "\ue000", "\ue001"
"""Delimiters from Unicode's private use area; a text that contains one is left unchanged."""
_SHORT_CHARS, _SHORT_BREAKS = 700, 14
"""Maximum characters and line breaks of a block that is kept unchanged."""


def condense_code_blocks(turns: pl.DataFrame) -> pl.Series:
    """Return `assistant_text`, one per turn, with each long block replaced by one line.

    Args:
        turns: columns `assistant_text` and `cwd`.
    """
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
    delimited = pl.col("assistant_text").str.replace_all(_FENCED, f"{_START}$0{_END}")
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
