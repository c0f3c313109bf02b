"""The last stage of the ranking, on request: a model rates how well the best turns answer.

A turn is sent as an excerpt, which depends on the query and the turn alone, so that the journal has
the response when a search is repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from turnetl.base.model import Fact
from turnetl.episode_text.passages import prompt_title
from turnetl.index.port import IndexedFact
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiReranker
from turnetl.retrieval.ranking import RERANKED, RankedTurn
from turnetl.retrieval.snippets import ExcerptRanking

_TITLE_CHARS = 300
_PASSAGES = 2
_FACTS = 3
_FACT_CHARS = 200


async def rerank(
    query: str,
    ranked: Sequence[RankedTurn],
    facts: Mapping[int, Sequence[IndexedFact]],
    excerpts: ExcerptRanking,
    model: ChatModel,
) -> list[RankedTurn]:
    """Return the turns with the first 30 ordered by the model; equal ones stay in their order.

    A turn that the model did not rate follows those that it rated.
    """
    first, others = ranked[:RERANKED], ranked[RERANKED:]
    texts = [_excerpt(turn, facts[turn.turn.key], excerpts) for turn in first]
    scores = await GraphitiReranker(model).scores(query, texts)
    rated = [replace(turn, relevance=score) for turn, score in zip(first, scores, strict=True)]
    rated.sort(key=lambda turn: 1.0 if turn.relevance is None else -turn.relevance)
    return [*rated, *others]


def _excerpt(ranked: RankedTurn, facts: Sequence[IndexedFact], excerpts: ExcerptRanking) -> str:
    """Return date and prompt of a turn, its best passages and its best facts, below 2,000 chars."""
    title = prompt_title(ranked.turn.text)[:_TITLE_CHARS]
    others = [fact for fact in facts if not title or title not in fact.fact.text]
    return "\n".join(
        (
            f"{ranked.turn.receipt.started_at:%Y-%m-%d} {title}",
            *excerpts.best_passages(ranked.turn, _PASSAGES),
            *(_fact(indexed.fact) for indexed in excerpts.best_facts([others])[0][:_FACTS]),
        )
    )


def _fact(fact: Fact) -> str:
    until = f" (until {fact.invalid_at:%Y-%m-%d})" if fact.invalid_at else ""
    return f"- {fact.text[:_FACT_CHARS]}{until}"
