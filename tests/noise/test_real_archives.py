"""What the rules mark in whole archives; a person reviewed each mark and found it correct."""

from pathlib import Path

import polars as pl
import pytest

from tests import real_archives
from turnetl import pipeline
from turnetl.settings import Settings

THANKS = r"(?i)^(?:oh, i see\. |great|perfect|i see|that's [a-z]+)?[,!.]*\s*thank"
REVIEWED = {
    "acknowledgement": THANKS,
    "empty": r"^\[REDACTED_MESSAGE len=[0-9]+ sha=[0-9a-f]+\]$",
    "greeting": r"^(?:Goodbye|Have a nice day!|What is up\?)$",
    "harness": r"^Summarize this part of a conversation in 2-3 sentences",
    "no_response": r"^wow error$",
    "repeat": r"^(?:Implement the following plan:|\[trimmed for fixture\]$)",
}
"""By rule, a pattern of the prompts that it may mark in archives of real projects."""


def marks(archives: Path, lake: Path) -> pl.DataFrame:
    """Return `noise` and `user_text` of every marked turn of the archives."""
    settings = Settings(lake=lake, jobs=1)
    pipeline.parse_archives([str(archives)], settings)
    pipeline.filter_turns(settings)
    turns = pl.scan_parquet(lake / "episodes" / "*.parquet").select("noise", "user_text")
    return turns.drop_nulls("noise").collect()


def test_exactly_the_noise_of_the_sample_archives_is_marked(
    tmp_path: Path,
) -> None:
    marked = marks(real_archives.SAMPLES, tmp_path).sort("user_text").rows()
    rule = "acknowledgement"
    assert marked == [(rule, "ok"), (rule, "ok great"), (rule, "thanks")]


@pytest.mark.full
@pytest.mark.archives
@real_archives.needs_archives
def test_nothing_worth_keeping_is_marked_in_real_archives(tmp_path: Path) -> None:
    marked = marks(real_archives.ARCHIVES, tmp_path)
    wrong = [
        (rule, prompt)
        for rule, prompt in marked.iter_rows()
        if not pl.Series([prompt]).str.contains(REVIEWED.get(rule, "^$")).item()
    ]
    assert wrong == []
    assert set(marked["noise"]) == set(REVIEWED)
