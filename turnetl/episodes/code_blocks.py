"""Fenced blocks in what an agent wrote: short ones stay, long ones are told by their kind."""

import polars as pl

from turnetl.episodes import content

_FENCED = r"(?ms)^[ \t]*```[^\n`]*\n.*?^[ \t]*```[ \t]*$"
_OPENS, _CLOSES = "\ue000", "\ue001"
"""Of Unicode's private characters: no one writes them."""
_LONG, _MANY = 700, 14
"""Characters and line breaks of a block that is still short."""


def condense_code_blocks(turns: pl.DataFrame) -> pl.Series:
    """Return `assistant_text`, one a turn, its long blocks told in a line.

    Args:
        turns: columns `assistant_text`, `here`.
    """
    said = pl.col("assistant_text")
    rows = turns.select("assistant_text", cwd="here").with_row_index()
    may = (said.str.len_bytes() > _MANY) & said.str.contains("```", literal=True)
    asked = rows.filter(may & ~said.str.contains_any([_OPENS, _CLOSES]))
    told = _told(asked).rename({"text": "told"})
    joined = rows.select("index", "assistant_text").join(
        told, on="index", how="left", maintain_order="left"
    )
    return joined.select(pl.coalesce("told", said).alias("assistant_text"))["assistant_text"]


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `index` and `text`: the blocks parted from the prose, shortened, and put back."""
    parted = pl.col("assistant_text").str.replace_all(_FENCED, f"{_OPENS}$0{_CLOSES}")
    pieces = (
        rows.with_columns(parted.str.split(_OPENS).alias("piece"))
        .drop("assistant_text")
        .explode("piece")
        .with_columns(pl.col("piece").str.split_exact(_CLOSES, 1).alias("parts"))
        .unnest("parts")
        .with_row_index("place")
    )
    block = pl.col("field_0")
    long = (block.str.len_chars() > _LONG) | (block.str.count_matches("\n", literal=True) > _MANY)
    blocks = pieces.filter(pl.col("field_1").is_not_null() & long)
    short = blocks.select("place", _summary(blocks))
    both = pieces.join(short, on="place", how="left", maintain_order="left")
    whole = pl.coalesce("summary", block) + pl.col("field_1").fill_null("")
    return both.group_by("index", maintain_order=True).agg(whole.str.join("").alias("text"))


def _summary(blocks: pl.DataFrame) -> pl.Series:
    """Return `[language: what its kind keeps]`."""
    block = pl.col("field_0")
    body = block.str.replace(r"\A[^\n]*\n", "").str.replace(r"\n?[^\n]*\z", "")
    language = block.str.extract(r"\A[ \t]*```[ \t]*([\w+#.-]*)")
    texts = blocks.select(text=body, role=pl.lit("code"), failed=pl.lit(value=False), cwd="cwd")
    kept = texts.select(content.condense(texts, content.BLOCKS))
    named = kept.with_columns(blocks.select(language=language)["language"])
    word = pl.when(pl.col("language") == "").then(pl.lit("code")).otherwise("language")
    return named.select(pl.format("[{}, {}]", word, "text").alias("summary"))["summary"]
