"""The benchmarks of long conversations read their sets and measure what was found."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.conversations import SEARCH, QuestionResult
from benchmarks.locomo import read_conversation
from benchmarks.longmemeval import evenly_spaced, measure_each, read_conversations
from benchmarks.ranking_weights import RecordedQuestion, best_weights
from turnetl.retrieval.ranking import WEIGHTS
from turnetl.settings.sections import EmbedderSettings


def said(text: str, *, answers: bool = False) -> list[dict[str, Any]]:
    response = {"role": "assistant", "content": "That sounds good."}
    return [
        {"role": "user", "content": text, **({"has_answer": True} if answers else {})},
        response,
    ]


BIKES: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "Which bicycle did I buy?",
    "answer": "a gravel bicycle",
    "question_date": "2023/05/30 (Tue) 20:42",
    "haystack_session_ids": ["noise_1", "answer_1", "noise_1"],
    "haystack_dates": [
        "2023/05/20 (Sat) 02:21",
        "2023/05/22 (Mon) 09:00",
        "2023/05/25 (Thu) 18:00",
    ],
    "haystack_sessions": [
        said("Recommend a recipe for pasta."),
        said("I bought a gravel bicycle.", answers=True),
        said("How warm is it in Oslo?"),
    ],
    "answer_session_ids": ["answer_1"],
}
NEVER = {**BIKES, "question_id": "q2_abs", "question": "Which car did I buy?"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written = json.dumps([BIKES, NEVER, {**BIKES, "question_id": "q3"}])
    (tmp_path / "longmemeval_s.json").write_text(written, encoding="utf-8")
    return tmp_path


def test_a_question_of_longmemeval_has_its_history_and_its_evidence(folder: Path) -> None:
    first, last = read_conversations(folder)
    (question,) = first.questions
    assert [one.id for one in first.sessions] == ["s0", "s1", "s2"]
    assert (question.sessions, question.messages) == (frozenset({"s1"}), frozenset({"s1:0"}))
    assert f"{question.asked_at:%d %H:%M}" == "30 20:42"
    assert evenly_spaced([first, last], 1) == [first]


@pytest.mark.full
async def test_the_session_with_the_answer_is_measured(folder: Path) -> None:
    measured = await measure_each(read_conversations(folder)[:1], EmbedderSettings())
    assert measured.results[SEARCH] == [QuestionResult(1, 1.0)]
    assert (measured.conversations, measured.turns) == (1, 3)


def test_a_conversation_of_locomo_has_its_sessions_and_questions_with_evidence() -> None:
    talk = {
        "speaker_a": "Ann",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Look", "blip_caption": "a cat"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Nice."},
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
    }
    qa = [{"question": "Which animal?", "category": 4, "evidence": ["D1:01; D:1:2"]}]
    found = read_conversation(
        {"sample_id": "c", "conversation": talk, "qa": [*qa, qa[0] | {"evidence": []}]}
    )
    (session,), (question,) = found.sessions, found.questions
    assert [one.role for one in session.messages] == ["user", "assistant"]
    assert session.messages[0].text == "Ann: Look (shows a picture: a cat)"
    assert (question.sessions, question.messages) == (
        frozenset({"D1"}),
        frozenset({"D1:1", "D1:2"}),
    )


def test_a_replay_ranks_by_the_best_turn_of_a_session_and_finds_better_weights() -> None:
    good = np.zeros((3, len(WEIGHTS)))
    good[:, 0], good[:, 1] = (0.9, 0.8, 0.5), (0.0, 0.0, 0.4)
    question = RecordedQuestion("one", good, np.array([False, False, True]), np.array([0, 0, 1]))
    start = np.zeros(len(WEIGHTS))
    start[:2] = 1.0, 0.5
    assert question.reciprocal_rank(start) == 0.5
    assert question.reciprocal_rank(best_weights([question], start)) == 1.0
