"""Values of words, digits and a mark, where only their place says that they are secret."""

import json
import random

import pytest

from benchmarks.redaction.drawing import draw
from tests.redact.canaries import HEX, fresh, without_placeholders
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()
DIGITS = "0123456789"
SUFFIX = "afklruw"
WORDS = ("Tulpe", "Orbit", "Mango", "Falke", "Birke", "Komet")
OTHER_LETTERS = ("Möller", "Größe", "Żółw", "Señor", "Écume")


def drawn(words: tuple[str, ...] = WORDS) -> list[str]:
    """Return a value of each shape: `Tulpe!42812tul`, `Orbit#8190x`, `Mango-7981man`, …"""
    word = random.choice(words)
    return [f"{word}{mark}{fresh(4, DIGITS)}{fresh(3, SUFFIX)}" for mark in "!#-_."]


def left(syntax: str, values: list[str]) -> list[str]:
    """Return the values of which a part is left in a syntax."""
    texts = [syntax.replace("{}", value) for value in values]
    results = REDACTOR.redact_many([[text] for text in texts])
    cleaned = [without_placeholders(result.texts[0]) for result in results]
    return [
        value
        for value, clean in zip(values, cleaned, strict=True)
        if any(value[at : at + 5] in clean for at in range(len(value) - 4))
    ]


IN_SENTENCES = (
    *("Passwort: {} bitte", "Passwort ist {} bitte", "Kennwort: {} , danke", "pw: {} bitte"),
    *("password - {}", "password - {} please", "password: ({})", "PW {}", "heslo je {} prosim"),
)


@pytest.mark.parametrize("syntax", IN_SENTENCES)
def test_a_password_in_any_script_is_found_whatever_follows(syntax: str) -> None:
    values = [f"{word}{fresh(3, DIGITS)}Xq{fresh(4, DIGITS)}" for word in OTHER_LETTERS]
    assert left(syntax, [*values, *drawn(), *drawn(OTHER_LETTERS), fresh(32, HEX)]) == []


OF_SECRETS = (
    *("const JWT_SECRET = '{}';", "JWT_SECRET = '{}'", "let clientSecret = '{}'", "otp_secret={}"),
    *("<client-secret>{}</client-secret>", "<secret><value>{}</value></secret>"),
    *("SECRET_KEY_BASE={}", "signing_key: {}", "X-Api-Key: {}", "Authorization: Token {}"),
    *("users:\n- user:\n    token: {}\n", '{"api_key": "{}"}', "curl -H 'X-Api-Key: {}' x.com"),
)


def test_a_word_with_digits_and_a_mark_is_found_after_the_name_of_a_secret(
    subtests: pytest.Subtests,
) -> None:
    for syntax in OF_SECRETS:
        with subtests.test(syntax=syntax):
            assert left(syntax, [*drawn(), *drawn(OTHER_LETTERS), fresh(32, HEX), fresh(24)]) == []


IN_DATABASES = (
    *("CREATE USER kim IDENTIFIED BY {};", "alter user kim\n  identified by {} replace old"),
    *("GRANT ALL ON x.* TO kim@'%' IDENTIFIED BY {};", "sqlplus app/{}@db", "sqlplus app/{}"),
    *("sqlplus -S app/{} @run.sql", "SQL> conn app/{}@db"),
)


@pytest.mark.parametrize("syntax", IN_DATABASES)
def test_a_password_without_quotes_is_found_in_commands_of_databases(syntax: str) -> None:
    encoded = f"{fresh(9)}+{fresh(12)}=="
    assert left(syntax, [*drawn(), fresh(32, HEX), encoded, fresh(24), fresh(12)]) == []


ELSEWHERE = (
    *("the secret key we use is {}", "signing secret whsec is {}", "the new password will be {}"),
    *("her password used to be {}", "totp: {}", "password: !vault {}", "use admin:{} for the shop"),
    *('{"columns":["user","password"],"rows":[["bob","{}"]]}', '{"SecretString": "{}"}'),
    *("<th>user</th><th>password</th></tr><tr><td>bob</td><td>{}</td></tr>", "log in as root/{}"),
    *("<tr><td></td><th>password</th></tr><tr><td>1</td><td>{}</td></tr>",),
    *("Key        Value\n---        -----\nuser       bob\napi_key    {}\n",),
)


def test_a_value_of_any_shape_is_found_where_a_text_announces_it(subtests: pytest.Subtests) -> None:
    for syntax in ELSEWHERE:
        with subtests.test(syntax=syntax):
            assert left(syntax, [*drawn(), fresh(32, HEX), fresh(24)]) == []


WITH_SIGNS = {
    "password: {}": 'pa{d1}"ss\\wo{d2}rd',
    "db_password: {} # local": "pa{d1}`ss\\wo{d2}rd",
    'password: "{}"': "a b c {d1}X!q",
    "password: ({})": "Qx{d2}zPl",
    "password: <b>{}</b>": "Qx{d2}z",
    "PW {}": "Kran{d2}blau1001",
}
"""Patterns of values by their syntax."""


@pytest.mark.parametrize("syntax", WITH_SIGNS)
def test_signs_and_markup_hide_no_part_of_a_password(syntax: str) -> None:
    assert left(syntax, [draw(WITH_SIGNS[syntax]) for _ in range(6)]) == []


ORDINARY = (
    *("pin: GPIO17", "pin: PA5", 'password: "a b c d"', "pwd is C:\\work\\new"),
    *('password: "use at least 8 characters"', 'x = "password: required\\n"'),
    *("use admin:8080 for the dashboard", "totp: 6 digits", "password: !vault |", "totp: enabled"),
    *("the secret key we use is aes-256-gcm", "the token limit for claude-3 is 200000"),
    *("the signing key for tests is tests/rsa_2048.pem", "the secret to success is work"),
    *("Key   Value\n---   -----\ntoken_duration  768h\ntoken  required",),
    *("sqlplus scripts/run.sql", "sqlplus / as sysdba", "sqlplus app/x.sql", "conn src/lib/db.py"),
    *(
        "CREATE USER kim IDENTIFIED BY $1",
        "alter user kim identified by :pw",
        "grant identified by",
    ),
    *("create user kim identified by <password>", "the users are identified by uuid4 values"),
    *("secret: required", "token: string", "X-Api-Key: your-key", "signing_key: ${KEY}"),
    *("token: lodash@4.17.21", 'token: "pkg@1.20.3-beta"', "secret: aws-secret-2024-01-01"),
    *("token = year*100+month", "token = node.value+10", "access-key: alt+shift+12"),
    *("credentials: 'projects/foo-1234abc'", "token: 'Inter-400normal'", "token: index_1000rows"),
    *("private_key: id_rsa#2024", "token: file.py#L12-L34", "credentials = account-1234key.json"),
    *("Authorization: Token abc", "secret: vault:secret/data/app2", "token: T1!=T2"),
    *("password - at least 8 chars", "password - bcrypt10 hash", "password: (optional)"),
    *(
        "password: (see 1password)",
        "Das Passwort ist falsch 2024-01-01",
        "PW 12 kW",
        "pwd; ls -la2",
    ),
)


def test_ordinary_texts_stay(subtests: pytest.Subtests) -> None:
    for text in ORDINARY:
        with subtests.test(text=text):
            texts = [text, json.dumps({"text": f"{text}\n"})]
            assert REDACTOR.redact(texts) == (texts, [0, 0])
