"""What the journal says about the prompts of an ingest."""

from pathlib import Path

from turnetl.base.model import Usage
from turnetl.estimation.extrapolation import prompt_means, prompt_shares
from turnetl.llm.chat import PROMPTS
from turnetl.llm.journal.store import JournalStats, JournalTotals

OTHERS = {"communities.describe", "evaluate.questions", "index.questions", "search.rerank"}
STATS = JournalStats(
    Path("journal.sqlite"),
    by_model_and_prompt={
        ("canned", prompt): JournalTotals(2, Usage(2, 80, 20)) for prompt in PROMPTS
    },
)


def test_only_prompts_of_an_ingest_count() -> None:
    """Questions, ratings and communities are paid for by other commands."""
    expected = set(PROMPTS) - OTHERS
    assert prompt_shares(STATS, lambda _: "canned").keys() == expected
    assert prompt_means(STATS, lambda _: "canned").keys() == expected


def test_responses_of_another_model_do_not_count() -> None:
    assert prompt_shares(STATS, lambda _: "other") == {}
