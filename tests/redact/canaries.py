"""Secrets that no one has, drawn anew for every run: none stands in this file."""

import secrets
import string
from collections.abc import Callable

LETTERS = string.ascii_letters + string.digits
CAPITALS = string.ascii_uppercase + string.digits[2:8]


def drawn(length: int, alphabet: str = LETTERS) -> str:
    """Random, with a digit and a letter of each size, as every real token of that length has."""
    while True:
        value = "".join(secrets.choice(alphabet) for _ in range(length))
        if length < 10 or len({_kind(c) for c in value}) == len({_kind(c) for c in alphabet}):
            return value


def _kind(character: str) -> str:
    return "0" if character.isdigit() else "A" if character.isupper() else "a"


def pem_lines() -> str:
    return "\n".join(drawn(64) for _ in range(6))


# Each gives the secret, and the words it stands in.
CANARIES: dict[str, Callable[[], tuple[str, str]]] = {
    "a lone AWS access key id": lambda: _in("{}", "AKIA" + drawn(16, CAPITALS)),
    "the AWS secret": lambda: _in("aws_secret_access_key = {}", drawn(40)),
    "a GitHub token": lambda: _in("git push https://x:{}@github.com/a/b", "ghp_" + drawn(36)),
    "a fine-grained GitHub token": lambda: _in("{}", "github_pat_" + drawn(22) + "_" + drawn(59)),
    "a GitLab token": lambda: _in("use {} here", "glpat-" + drawn(20)),
    "an OpenAI key": lambda: _in("the key is {}.", "sk-proj-" + drawn(48)),
    "an old OpenAI key": lambda: _in("{}", "sk-" + drawn(48)),
    "an Anthropic key": lambda: _in("ANTHROPIC={}", "sk-ant-api03-" + drawn(93) + "AA"),
    "a Hugging Face token": lambda: _in("login with {}", "hf_" + drawn(34)),
    "a Slack token": lambda: _in("{}", f"xoxb-{drawn(12, string.digits)}-{drawn(24)}"),
    "a Stripe key": lambda: _in("stripe {}", "sk_live_" + drawn(24)),
    "a Google key": lambda: _in("?key={}&q=1", "AIza" + drawn(35)),
    "a bearer header": lambda: _in("curl -H 'Authorization: Bearer {}' x", drawn(40)),
    "a quoted password": lambda: _in('password = "{}"', drawn(14)),
    "a chosen password": lambda: _in("password: '{}'", drawn(9, string.ascii_lowercase) + "!7"),
    "an environment line": lambda: _in("API_KEY={}", drawn(32)),
    "a YAML line": lambda: _in("db:\n  password: {}\n", drawn(16)),
    "a database address": lambda: _in("postgres://app:{}@db:5432/app", drawn(16)),
    "a JSON web token": lambda: _in("{}", f"eyJ{drawn(20)}.eyJ{drawn(30)}.{drawn(43)}"),
    "a Telegram token": lambda: _in("{}", drawn(10, string.digits) + ":AA" + drawn(33)),
    "a flag of a command": lambda: _in("deploy --token {} --yes", drawn(24)),
    "curl's user": lambda: _in("curl -u admin:{} http://x", drawn(18)),
    "a sentence": lambda: _in("the password is {} I think", drawn(12)),
    "a PEM key": lambda: _pem("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"),
    "a PEM key without its end": lambda: _pem("-----BEGIN PRIVATE KEY-----\n{}\n"),
    "a PEM key without its beginning": lambda: _pem("{}\n-----END OPENSSH PRIVATE KEY-----"),
}  # fmt: skip


def _in(words: str, secret: str) -> tuple[str, str]:
    return secret, words.format(secret)


def _pem(words: str) -> tuple[str, str]:
    lines = pem_lines()
    return lines.splitlines()[3], words.format(lines)
