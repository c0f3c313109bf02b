"""What the rules mark in whole archives, each mark looked at by a person and found right."""

from pathlib import Path

import polars as pl
import pytest

from tests import real
from turnetl import pipeline
from turnetl.settings import Settings

THANKS = r"(?i)^(?:oh, i see\. |great|perfect|i see|that's [a-z]+)?[,!.]*\s*thank"
LOOKED_AT = {
    "acknowledgement": THANKS,
    "greeting": r"^(?:Goodbye|Have a nice day!|What is up\?)$",
    "harness": r"^Summarize this part of a conversation in 2-3 sentences",
    "no_answer": r"^wow error$",
    "repeat": r"^(?:Implement the following plan:|\[trimmed for fixture\]$)",
}
"""By rule, what the prompts say that it may mark in archives of real projects."""


def marks(archives: Path, lake: Path) -> pl.DataFrame:
    """Return `noise` and `user_text` of every turn of the archives that a rule speaks against."""
    settings = Settings(lake=lake, jobs=1)
    pipeline.parse_archives([str(archives)], settings)
    pipeline.filter_turns(settings)
    turns = pl.scan_parquet(lake / "episodes" / "*.parquet").select("noise", "user_text")
    return turns.drop_nulls("noise").collect()


def test_of_the_samples_what_a_person_would_not_keep_is_marked_and_nothing_else(
    tmp_path: Path,
) -> None:
    said = marks(real.SAMPLES, tmp_path).sort("user_text").rows()
    rule = "acknowledgement"
    assert said == [(rule, "ok"), (rule, "ok great"), (rule, "thanks")]


@pytest.mark.archives
@real.NEEDED
def test_of_real_archives_nothing_is_marked_that_a_person_would_keep(tmp_path: Path) -> None:
    marked = marks(real.ARCHIVES, tmp_path)
    wrong = [
        (rule, prompt)
        for rule, prompt in marked.iter_rows()
        if not pl.Series([prompt]).str.contains(LOOKED_AT.get(rule, "^$")).item()
    ]
    assert wrong == []
    assert set(marked["noise"]) == set(LOOKED_AT)
