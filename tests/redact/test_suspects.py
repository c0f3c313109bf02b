"""The quick pass over many texts finds whatever a look at each of them would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.canaries import CANARIES
from turnetl.redact.matches import possible
from turnetl.redact.prefilter import suspects
from turnetl.redact.required_literals import Needs, needs
from turnetl.redact.rules import RULES, SecretRule
from turnetl.redact.scanner import Scanner

SCANNER = Scanner()
HALVES = "\ud800é\udfff€\U0001f511"
CROOKED = [*HALVES, "\u017f", "\u212a", "\n", "\x1e", "\\", "[REDACTED:a:0f0f]", "", " ", '"', ": "]


def words() -> list[str]:
    """What the rules need, whole and cut, in capitals and not, and what makes it a secret."""
    found = (needs(rule.pattern.encode()) for rule in RULES)
    needed = sorted({text for need in found if need is not None for text in need.texts})
    values = ["aB3" * 12, "= 'x7Kq!2", "0" * 10, "a@", "PRIVATE KEY-----", ":x1y2z3@h"]
    return [*needed, *map(str.upper, needed), *(text[:-1] for text in needed), *values, *CROOKED]


def of_a_canary(kind: str, at: int) -> str:
    _, said = CANARIES[kind]()
    return said[at % len(said) :] if at % 2 else said


PIECES = st.sampled_from(words()) | st.builds(
    of_a_canary, st.sampled_from(sorted(CANARIES)), st.integers(0, 200)
)
TEXTS = st.lists(st.lists(PIECES, max_size=8).map("".join), max_size=6)


def plain(text: str) -> list[SecretRule]:
    """Look for every rule, everywhere in one text."""
    data = text.encode("utf-8", "surrogatepass")
    return [rule for rule in RULES if rule.compiled.search(data)]


@given(TEXTS)
def test_every_rule_that_fits_a_text_is_named_with_it(texts: list[str]) -> None:
    found = suspects(texts, SCANNER)
    for place, text in enumerate(texts):
        data = text.encode("utf-8", "surrogatepass")
        for rule in plain(text):
            assert rule in found[place]
            assert rule in possible(data, RULES)


@given(st.sampled_from(RULES), st.data())
def test_every_match_of_a_rule_begins_with_what_it_needs(
    rule: SecretRule, data: st.DataObject
) -> None:
    need = needs(rule.pattern.encode())
    said = data.draw(st.from_regex(rule.pattern.encode()))
    assert need is None or is_within(need, rule, said.lower(), said)


def is_within(need: Needs, rule: SecretRule, small: bytes, said: bytes) -> bool:
    """Say whether the rule fits where something stands that it needs."""
    places = (place for place in range(len(said)) if small.startswith(tuple(of(need)), place))
    return any(
        rule.compiled.match(said, max(0, place - back))
        for place in places
        for back in range(need.reach + 1)
    )


def of(need: Needs) -> list[bytes]:
    return [text.encode() for text in need.texts]


@pytest.mark.parametrize(
    ("pattern", "texts", "reach"),
    [
        ("(abcd|efgh)[0-9]+", {"abcd", "efgh"}, 0),
        ("(?i)AbCdEfGh", {"abcdefgh"}, 0),
        ("[0-9]{2,10}:AA.*", {":aa"}, 10),
        (r"\\*\"(?:p|q)\\*\"", {'"p"', '"q"', '"p\\', '"q\\'}, 0),
        ("x(?:yz)?w(?:u|v)", {"xyzw", "xwu", "xwv"}, 0),
        ("gh[op]_[A-Z]{3}", {"gho_", "ghp_"}, 0),
        (".*abcd", {"abcd"}, 0),
        ("(?:7z|gzip).", {"7z", "gzip"}, 0),
        ("(?:парол|密码)=", {"паро", "密码="}, 0),
    ],
)
def test_what_a_pattern_needs(pattern: str, texts: set[str], reach: int) -> None:
    assert needs(pattern.encode()) == Needs(frozenset(texts), reach)


@pytest.mark.parametrize(
    "pattern", ["", "a", "[a-z]+=", "(?:abcd|[xyz]+)", "a*b", "ab.", "(?:abc)?d"]
)
def test_a_pattern_that_can_begin_with_almost_anything_needs_nothing(pattern: str) -> None:
    assert needs(pattern.encode()) is None


@pytest.mark.parametrize("kind", CANARIES)
def test_a_secret_is_suspected_in_each_of_the_texts_that_are_equal(kind: str) -> None:
    _, said = CANARIES[kind]()
    found = suspects(["no", said, "\udfff", said, "no", f"\udfff {said}"], SCANNER)
    assert {1, 3, 5} <= found.keys()
