"""The prefilter over many texts selects every text in which a rule matches."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.canaries import CANARIES
from turnetl.redact import known_literals
from turnetl.redact.known_literals import RequiredLiterals, required_literals
from turnetl.redact.literal_search import LiteralSearch, RuleMatcher, literal_search, spans_of_rule
from turnetl.redact.pii import PII_RULES
from turnetl.redact.prefilter import candidates
from turnetl.redact.rule import SecretRule
from turnetl.redact.rules import RULES
from turnetl.redact.scanner import SecretScanner

SCANNER = SecretScanner()
WIDE_CHARACTERS = "\ud800é\udfff€\U0001f511"
FRAGMENTS = [
    *WIDE_CHARACTERS,
    "\u017f",
    "\u212a",
    "\n",
    "\x1e",
    "\\",
    "[REDACTED:a:0f0f0f0f0f0f0f0f]",
    "",
    " ",
    '"',
    ": ",
]


def fragments() -> list[str]:
    """Return required literals, also truncated and in upper case, and values of secrets."""
    required = (required_literals(rule.pattern.encode()) for rule in RULES)
    literals = sorted({text for rule in required if rule is not None for text in rule.literals})
    values = ["aB3" * 12, "= 'x7Kq!2", "0" * 10, "a@", "PRIVATE KEY-----", ":x1y2z3@h"]
    return [
        *literals,
        *map(str.upper, literals),
        *(text[:-1] for text in literals),
        *values,
        *FRAGMENTS,
    ]


def canary_text(kind: str, start: int) -> str:
    _, text = CANARIES[kind]()
    return text[start % len(text) :] if start % 2 else text


PIECES = st.deferred(lambda: st.sampled_from(fragments())) | st.builds(
    canary_text, st.sampled_from(sorted(CANARIES)), st.integers(0, 200)
)
TEXTS = st.lists(st.lists(PIECES, max_size=8).map("".join), max_size=6)


def matching_rules(text: str) -> list[SecretRule]:
    """Return the rules that match anywhere in one text."""
    data = text.encode("utf-8", "surrogatepass")
    return [rule for rule in RULES if is_match(rule, data)]


def is_match(rule: SecretRule, data: bytes) -> bool:
    """Return whether the rule finds a secret anywhere."""
    return any(spans_of_rule(rule, data, lambda rule, start: rule.compiled.search(data, start)))


@pytest.mark.full
@given(TEXTS)
def test_every_rule_that_finds_a_secret_in_a_text_is_selected_with_it(texts: list[str]) -> None:
    found = candidates(texts, SCANNER)
    for index, text in enumerate(texts):
        data = text.encode("utf-8", "surrogatepass")
        for rule in matching_rules(text):
            assert rule in found[index]
            assert rule in RuleMatcher(data, RULES, literal_search(RULES)).rules


@pytest.mark.full
@given(st.sampled_from(RULES), st.data())
def test_every_match_of_a_rule_starts_with_a_required_literal(
    rule: SecretRule, data: st.DataObject
) -> None:
    required = required_literals(rule.pattern.encode())
    match = data.draw(st.from_regex(rule.pattern.encode()))
    assert required is None or matches_near_literal(required, rule, match)


@pytest.mark.full
@given(st.sampled_from(RULES), st.data())
def test_a_rule_is_searched_for_wherever_it_matches(rule: SecretRule, data: st.DataObject) -> None:
    matches = st.from_regex(rule.pattern.encode())
    text = b"..".join(data.draw(st.lists(matches, min_size=1, max_size=3)))
    required, search = required_literals(rule.pattern.encode()), literal_search((rule,))
    assert required is None or [*search.offsets(text.lower())]
    everything = RuleMatcher(text, RULES, literal_search(RULES))
    position = 0
    while match := rule.compiled.search(text, position):
        found = everything.first(rule, position)
        assert found is not None
        assert found.span(found.lastindex or 0) == match.span(match.lastindex or 0)
        position = max(match.end(), position + 1)


def test_the_stored_literals_are_those_of_the_rules() -> None:
    stored = files("turnetl.redact").joinpath("known_literals.tsv").read_text("utf-8")
    message = "run `python -m turnetl.redact.known_literals > turnetl/redact/known_literals.tsv`"
    assert stored.splitlines() == [*known_literals.lines([*RULES, *PII_RULES])], message


def test_a_literal_is_found_once_wherever_the_text_is_cut_for_the_search() -> None:
    search = LiteralSearch([rule for rule in RULES if rule.name == "sk-token"])
    megabyte = 1 << 20
    for back in range(6):
        text = b"." * (megabyte - back) + b"sk-" + b"a" * 20 + b"." * megabyte
        assert [*search.offsets(text)] == [megabyte - back]


def matches_near_literal(required: RequiredLiterals, rule: SecretRule, data: bytes) -> bool:
    """Return whether the rule matches near one of its required literals."""
    literals = tuple(literal.encode() for literal in required.literals)
    lower = data.lower()
    offsets = (offset for offset in range(len(data)) if lower.startswith(literals, offset))
    return any(
        rule.compiled.match(data, max(0, offset - back))
        for offset in offsets
        for back in range(required.max_offset + 1)
    )


@pytest.mark.parametrize(
    ("pattern", "literals", "max_offset"),
    [
        ("(abcd|efgh)[0-9]+", {"abcd", "efgh"}, 0),
        ("(?i)AbCdEfGh", {"abcdefgh"}, 0),
        ("[0-9]{2,10}:AA.*", {":aa"}, 10),
        (r"\\*\"(?:p|q)\\*\"", {'"p"', '"q"', '"p\\', '"q\\'}, 0),
        ("x(?:yz)?w(?:u|v)", {"xyzwu", "xyzwv", "xwu", "xwv"}, 0),
        ("gh[op]_[A-Z]{3}", {"gho_", "ghp_"}, 0),
        (".*abcd", {"abcd"}, 0),
        ("(?:7z|gzip).", {"7z", "gzip"}, 0),
        ("(?:парол|密码)=", {"парол=", "密码="}, 0),
    ],
)
def test_the_required_literals_of_a_pattern(
    pattern: str, literals: set[str], max_offset: int
) -> None:
    expected = RequiredLiterals(frozenset(literals), max_offset)
    assert required_literals(pattern.encode()) == expected


@pytest.mark.parametrize(
    "pattern", ["", "a", "[a-z]+=", "(?:abcd|[xyz]+)", "a*b", "ab.", "(?:abc)?d"]
)
def test_a_pattern_that_can_start_with_almost_anything_has_no_required_literals(
    pattern: str,
) -> None:
    assert required_literals(pattern.encode()) is None


def test_all_of_several_equal_texts_are_selected(subtests: pytest.Subtests) -> None:
    for kind in CANARIES:
        with subtests.test(kind=kind):
            _, text = CANARIES[kind]()
            found = candidates(["no", text, "\udfff", text, "no", f"\udfff {text}"], SCANNER)
            assert {1, 3, 5} <= found.keys()
