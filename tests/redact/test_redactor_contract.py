"""The contract of the `Redactor` port, for every implementation."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.redactors import CallbackRedactor, DyingRedactor, NoRedactor, WordRedactor
from tests.redact.canaries import CANARIES, CHOSEN
from turnetl.redact import Redactor, SecretRedactor

REDACTORS: dict[str, Redactor] = {
    "SecretRedactor": SecretRedactor(),
    "SecretRedactor with a key": SecretRedactor(b"another key"),
    "SecretRedactor with PII": SecretRedactor(pii=True),
    "NoRedactor": NoRedactor(),
    "WordRedactor": WordRedactor("sesame"),
    "CallbackRedactor": CallbackRedactor(list),
    "DyingRedactor": DyingRedactor("deadly"),
}
PIECES = st.sampled_from(
    [
        *("sesame", "password = ", "/home/kim/x", " ", "\n", "é", "\ud800", "token"),
        *("\x1b[32m", "\u200b", "\\u003d", "&quot;", "%3D", "=3D", "password: ", "|", ","),
    ]
)
ALL_CANARIES = CANARIES | CHOSEN
SECRETS = st.sampled_from(sorted(ALL_CANARIES)).map(lambda kind: ALL_CANARIES[kind]()[1])
TEXTS = st.lists(st.lists(PIECES | SECRETS, max_size=5).map("".join), max_size=4)
ARCHIVES = st.lists(TEXTS, max_size=3)

every_redactor = pytest.mark.parametrize("redactor", REDACTORS.values(), ids=REDACTORS)


@every_redactor
@given(ARCHIVES)
def test_every_text_comes_back_in_its_place_with_its_count(
    redactor: Redactor, archives: list[list[str]]
) -> None:
    before = [list(texts) for texts in archives]
    redacted = redactor.redact_many(archives)
    assert archives == before
    assert [len(result.texts) for result in redacted] == [len(texts) for texts in archives]
    assert [len(result.counts) for result in redacted] == [len(texts) for texts in archives]


@every_redactor
@given(ARCHIVES)
def test_a_text_changes_exactly_if_its_count_says_so(
    redactor: Redactor, archives: list[list[str]]
) -> None:
    for texts, redacted in zip(archives, redactor.redact_many(archives), strict=True):
        for text, clean, count in zip(texts, redacted.texts, redacted.counts, strict=True):
            assert (text != clean) is (count > 0)


@every_redactor
@given(ARCHIVES)
def test_an_archive_is_redacted_by_its_own_texts_alone(
    redactor: Redactor, archives: list[list[str]]
) -> None:
    one_by_one = [redactor.redact_many([texts])[0] for texts in archives]
    assert redactor.redact_many(archives) == one_by_one


@every_redactor
@given(TEXTS)
def test_redacting_a_result_changes_nothing(redactor: Redactor, texts: list[str]) -> None:
    (once,) = redactor.redact_many([texts])
    assert redactor.redact_many([once.texts]) == [(once.texts, [0] * len(texts))]


@every_redactor
@given(TEXTS)
def test_the_same_texts_give_the_same_result(redactor: Redactor, texts: list[str]) -> None:
    assert redactor.redact_many([texts]) == redactor.redact_many([list(texts)])


@every_redactor
def test_another_process_receives_the_same_redactor(redactor: Redactor) -> None:
    copy: Redactor = pickle.loads(pickle.dumps(redactor))  # noqa: S301 - pickled here
    texts = ["/home/kim/shop", "open sesame", CANARIES["netrc"]()[1]]
    assert redactor.version == copy.version != ""
    assert redactor.redact_many([texts]) == copy.redact_many([texts])


def test_redactors_with_other_results_have_other_versions() -> None:
    versions = [REDACTORS[name].version for name in REDACTORS if name.startswith("Secret")]
    assert len(set(versions)) == len(versions)
