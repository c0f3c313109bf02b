"""Texts that were found clean are not searched again, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.canaries import CANARIES, fresh
from turnetl.redact import SecretRedactor
from turnetl.redact.prefilter import CleanTexts, candidates
from turnetl.redact.scanner import SecretScanner

SCANNER = SecretScanner()
PIECES = st.sampled_from(["", "plain", " ", "\n", "\ud800", "password = ", "x" * 120, "\x1b[32m"])
SECRETS = st.sampled_from(sorted(CANARIES)).map(lambda kind: CANARIES[kind]()[1])
TEXTS = st.lists(st.lists(PIECES | SECRETS, max_size=4).map("".join), max_size=5)


@pytest.mark.full
@given(st.lists(TEXTS, max_size=4))
def test_the_candidates_are_those_of_a_search_of_all_texts(calls: list[list[str]]) -> None:
    clean = CleanTexts()
    for texts in [*calls, *calls]:
        assert candidates(texts, SCANNER, clean=clean) == candidates(texts, SCANNER)


@pytest.mark.parametrize("text", ["plain", "plain " * 100])
def test_a_clean_text_is_known_afterwards(text: str) -> None:
    clean = CleanTexts()
    candidates([text], SCANNER, clean=clean)
    assert not clean.unknown([text])
    assert [*clean.unknown([f"{text}?", text, f"{text}?"])] == [f"{text}?"]


def test_a_text_with_a_secret_is_never_known(subtests: pytest.Subtests) -> None:
    for kind in CANARIES:
        with subtests.test(kind=kind):
            clean, redactor = CleanTexts(), SecretRedactor(b"key")
            _, text = CANARIES[kind]()
            candidates([text], SCANNER, clean=clean)
            assert [*clean.unknown([text])] == [text]
            assert redactor.redact([text]) == redactor.redact([text])


def test_a_clean_text_is_redacted_once_another_text_reveals_what_it_mentions() -> None:
    redactor, password = SecretRedactor(b"key"), f"{fresh(3)}7Kq!{fresh(3)}-x"
    mentioned = f"then I typed {password} again"
    assert redactor.redact([mentioned]).counts == [0]
    assert redactor.redact([f"password = '{password}'", mentioned]).counts == [1, 1]


@pytest.mark.parametrize("length", [1, 200])
def test_the_oldest_texts_are_forgotten_and_the_last_ones_never(length: int) -> None:
    clean = CleanTexts(size=3)
    texts = [f"{number}".zfill(length) for number in range(10)]
    for text in texts[:8]:
        clean.add(clean.unknown([text]))
        assert len(clean.unknown(texts)) >= len(texts) - 2 * 3
    assert not clean.unknown(texts[5:8])
    assert [*clean.unknown(texts)][:3] == texts[:3]


def test_of_more_texts_than_are_remembered_the_first_ones_are() -> None:
    clean = CleanTexts(size=3)
    clean.add(clean.unknown("abcdefgh"))
    assert [*clean.unknown("abcdefgh")] == [*"defgh"]
