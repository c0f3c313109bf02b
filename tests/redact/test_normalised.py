"""The view of a text that its reader sees, and secrets that are disguised in the text."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.redaction.drawing import draw as draw_token
from benchmarks.redaction.tokens import TOKENS
from tests.redact.canaries import PLACEHOLDER, fresh, without_placeholders
from turnetl.redact import SecretRedactor
from turnetl.redact.normalised import NormalisedText, undisguised, views
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
PLAIN = st.text("abcXYZ019 _é€", max_size=6)
WRITTEN = [(escape, seen) for seen, escapes in ESCAPES.items() for escape in escapes]
PARTS = st.one_of(
    PLAIN.map(lambda text: (text, text)),
    st.sampled_from([*((hidden, "") for hidden in HIDDEN), *WRITTEN]),
)
"""A piece of a text, with what a reader sees of it."""


@pytest.mark.full
@given(st.lists(PARTS, max_size=12))
def test_the_view_is_what_a_reader_sees(parts: list[tuple[str, str]]) -> None:
    text, seen = ("".join(part) for part in zip(*parts, strict=True)) if parts else ("", "")
    assert undisguised(text.encode()).decode() == seen


@given(st.lists(PARTS, min_size=1, max_size=12), st.data())
def test_a_span_of_a_view_leads_to_the_same_characters_of_the_text(
    parts: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(part[0] for part in parts).encode()
    for view in views(text):
        if not view.data:
            continue
        text_seen = view.data.decode()
        first = data.draw(st.integers(0, len(text_seen) - 1))
        last = data.draw(st.integers(first + 1, len(text_seen)))
        start, end = (len(text_seen[:number].encode()) for number in (first, last))
        shown = without_inserted_spaces(view, text, start, end)
        # What is decoded may be encoded itself, and is decoded in a view of its own.
        assert layers(shown) & layers(original(view, text, start, end))


def layers(text: bytes) -> set[bytes]:
    return {undisguised(text), *(view.data for view in views(text))}


def original(view: NormalisedText, text: bytes, start: int, end: int) -> bytes:
    span = view.to_original(Span(start, end, "any"))
    return text[span.start : span.end]


def without_inserted_spaces(view: NormalisedText, text: bytes, start: int, end: int) -> bytes:
    """Return a part of a view without the spaces for what is not seen between two words."""
    return bytes(
        byte
        for at, byte in enumerate(view.data[start:end], start)
        if byte != ord(" ") or undisguised(original(view, text, at, at + 1))
    )


@given(
    st.text(
        st.characters(
            exclude_categories=["Cs", "Cf", "Cc", "Zs"], exclude_characters="\\%&=\u034f[<^`"
        )
    )
)
def test_a_text_without_disguise_has_no_view(text: str) -> None:
    assert [*views(text.encode())] == []


CONTROLS = ["\n", "\t", "\r\n", " ", '"', "\x1b[0m", "\x1b[1;32m"]


def written(character: str) -> list[str]:
    """Return how programs write a character."""
    code = ord(character)
    ways = [f"%{code:02X}", f"%{code:02x}", f"\\u{code:04x}", f"\\u{code:04X}", f"\\x{code:02x}"]
    ways += [f"\\{code:03o}", f"&#{code};", f"&#x{code:x};", f"\\u{{{code:x}}}", f"\\U{code:08x}"]
    ways += {"\n": [*NEW_LINES], "\t": ["\\t", "&Tab;", "^I"], " ": ["&nbsp;", "=20"]}.get(
        character, []
    )
    return [*ways, "=3D" if character == "=" else ways[0]]


NEW_LINES = ("\\n", "=0A", "&NewLine;", "<br>", "%n", "`n", "^J", "=0D=0A", "=\n", "\\\n")
LAYERS: list[Callable[[str], str]] = [
    lambda text: text.replace("\\", "\\\\"),
    lambda text: text.replace("%", "%25").replace("\\", "%5C"),
    lambda text: text.replace("&", "&amp;"),
    lambda text: text.replace("\\", "\\u005c"),
]


@st.composite
def boundaries(draw: st.DrawFn) -> str:
    """Return encoded controls, encoded again up to three times."""
    controls = draw(st.sampled_from(CONTROLS))
    text = "".join(
        draw(st.sampled_from(written(character))) if character not in "[0123;m" else character
        for character in controls
    )
    for layer in draw(st.lists(st.sampled_from(LAYERS), max_size=3)):
        text = layer(text)
    return text


TOKEN_KINDS = sorted(set(TOKENS) - {"JSON web token"})


@pytest.mark.full
@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(TOKEN_KINDS),
            boundaries(),
            st.sampled_from(["word", "API_KEY", "KEY9", "see: ", "x"]),
        ),
        min_size=8,
        max_size=8,
    )
)
def test_a_token_is_found_after_every_encoded_control_character(
    places: list[tuple[str, str, str]],
) -> None:
    tokens = [draw_token(TOKENS[kind]) for kind, _, _ in places]
    texts = [
        f"{before}{boundary}{token}"
        for token, (_, boundary, before) in zip(tokens, places, strict=True)
    ]
    for token, text in zip(tokens, texts, strict=True):
        (clean,), _ = REDACTOR.redact([text])
        assert token not in clean
        assert token[len(token) // 4 : -len(token) // 4] not in clean


@pytest.mark.parametrize("boundary", ["\\12", "\\15", "\\\\12", "\\40", "%0C", "%0b"])
def test_a_token_is_found_after_white_space_in_few_digits(boundary: str) -> None:
    for kind in TOKEN_KINDS[::4]:
        token = draw_token(TOKENS[kind])
        (clean,), _ = REDACTOR.redact([f"KEY9{boundary}{token}"])
        # A digit of the token would be one of the octal number.
        assert token not in clean or token[0].isdigit()


@pytest.mark.parametrize(
    "boundary", ["%0A", "%250A", "\\u000a", "\\\\n", "&#10;", "\x1b[0m", "=0A"]
)
def test_an_encoded_line_break_is_no_part_of_the_token_after_it(boundary: str) -> None:
    token = "ghp_" + fresh(36)
    (plain, clean), _ = REDACTOR.redact([token, f"word{boundary}{token}{boundary} end"])
    assert clean == f"word{boundary}{plain.replace('github-pat', rule_of(clean))}{boundary} end"


def rule_of(clean: str) -> str:
    """Return the rule in the only placeholder of a text."""
    (rule,) = re.findall(r"\[REDACTED:([a-z0-9-]+):", clean)
    return str(rule)


@pytest.mark.parametrize("break_", ["=\n", "=\r\n"])
def test_a_token_that_quoted_printable_breaks_is_cut_with_its_digest(break_: str) -> None:
    token = "ghp_" + fresh(36)
    broken = f"token=3D{token[:15]}{break_}{token[15:]} and more"
    (plain, clean), _ = REDACTOR.redact([token, broken])
    assert PLACEHOLDER.findall(plain) == PLACEHOLDER.findall(clean) != []
    assert clean.endswith("] and more")


@pytest.mark.full
@given(st.lists(boundaries(), max_size=3), st.sampled_from(["", "a", "word "]))
def test_the_view_of_long_runs_of_signs_takes_no_longer(signs: list[str], text: str) -> None:
    for sign in ("\\", "%25", "&amp;", "=", "^", "`", *signs):
        assert len([*views((sign * 3000 + text).encode())]) <= 12


@pytest.mark.full
@given(st.lists(st.sampled_from(["", "", *HIDDEN]), min_size=24, max_size=24))
def test_no_character_of_a_disguised_secret_is_left(hidden: list[str]) -> None:
    secret = fresh(24)
    disguised = "".join(character + mark for character, mark in zip(secret, hidden, strict=True))
    (clean,), (count,) = REDACTOR.redact([f"DB_PASSWORD={disguised}\nPORT=5432"])
    assert count == 1
    assert undisguised(clean.encode()).decode().startswith("DB_PASSWORD=[REDACTED:")
    assert not any(secret[i : i + 4] in without_placeholders(clean) for i in range(20))
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
