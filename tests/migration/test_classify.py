"""The class of an episode follows from ids, else from text and time, and never by chance."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START
from tests.migration.samples import TOPICS, archived, daily, episode
from turnetl.base.errors import BadUsage
from turnetl.migration.classify import CONFIDENT, ClassifiedEpisode, EpisodeClass, EpisodeClassifier
from turnetl.migration.plan_file import Settlement, Verdict
from turnetl.migration.sessions import ArchivedSession

LATER = START + timedelta(days=40)
MATCHED, AMBIGUOUS = EpisodeClass.MATCHED, EpisodeClass.AMBIGUOUS
GONE, FOREIGN = EpisodeClass.ARCHIVE_GONE, EpisodeClass.FOREIGN


def one(found: Sequence[ClassifiedEpisode]) -> tuple[EpisodeClass, str | None]:
    [classified] = found
    return classified.kind, classified.session.session_id if classified.session else None


def classify(text: str, name: str = "Session notes") -> tuple[EpisodeClass, str | None]:
    return one(EpisodeClassifier(daily()).classify([episode(text, name=name)]))


def prompt_writer(ended: Sequence[ArchivedSession]) -> list[ClassifiedEpisode]:
    """Classify a summary of each session, which is dated a minute after its end.

    The first text is all that the session holds; that of the last one says little.
    """
    episodes = [
        episode(
            session.text if place < len(ended) - 1 else "The invoice again: rounding, webhook.",
            name="Coding session",
            uuid=session.session_id,
            at=session.ended_at and session.ended_at + timedelta(minutes=1),
        )
        for place, session in enumerate(ended)
    ]
    return EpisodeClassifier(daily()).classify(episodes)


@pytest.mark.parametrize("session", TOPICS)
def test_a_summary_with_the_words_of_a_session_is_of_that_session(session: str) -> None:
    assert classify(f"The agent worked on {TOPICS[session]}.") == (MATCHED, session)


def test_a_session_without_a_kept_turn_replaces_no_episode() -> None:
    empty = [replace(session, turns=0, noise=3) for session in daily()]
    settled = {"f": Settlement(Verdict.SESSION, "shop-1", "", "`f.tsv`, line 2")}
    found = EpisodeClassifier(empty).classify(
        [episode(TOPICS["shop-2"]), episode("Done.", uuid="f")], settled
    )
    assert [one.kind for one in found] == [EpisodeClass.WITHOUT_TURNS] * 2
    assert "no turn of this session is kept" in found[0].reason


def test_words_of_two_sessions_are_ambiguous_and_both_are_named() -> None:
    text = f"{TOPICS['shop-1']}. {TOPICS['shop-4']}."
    [found] = EpisodeClassifier(daily()).classify([episode(text, name="Session notes")])
    assert found.kind is AMBIGUOUS
    assert found.session is not None
    assert found.runner_up is not None
    assert {found.session.session_id, found.runner_up.session_id} == {"shop-1", "shop-4"}
    assert 0.5 <= (found.confidence or 0) < CONFIDENT


def test_a_single_common_word_is_no_reason_to_match() -> None:
    kind, _ = classify("A long walk over the hills, then lunch, then the invoice for the hotel.")
    assert kind is not MATCHED


def test_an_episode_without_a_sign_of_a_session_is_foreign() -> None:
    assert classify("Ada is on holiday in August.", name="Mail from Ada")[0] is FOREIGN


def test_an_episode_is_not_of_a_session_that_began_later() -> None:
    early = episode(TOPICS["shop-5"], name="Session notes", at=START)
    assert one(EpisodeClassifier(daily()).classify([early]))[0] is not MATCHED


def test_without_archives_nothing_is_matched() -> None:
    classifier = EpisodeClassifier([])
    assert one(classifier.classify([episode("Text", name="Session notes")])) == (GONE, None)
    assert one(classifier.classify([episode("Text", name="Lunch")])) == (FOREIGN, None)


def test_an_episode_without_times_is_matched_by_its_text() -> None:
    untimed = episode(TOPICS["shop-2"], name="Session notes", at=None)
    assert one(EpisodeClassifier(daily()).classify([untimed])) == (MATCHED, "shop-2")


def test_time_decides_between_similar_texts_if_the_writer_summarises_at_the_end() -> None:
    sessions = [
        *daily()[1:],
        archived("first", "cart.py: the totals are rounded", started_at=START),
        archived(
            "second",
            "cart.py: the totals are rounded again",
            started_at=START - timedelta(days=5),
            ended_at=START - timedelta(days=5),
        ),
    ]
    unclear = episode(
        "cart.py: totals are rounded",
        name="Coding session",
        uuid="unclear",
        at=START + timedelta(hours=1, minutes=2),
    )
    clear = [
        episode(
            session.text,
            name="Coding session",
            uuid=session.session_id,
            at=session.ended_at and session.ended_at + timedelta(minutes=1),
        )
        for session in daily()[1:]
    ]
    classifier = EpisodeClassifier(sessions)
    assert one(classifier.classify([unclear]))[0] is AMBIGUOUS
    with_habit = classifier.classify([*clear, unclear])[-1]
    assert one([with_habit]) == (MATCHED, "first")
    assert "dated when this session ended" in with_habit.reason


def test_a_summary_that_no_session_ended_before_is_gone_if_its_writer_summarises_at_the_end() -> (
    None
):
    sessions = daily()
    missing = archived("gone", "", started_at=LATER, ended_at=LATER + timedelta(hours=1))
    found = prompt_writer([*sessions[1:], missing])
    assert [one([each]) for each in found[:-1]] == [
        (MATCHED, session.session_id) for session in sessions[1:]
    ]
    assert found[-1].kind is GONE


def test_a_decision_of_a_person_goes_before_everything_else() -> None:
    by_id = episode(TOPICS["shop-1"], name="session shop-2 id: shop-2", uuid="e")
    classifier = EpisodeClassifier(daily())
    for verdict, session, expected in (
        (Verdict.SESSION, "shop-3", (MATCHED, "shop-3")),
        (Verdict.FOREIGN, "foreign", (FOREIGN, None)),
        (Verdict.ARCHIVE_GONE, "archive_gone", (GONE, None)),
    ):
        settled = {"e": Settlement(verdict, session, "", "`f.tsv`, line 2")}
        assert one(classifier.classify([by_id], settled)) == expected


def test_a_decision_for_a_format_selects_among_sessions_with_one_id() -> None:
    sessions = [archived("same", "one"), archived("same", "two", format_name="codex")]
    classifier = EpisodeClassifier(sessions)
    settled = {"e": Settlement(Verdict.SESSION, "same", "codex", "`f.tsv`, line 2")}
    [found] = classifier.classify([episode("Text")], settled)
    assert found.session is sessions[1]
    unknown = {"e": Settlement(Verdict.SESSION, "same", "gemini_json", "`f.tsv`, line 2")}
    with pytest.raises(BadUsage, match="line 2: no archive holds session `same`"):
        classifier.classify([episode("Text")], unknown)


@given(
    st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=5),
    st.lists(st.tuples(st.text(max_size=20), st.text()), max_size=5),
)
def test_hostile_texts_get_a_class_and_a_reason(
    episodes: list[tuple[str, str, str]], sessions: list[tuple[str, str]]
) -> None:
    classifier = EpisodeClassifier([archived(name, text) for name, text in sessions])
    given_episodes = [
        episode(text, name=name, description=description) for name, text, description in episodes
    ]
    found = classifier.classify(given_episodes)
    assert [each.episode for each in found] == given_episodes
    for each in found:
        assert each.reason
        assert each.confidence is None or 0.5 <= each.confidence <= 1
        assert each.similarity is None or 0 <= each.similarity <= 1
        assert each.kind is not MATCHED or each.session is not None


@given(st.permutations(range(len(TOPICS))))
def test_the_order_of_sessions_makes_no_difference(order: list[int]) -> None:
    sessions = daily()
    episodes = [episode(text, name="Session notes", uuid=name) for name, text in TOPICS.items()]
    expected = [one([each]) for each in EpisodeClassifier(sessions).classify(episodes)]
    shuffled = EpisodeClassifier([sessions[place] for place in order]).classify(episodes)
    assert [one([each]) for each in shuffled] == expected
