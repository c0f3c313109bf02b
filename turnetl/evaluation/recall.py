"""Where each stage of the search has the turns that answer a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from turnetl.base.errors import RunStopped
from turnetl.base.model import TurnId
from turnetl.base.results import INLINED, described
from turnetl.evaluation.question_set import EvaluationQuestion
from turnetl.index.port import SearchIndex
from turnetl.index.selection import Selection
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders.port import Embedder
from turnetl.retrieval.ranking import WEIGHTS, Evidence
from turnetl.retrieval.search import search

DEPTHS = (1, 5, 10)
"""Hits among which the right turn is looked for."""


class RankingStage(StrEnum):
    """A stage of the search, each with the evidence of those before it but for `DENSE`."""

    LEXICAL = "lexical"
    """The words of the query in text, prompt, facts and passages: BM25."""
    DENSE = "dense"
    """The similarity of passages alone."""
    FUSION = "fusion"
    """The weighted sum of words and similarity."""
    LATE_INTERACTION = "late_interaction"
    """With the similarity of single words."""
    SEARCH = "search"
    """With the turn before: the order of `turnetl search`."""
    RERANKING = "reranking"
    """The order of `turnetl search --rerank`."""


_LEXICAL = (
    Evidence.TEXT_TERMS,
    Evidence.PROMPT_TERMS,
    Evidence.FACT_TERMS,
    Evidence.PASSAGE_TERMS,
)
_FUSION = (*_LEXICAL, Evidence.SIMILARITY)
EVIDENCE: Mapping[RankingStage, tuple[Evidence, ...]] = {
    RankingStage.LEXICAL: _LEXICAL,
    RankingStage.DENSE: (Evidence.SIMILARITY,),
    RankingStage.FUSION: _FUSION,
    RankingStage.LATE_INTERACTION: (*_FUSION, Evidence.LATE_INTERACTION),
    RankingStage.SEARCH: tuple(WEIGHTS),
    RankingStage.RERANKING: tuple(WEIGHTS),
}
"""What each stage ranks by, in the order of the stages."""


@dataclass(frozen=True, slots=True)
class EvaluatedQuestion:
    """A question, and where its turn is found."""

    question: Annotated[EvaluationQuestion, INLINED]
    ranks: Annotated[
        Mapping[RankingStage, int | None],
        described("By stage: rank of the turn, from 1; null beyond the tenth hit."),
    ]
    """In the order of the stages. A stage that was not measured is missing."""
    has_hits: Annotated[
        bool, described("Whether `turnetl search` has hits: none is close to the question if not.")
    ]


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches an index as `turnetl search` does."""

    index: SearchIndex
    embedder: Embedder
    now: datetime | None = None
    """The current time, in the zone of the times that questions name; None: these are words."""
    selection: Selection = field(default_factory=Selection)
    model: ChatModel | None = None
    """Reranks; None: that stage is not measured."""

    @property
    def stages(self) -> tuple[RankingStage, ...]:
        """The stages that are measured, in their order."""
        return tuple(
            stage
            for stage in RankingStage
            if stage is not RankingStage.RERANKING or self.model is not None
        )

    async def evaluated(self, question: EvaluationQuestion) -> EvaluatedQuestion:
        """Return the rank of the right turn after each stage but reranking."""
        stages = [stage for stage in self.stages if stage is not RankingStage.RERANKING]
        ranks: dict[RankingStage, int | None] = {
            stage: rank_of(question.turns, await self.found(question.text, stage))
            for stage in stages
        }
        shown = await search(
            self.index,
            question.text,
            self.embedder,
            now=self.now,
            selection=self.selection,
            limit=DEPTHS[-1],
        )
        return EvaluatedQuestion(question, ranks, has_hits=bool(shown.hits))

    async def reranked(self, evaluated: EvaluatedQuestion) -> EvaluatedQuestion:
        """Return the same with the rank after reranking.

        Raises:
            RunStopped: the budget ended.
            TurnetlError: as the model.
        """
        question = evaluated.question
        found = await self.found(question.text, RankingStage.RERANKING)
        ranks = {**evaluated.ranks, RankingStage.RERANKING: rank_of(question.turns, found)}
        return EvaluatedQuestion(question, ranks, evaluated.has_hits)

    async def found(self, text: str, stage: RankingStage) -> list[TurnId]:
        """Return the first ten turns after a stage, also if none is close to the question.

        Raises:
            TurnetlError: as the model or the embedder.
        """
        found = await search(
            self.index,
            text,
            self.embedder,
            now=self.now,
            selection=self.selection,
            limit=DEPTHS[-1],
            nearest=True,
            weights={kind: WEIGHTS[kind] for kind in EVIDENCE[stage]},
            model=self.model if stage is RankingStage.RERANKING else None,
        )
        return [hit.turn_id for hit in found.hits]


async def rerank_all(
    searcher: Searcher, evaluated: Sequence[EvaluatedQuestion]
) -> tuple[list[EvaluatedQuestion], RunStopped | None]:
    """Return the questions with their ranks after reranking, as far as the budget goes.

    Raises:
        TurnetlError: as the model, unless the budget ended; that is returned.
    """
    reranked = list(evaluated)
    for place, one in enumerate(evaluated):
        try:
            reranked[place] = await searcher.reranked(one)
        except RunStopped as error:
            return reranked, error
    return reranked, None


def rank_of(right: Sequence[TurnId], found: Sequence[TurnId]) -> int | None:
    """Return the rank of the first right turn, from 1; None if none was found."""
    ranks = (rank for rank, turn in enumerate(found, 1) if turn in right)
    return next(ranks, None)
