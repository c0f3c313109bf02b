"""Questions with the turns that answer them: read from a file, or written by a model.

A user names a turn in a table by its id, or by a file and a line of it.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from turnetl.base import ids
from turnetl.base.errors import BadUsage, RunStopped, Skip
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, TurnId
from turnetl.base.results import described
from turnetl.base.user_files import read_tsv
from turnetl.index.questions import QuestionTask, write_questions
from turnetl.llm.chat import ChatModel

_POSITION = re.compile(r"(?P<file>.+):(?P<line>\d{1,12})")


@dataclass(frozen=True, slots=True)
class LocatedTurn:
    """Where a turn stands."""

    turn_id: TurnId
    group_id: GroupId
    archive: str
    """Path or URL, as the lake has it."""
    first_line: int
    last_line: int


AnyTurn = LocatedTurn | Receipt


class LocatedTurns:
    """The turns that a table may name."""

    def __init__(self, turns: Iterable[AnyTurn]) -> None:
        self._turns = {turn.turn_id: turn for turn in turns}

    def find(self, text: str) -> AnyTurn:
        """Return the turn with this id, or the beginning of one, or at this `file:line`.

        A file is the path of an archive or the end of one.
        """
        found = self.find_all(text)
        if len(found) > 1:
            raise _ambiguous(text, found)
        return found[0]

    def find_all(self, text: str) -> list[AnyTurn]:
        """Return the same; of an archive that several groups have, the turns of all of them."""
        name = text.strip()
        if (exact := self._turns.get(TurnId(name.lower()))) is not None:
            return [exact]
        position = _POSITION.fullmatch(name)
        if position is not None:
            found = self._at(position["file"], int(position["line"]))
        else:
            start = name.lower()
            found = [turn for one, turn in self._turns.items() if one.startswith(start)]
        if not found:
            raise BadUsage(f"no turn has the id or the archive line `{name}`")
        if len(found) > 1 and (position is None or len({one.archive for one in found}) > 1):
            raise _ambiguous(text, found)
        return found

    def _at(self, file: str, line: int) -> list[AnyTurn]:
        end = "/" + file.replace("\\", "/").removeprefix("./").lstrip("/")
        return [
            turn
            for turn in self._turns.values()
            if turn.first_line <= line <= turn.last_line
            and (turn.archive == file or f"/{turn.archive}".replace("\\", "/").endswith(end))
        ]


def _ambiguous(text: str, found: Sequence[AnyTurn]) -> BadUsage:
    first, second = found[:2]
    return BadUsage(
        f"`{text.strip()}` names {len(found):,} turns, such as `{first.turn_id}` "
        f"({first.archive}:{first.first_line}) and `{second.turn_id}` "
        f"({second.archive}:{second.first_line}): write more of the id or of the path"
    )


log = logging.getLogger(__name__)

_COLUMNS = ("question", "turn")
_ROW_NEEDS = (
    "a question and the turn that answers it (its id, or the file of its archive, `:` and a "
    "line), separated by a tab"
)
_BATCH = 16
"""Turns whose questions are requested together; the model limits its concurrent requests."""
# Not the prompt of the index: its questions are passages of their turns and find themselves.
TASK = QuestionTask(
    "evaluate.questions",
    "Write one question that only this turn answers, as its user might type it into a search half "
    "a year later: about what was decided, changed, broken or repaired. Describe it in other words "
    "than those of the turn where you can; no `this turn`, no date, no id. One sentence, in the "
    "language of the user. None if the turn has nothing that somebody would search for.",
    1,
)


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """A question and the turns that answer it."""

    text: Annotated[str, described("The question.", name="question")]
    turns: Annotated[tuple[TurnId, ...], described("The turns of which one must be found.")]
    """Sorted."""
    group_id: Annotated[GroupId, described("Group of the first of them.", name="group")]


@dataclass
class WrittenQuestions:
    """What a model wrote."""

    questions: list[EvaluationQuestion]
    without: int = 0
    """Turns about which the model could think of no question."""
    failed: int = 0
    """Turns whose response was not valid."""
    problem: str = ""
    """What was wrong with the last of them."""
    stopped: RunStopped | None = None
    """Why the rest was not asked for."""


def read_question_file(path: Path, located: LocatedTurns) -> list[EvaluationQuestion]:
    """Read a table of `question` and `turn`, separated by tabs; questions may repeat."""
    turns: dict[str, set[TurnId]] = {}
    groups: dict[str, GroupId] = {}
    for row in read_tsv(path, _COLUMNS, row_needs=_ROW_NEEDS):
        question, turn = (row.values[name] for name in _COLUMNS)
        try:
            found = located.find_all(turn)
        except BadUsage as error:
            raise BadUsage(f"`{path}`, line {row.line}: {error}") from error
        turns.setdefault(question, set()).update(one.turn_id for one in found)
        groups.setdefault(question, found[0].group_id)
    return [
        EvaluationQuestion(text, tuple(sorted(right)), groups[text])
        for text, right in turns.items()
    ]


def sample_by_group(
    turns: Mapping[GroupId, Iterable[TurnId]], size: int, *, seed: int
) -> list[tuple[GroupId, TurnId]]:
    """Return turns of all groups: one of each group in turn, until there are enough.

    Which turns of a group come first depends on the seed and on their ids only: a turn that is
    added to the graph leaves the others in their order.
    """
    shuffled = {
        group: sorted(of_group, key=lambda turn: ids.digest(str(seed), turn))
        for group, of_group in sorted(turns.items())
    }
    rounds = [
        (number, group, turn)
        for group, of_group in shuffled.items()
        for number, turn in enumerate(of_group)
    ]
    return [(group, turn) for _, group, turn in sorted(rounds)[:size]]


async def written_questions(
    turns: Sequence[tuple[GroupId, TurnId]],
    text_of: Callable[[TurnId], str],
    model: ChatModel,
    progress: Callable[[int], None],
) -> WrittenQuestions:
    """Let a model write a question about each turn, up to the budget."""
    result = WrittenQuestions([])
    for start in range(0, len(turns), _BATCH):
        batch = turns[start : start + _BATCH]
        responses = await asyncio.gather(
            *(write_questions(model, text_of(turn), TASK) for _, turn in batch),
            return_exceptions=True,
        )
        for (group, turn), response in zip(batch, responses, strict=True):
            _add(result, group, turn, response)
        if result.stopped is not None:
            break
        progress(start + len(batch))
    return result


def _add(
    result: WrittenQuestions,
    group: GroupId,
    turn: TurnId,
    response: tuple[str, ...] | BaseException,
) -> None:
    match response:
        case RunStopped():
            result.stopped = response
        case Skip():
            log.info("a turn has no question", exc_info=response)
            result.failed += 1
            result.problem = str(response)
        case BaseException():
            raise response
        case ():
            result.without += 1
        case (text, *_):
            result.questions.append(EvaluationQuestion(text, (turn,), group))
