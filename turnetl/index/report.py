"""The result of `turnetl index`, and the estimate of a dry run."""

from dataclasses import dataclass

from turnetl.index.port import CatchUpReport, IndexStatus
from turnetl.model import Usage


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """What a run did about the questions of turns."""

    turns: int
    """That a model was asked about; it may have thought of none."""
    failed: int
    """Turns for which the response was not valid; the next run asks again."""
    usage: Usage
    """Without responses from the journal."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a catch-up changed, and the index afterwards."""

    changes: CatchUpReport
    status: IndexStatus
    questions: QuestionReport | None = None
    """None if none were asked for."""


@dataclass(frozen=True, slots=True)
class QuestionEstimate:
    """What the questions of some turns will use, rather too much than too little."""

    model: str
    """Provider and name."""
    turns: int = 0
    usage: Usage = Usage()  # noqa: RUF009 - a frozen value
    """Its cost is None if the price of the model is unknown."""
