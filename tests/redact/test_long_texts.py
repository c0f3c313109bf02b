"""Long texts and many secrets: the same results, with each byte read a few times only."""

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.canaries import CANARIES, fresh
from tests.redact.test_prefilter import TEXTS
from turnetl.redact import SecretRedactor
from turnetl.redact.literal_search import ExactMatcher, RuleMatcher, literal_search
from turnetl.redact.pii import PII_RULES
from turnetl.redact.rules import RULES
from turnetl.redact.scanner import windows
from turnetl.redact.spans import Span, merge_spans

REDACTOR = SecretRedactor()
LINE = "what was done in this turn, in plain words\n"


@pytest.mark.full
@given(TEXTS)
def test_one_search_for_all_rules_gives_the_matches_of_each_rule(texts: list[str]) -> None:
    data = "\n".join(texts).encode("utf-8", "surrogatepass")
    rules = (*RULES, *PII_RULES)
    matcher = RuleMatcher(data, rules, literal_search(rules))
    for rule in rules:
        position = 0
        while match := rule.compiled.search(data, position):
            found = matcher.first(rule, position)
            assert found is not None
            assert found.span(found.lastindex or 0) == match.span(match.lastindex or 0)
            position = max(match.end(), position + 1)
        assert rule not in matcher.rules or matcher.first(rule, position) is None


@given(
    st.lists(st.text("ab1é", min_size=1, max_size=12), min_size=1, max_size=60, unique=True),
    st.lists(st.text("ab1é", max_size=30), max_size=20),
)
def test_many_known_secrets_are_found_like_each_alone(secrets: list[str], texts: list[str]) -> None:
    known = {secret.encode(): "a" for secret in secrets}
    data = " ".join([*texts, *secrets[::2]]).encode()
    alone = [
        Span(*match.span(), "a")
        for secret in known
        for match in re.finditer(re.escape(secret), data)
    ]
    assert covered_bytes(ExactMatcher(known).spans(data)) >= covered_bytes(alone)
    assert all(data[start:end] in known for start, end, _ in ExactMatcher(known).spans(data))


def covered_bytes(spans: Iterable[Span]) -> set[int]:
    return {offset for start, end, _ in spans for offset in range(start, end)}


@pytest.mark.full
def test_known_secrets_are_found_across_the_boundaries_of_chunks() -> None:
    secrets = {fresh(24).encode(): "a" for _ in range(25)}
    step = 4 << 20
    for back, secret in enumerate(secrets):
        data = b"." * (step - back) + secret + b"."
        assert [*ExactMatcher(secrets).spans(data)] == [Span(step - back, step - back + 24, "a")]


@pytest.mark.parametrize("size", [0, 1, 300_000, 3_000_000])
@pytest.mark.parametrize("line", ["x", "a line\n", "é" * 5000 + "\n"])
def test_windows_cover_the_text_and_overlap_by_little(size: int, line: str) -> None:
    data = (line.encode() * (size // len(line.encode()) + 1))[:size]
    parts = [*windows(data)]
    assert [start for start, _ in parts[:1]] == [0][:size]
    assert [end for _, end in parts[-1:]] == [size][:size]
    assert all(later[0] < part[1] for part, later in pairwise(parts))
    assert sum(end - start for start, end in parts) <= size * 1.1


@pytest.mark.full
@pytest.mark.parametrize("first", range(6))
def test_no_canary_is_left_in_a_long_text(first: int) -> None:
    kinds = [*CANARIES][first::6]
    canaries = [CANARIES[kind]() for kind in kinds * 3]
    text = (LINE * 1000).join(["", *(f"{words}\n" for _, words in canaries), ""])
    (clean,), (count,) = REDACTOR.redact([text])
    assert not any(secret in clean for secret, _ in canaries)
    assert count >= len(canaries)
    assert REDACTOR.redact([clean]) == ([clean], [0])


@pytest.mark.full
def test_a_secret_at_the_boundary_of_two_windows_is_redacted() -> None:
    boundary = (256 << 10) - len(LINE) * 6000
    for offset in range(boundary - 30, boundary + 30, 7):
        token = "ghp_" + fresh(36)
        (clean,), (count,) = REDACTOR.redact([f"{LINE * 6000}{'.' * offset} {token} {LINE * 3000}"])
        assert (token[-20:] in clean, count) == (False, 1)


@pytest.mark.full
def test_as_many_secrets_as_lines_are_redacted_in_all_texts() -> None:
    secrets = [fresh(24) for _ in range(5000)]
    texts = ["".join(f"API_KEY={secret}\n" for secret in secrets), " ".join(secrets), "no"]
    (settings, list_, last), counts = REDACTOR.redact(texts)
    assert settings.count("API_KEY=[REDACTED:") == list_.count("[REDACTED:") == len(secrets)
    assert (last, counts[2]) == ("no", 0)
    assert not any(secret in settings + list_ for secret in secrets)


@pytest.mark.parametrize("keyword", ["password", "-pwd", "_key", "credentials", "the login is"])
@pytest.mark.parametrize("run", [" ", "\t", "\\", " \\"])
def test_a_long_run_after_a_keyword_is_read_a_few_times_only(keyword: str, run: str) -> None:
    """With a time that grows with the square of the run, this does not end."""
    text = keyword + run * (200_000 // len(run))
    assert REDACTOR.redact([text]) == ([text], [0])


@pytest.mark.full
def test_a_long_text_with_many_placeholders_is_redacted() -> None:
    text = "[REDACTED:password:0123456789abcdef] and\n" * 20_000
    (clean,), (count,) = REDACTOR.redact([f"{text}API_KEY={fresh(32)}"])
    assert (clean.startswith(text), count) == (True, 1)


def test_spans_next_to_many_placeholders() -> None:
    data = b"[REDACTED:a:0f0f0f0f0f0f0f0f]secret" * 3
    spans = [Span(29, 35, "a"), Span(32, 42, "b"), Span(0, 35, "c")]
    assert merge_spans(data, spans[:1]) == spans[:1]
    assert merge_spans(data, spans[1:]) == []
