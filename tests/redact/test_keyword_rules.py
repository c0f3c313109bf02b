"""Keyword rules: markup, colours, escapes, types and languages between keyword and secret."""

import base64
import re
from string import ascii_lowercase, ascii_uppercase, digits

import pytest

from tests.redact.canaries import fresh
from turnetl.redact import SecretRedactor

REDACTOR = SecretRedactor()

CONTEXTS = [
    "| name | value |\n|---|---|\n| API_KEY | {} |",
    "**API key:** {}",
    "- **Password**: `{}`",
    '<input type="password" name="pw" value="{}">',
    "<td>Password</td><td>{}</td>",
    "<dt>API Key</dt><dd>{}</dd>",
    "password=&quot;{}&quot;",
    '<add key="ApiKey" value="{}" />',
    "env:\n- name: API_KEY\n  value: {}\n",
    '[{{"name": "API_KEY", "value": "{}"}}]',
    '{{\n "key": "DB_PASSWORD",\n "value": "{}"\n}}',
    '{{"password": ["{}"]}}',
    "\x1b[32mAPI_KEY\x1b[0m=\x1b[33m{}\x1b[0m",
    "API_KEY=\\u001b[33m{}\\u001b[0m",
    "Password: \x1b[1m{}\x1b[22m",
    "\\u0022password\\u0022:\\u0022{}\\u0022",
    "API_KEY\\u003d{}",
    "password「{}」",
    "パスワードは「{}」です",
    "密码为 {}。谢谢",
    "비밀번호는 {} 입니다",
    "Пароль: {}",
    "mon mot de passe est « {} »",
    "la contraseña es {}",
    "a senha é {}",
    "Mein Passwort lautet {}.",
    "API-Schlüssel: {}",
    "my password's {}",
    "use {} as the password",
    "log in: login with admin / {}",
    "Here is the API key:\n\n{}\n",
    "Here is the API key:\n```\n{}\n```\n",
    "Password:\n{}\n",
    'API_KEY: str = "{}"',
    'const apiKey: string = "{}"',
    'const TOKEN: &str = "{}";',
    'variable "db_password" {{\n  type = string\n  default = "{}"\n}}',
    "password = b'{}'",
    "AWS Secret Access Key [None]: {}",
    "API_KEY -> {}",
    "API_KEY                          {}",
    "│ API_KEY │ {} │",
    "(password: {})",
    "[token={}]",
    "root:{}@tcp(127.0.0.1:3306)/shop",
    "postgres%3A%2F%2Fapp%3A{}%40db%3A5432",
    "/login?next=https://x/y%3Ftoken%3D{}%26a",
]


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("before", ["", "é\n" * 40_000])
def test_a_secret_is_redacted_completely_and_its_context_stays(context: str, before: str) -> None:
    secret = "Kb" + "".join(
        fresh(1, kind) for kind in [ascii_uppercase, digits, ascii_lowercase] * 8
    )
    (clean,), _ = REDACTOR.redact([before + context.format(secret)])
    left, right = context.format("\0").split("\0")
    placeholder = clean.removeprefix(before + left).removesuffix(right)
    assert re.fullmatch(r"\[REDACTED:[a-z-]+:[0-9a-f]{16}\]", placeholder)
    assert REDACTOR.redact([clean]) == ([clean], [0])


def test_names_and_words_in_the_same_contexts_stay(subtests: pytest.Subtests) -> None:
    for text in [
        'results["token"] = NotifyD7Networks.unquote(results["user"])',
        "OpenThreadToken(KERNEL32.GetCurrentThread(), 1)",
        "<td>Password</td><td>required, 8 to 64 signs</td>",
        "| token | toolResult2Text |",
        "Password:\nutf8mb4_0900_ai_ci",
        "the token:\n\n550e8400-e29b-41d4-a716-446655440000",
        "token: &str = TOKEN_OF_SHOP_2",
        'variable "password_length" {\n  default = 32\n}',
        "use version2beta as the token",
        "mount it as the secret volume",
        'PASSWORD: "NEO4J_PASSWORD", SHOP_PASSWORD="SHOP2_PASSWORD"',
        "user@tcp(127.0.0.1:3306)/shop",
        "if password == user2name1: pass",
        "a.jpg?next=https%3A%2F%2Fshop.com%2Fa",
    ]:
        with subtests.test(text=text):
            assert REDACTOR.redact([text]) == ([text], [0])


def test_an_equals_sign_in_base64_is_not_an_assignment() -> None:
    text = f"data:image/png;base64,a+Pw=={base64.b64encode(fresh(40).encode()).decode()}"
    assert REDACTOR.redact([text]) == ([text], [0])
