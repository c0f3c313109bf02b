"""The summary of a session: what was asked, how it ended, what is open and what was decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from turnetl.base.model import Fact, SessionId, TurnId
from turnetl.base.text import one_line
from turnetl.episode_text.closing import closing
from turnetl.episode_text.conversation import from_episode_text
from turnetl.episode_text.passages import prompt_title
from turnetl.summaries.rule_summary import with_facts

_INTENT_CHARS, _OUTCOME_CHARS = 200, 300
STATED = frozenset({"FAILED_WITH", "DECIDED", "PREFERS", "REJECTED", "SUPERSEDES"})
"""Relations of the facts that a summary of a session states."""


@dataclass(frozen=True, slots=True)
class SagaTurn:
    """What a turn contributes to the summary of its session."""

    turn_id: TurnId
    session_id: SessionId
    started_at: datetime
    intent: str
    """The title of the prompt; may be empty."""
    outcome: str
    """What the agent stated last, on one line; may be empty."""
    question: str = ""
    """What the agent asked the user after that, on one line; may be empty."""

    @classmethod
    def of_text(
        cls, turn_id: TurnId, session_id: SessionId, started_at: datetime, text: str
    ) -> Self:
        """Return what a turn with this episode text contributes."""
        end = closing(from_episode_text(text).answer)
        return cls(
            turn_id,
            session_id,
            started_at,
            one_line(prompt_title(text), _INTENT_CHARS),
            one_line(end.outcome, _OUTCOME_CHARS),
            one_line(end.question, _INTENT_CHARS),
        )


def rule_saga_summary(turns: Sequence[SagaTurn], facts: Iterable[Fact]) -> str:
    """Return a summary of at most `rule_summary.MAX_CHARS` characters; empty without any text.

    The same turns and facts give the same summary, in whichever order the facts come.

    Args:
        turns: of the session, oldest first.
        facts: that the turns state; invalidated ones are left out: what they say was solved or
            revised.
    """
    intent = next((turn.intent for turn in turns if turn.intent), "")
    outcome = next((turn.outcome for turn in reversed(turns) if turn.outcome), "")
    question = turns[-1].question if turns else ""
    labelled = (("Asked", intent), ("Outcome", outcome), ("Open question", question))
    lines = [f"{label}: {text}" for label, text in labelled if text]
    stated = (fact for fact in facts if fact.relation in STATED)
    return with_facts("\n".join(lines), stated).lstrip("\n")
