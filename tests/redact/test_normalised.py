"""The view of a text that its reader sees, and secrets that are disguised in the text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redact.canaries import fresh
from turnetl.redact import SecretRedactor
from turnetl.redact.normalised import normalise, undisguised
from turnetl.redact.spans import Span

REDACTOR = SecretRedactor()
HIDDEN = [
    *("\x1b[32m", "\x1b[0m", "\x1b[01;31m\x1b[K", "\x1b]8;;https://x\x07", "\x1b(B"),
    *("\\u001b[1m", "\\x1b[0m", "\\033[33m", "\u200b", "\u2060", "\ufeff", "\u00ad", "\\u200b"),
]
"""What a reader does not see."""
ESCAPES = {
    "=": [
        "\\u003d",
        "\\\\u003d",
        "\\x3d",
        "=3D",
        "%3D",
        "&#61;",
        "&#x3d;",
        "&equals;",
        "&amp;#61;",
    ],
    '"': ["\\u0022", "%22", "&quot;", "&#34;"],
    ":": ["\\u003a", "%3A", "&#58;"],
}
PLAIN = st.text("abcXYZ019 _é€\n", max_size=6)
WRITTEN = [(escape, seen) for seen, escapes in ESCAPES.items() for escape in escapes]
PARTS = st.one_of(
    PLAIN.map(lambda text: (text, text)),
    st.sampled_from([*((hidden, "") for hidden in HIDDEN), *WRITTEN]),
)
"""A piece of a text, with what a reader sees of it."""
PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]+:([0-9a-f]{16})\]")


@given(st.lists(PARTS, max_size=12))
def test_the_view_is_what_a_reader_sees(parts: list[tuple[str, str]]) -> None:
    text, seen = ("".join(part) for part in zip(*parts, strict=True)) if parts else ("", "")
    assert undisguised(text.encode()).decode() == seen


@given(st.lists(PARTS, min_size=1, max_size=12), st.data())
def test_a_span_of_the_view_leads_to_the_same_characters_of_the_text(
    parts: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(part[0] for part in parts).encode()
    view = normalise(text)
    if view is None or not view.data:
        return
    start = data.draw(st.integers(0, len(view.data) - 1))
    end = data.draw(st.integers(start + 1, len(view.data)))
    original = view.to_original(Span(start, end, "any"))
    assert undisguised(text[original.start : original.end]) == view.data[start:end]


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cf", "Cc"], exclude_characters="\\%&=\u034f"))
)
def test_a_text_without_disguise_has_no_view(text: str) -> None:
    assert normalise(text.encode()) is None


@given(st.lists(st.sampled_from(["", "", *HIDDEN]), min_size=24, max_size=24))
def test_no_character_of_a_disguised_secret_is_left(hidden: list[str]) -> None:
    secret = fresh(24)
    disguised = "".join(character + mark for character, mark in zip(secret, hidden, strict=True))
    (clean,), (count,) = REDACTOR.redact([f"DB_PASSWORD={disguised}\nPORT=5432"])
    assert count == 1
    assert undisguised(clean.encode()).decode().startswith("DB_PASSWORD=[REDACTED:")
    assert not any(secret[i : i + 4] in PLACEHOLDER.sub("", clean) for i in range(20))
    assert clean.endswith("PORT=5432")


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD={}",
        "\x1b[32m+\x1b[m\x1b[32mDB_PASSWORD={}\x1b[m",
        "DB_\x1b[01;31m\x1b[KPASSWORD\x1b[m\x1b[K={}",
        "DB_PASSWORD\\u003d{}",
        "DB_PASSWORD=&quot;{}&quot;",
        "DB_PASS\u200bWORD={}",
    ],
)
def test_a_secret_has_the_same_digest_in_every_disguise(text: str) -> None:
    secret = fresh(20)
    (plain, disguised), _ = REDACTOR.redact([f"API_KEY={secret}", text.replace("{}", secret)])
    assert secret not in disguised
    assert PLACEHOLDER.findall(plain) == PLACEHOLDER.findall(disguised) != []


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[32m+    password = os.environ['DB_PASSWORD']\x1b[m",
        "\x1b[1mpassword\x1b[0m: \x1b[33mstring\x1b[0m",
        "?a=1%20b&c=%2Ftmp%2Fx&quot;",
        "\u200bzero\u200b width\ufeff",
        "{\\u0022password\\u0022: \\u0022string\\u0022}",
    ],
)
def test_a_disguised_text_without_secrets_stays(text: str) -> None:
    assert REDACTOR.redact([text]) == ([text], [0])
