"""Canaries: secrets that are drawn in each run (tests/chance.py). This file holds none."""

import base64
import json
import random
import re
import string
from collections.abc import Callable
from itertools import pairwise
from uuid import UUID

LETTERS = string.ascii_letters + string.digits
CAPITALS = string.ascii_uppercase + string.digits[2:8]
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = string.hexdigits[:16]
PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]+:([0-9a-f]{16})\]")


def fresh(length: int, alphabet: str = LETTERS) -> str:
    """Return a random value with a digit and letters of both cases, like a real token.

    Without four `x` in a row, which stand for a value, and without `pwd` at an end, as names have.
    """
    kinds = len({_kind(character) for character in alphabet})
    while True:
        value = "".join(random.choice(alphabet) for _ in range(length))
        changes = sum(_kind(a) != _kind(b) for a, b in pairwise(value))
        if "xxxx" in value.lower() or "pwd" in (value[:3].lower(), value[-3:].lower()):
            continue
        if length < 10 or kinds == 1 or (len({_kind(c) for c in value}) == kinds and changes > 2):
            return value


def fresh_uuid() -> str:
    """Return a random UUID of version 4."""
    return str(UUID(int=random.getrandbits(128), version=4))


def _kind(character: str) -> str:
    return "0" if character.isdigit() else "A" if character.isupper() else "a"


def without_placeholders(text: str) -> str:
    """Return a redacted text without its digests, which hold a part of a short value by chance."""
    return PLACEHOLDER.sub("", text)


def words(count: int) -> str:
    """Return as many random words."""
    return " ".join(fresh(6, string.ascii_lowercase) for _ in range(count))


def nested(values: dict[str, str]) -> str:
    """Return nested JSON, as programs write it that do not escape letters."""
    inside = json.dumps(values, ensure_ascii=False)
    return json.dumps({"inside": inside}, ensure_ascii=False)


def pem_lines() -> str:
    return "\n".join(fresh(64) for _ in range(6))


# Each entry returns a secret, and a text that contains it.
CANARIES: dict[str, Callable[[], tuple[str, str]]] = {
    "a lone AWS access key id": lambda: _in("{}", "AKIA" + fresh(16, CAPITALS)),
    "the AWS secret": lambda: _in("aws_secret_access_key = {}", fresh(40)),
    "a GitHub token": lambda: _in("git push https://x:{}@github.com/a/b", "ghp_" + fresh(36)),
    "a fine-grained GitHub token": lambda: _in("{}", "github_pat_" + fresh(22) + "_" + fresh(59)),
    "a GitLab token": lambda: _in("use {} here", "glpat-" + fresh(20)),
    "an OpenAI key": lambda: _in("the key is {}.", "sk-proj-" + fresh(48)),
    "an old OpenAI key": lambda: _in("{}", "sk-" + fresh(48)),
    "an Anthropic key": lambda: _in("ANTHROPIC={}", "sk-ant-api03-" + fresh(93) + "AA"),
    "a Hugging Face token": lambda: _in("login with {}", "hf_" + fresh(34)),
    "a Slack token": lambda: _in("{}", f"xoxb-{fresh(12, string.digits)}-{fresh(24)}"),
    "a Stripe key": lambda: _in("stripe {}", "sk_live_" + fresh(24)),
    "a Google key": lambda: _in("?key={}&q=1", "AIza" + fresh(35)),
    "a bearer header": lambda: _in("curl -H 'Authorization: Bearer {}' x", fresh(40)),
    "a quoted password": lambda: _in('password = "{}"', fresh(14)),
    "a chosen password": lambda: _in("password: '{}'", fresh(9, string.ascii_lowercase) + "!7"),
    "an environment line": lambda: _in("API_KEY={}", fresh(32)),
    "a YAML line": lambda: _in("db:\n  password: {}\n", fresh(16)),
    "a database address": lambda: _in("postgres://app:{}@db:5432/app", fresh(16)),
    "a JSON web token": lambda: _in("{}", f"eyJ{fresh(20)}.eyJ{fresh(30)}.{fresh(43)}"),
    "a Telegram token": lambda: _in("{}", fresh(10, string.digits) + ":AA" + fresh(33)),
    "a flag of a command": lambda: _in("deploy --token {} --yes", fresh(24)),
    "curl's user": lambda: _in("curl -u admin:{} http://x", fresh(18)),
    "a sentence": lambda: _in("the password is {} I think", fresh(12)),
    "an AWS session": lambda: _in('"SessionToken": "{}"', "IQoJb3JpZ2lu" + fresh(180)),
    "a GitHub app's token": lambda: _in("as {}", "ghs_" + fresh(36)),
    "a Slack webhook": lambda: _in(
        "https://hooks.slack.com/services/{}",
        f"T{fresh(8, UPPER)}/B{fresh(10, UPPER)}/{fresh(24)}",
    ),
    "a Discord webhook": lambda: _in(
        f"https://discord.com/api/webhooks/{fresh(18, string.digits)}/{{}}", fresh(68)
    ),
    "a Discord bot": lambda: _in("{}", f"MT{fresh(22)}.{fresh(6)}.{fresh(30)}"),
    "a Telegram bot's address": lambda: _in(
        "https://api.telegram.org/bot{}/getMe", fresh(10, string.digits) + ":AA" + fresh(33)
    ),
    "an Azure storage key": lambda: _in(
        "AccountName=shop;AccountKey={};EndpointSuffix=core", fresh(86) + "=="
    ),
    "a Twilio key": lambda: _in("TWILIO_AUTH_TOKEN={}", fresh(32, HEX)),
    "a SendGrid key": lambda: _in("{}", f"SG.{fresh(22)}.{fresh(43)}"),
    "an npm token": lambda: _in("//npm.example.org/:_authToken={}", "npm_" + fresh(36)),
    "a PyPI token": lambda: _in("{}", "pypi-AgEIcHlwaS5vcmc" + fresh(100)),
    "Docker's settings": lambda: _in('{"auths": {"x": {"auth": "{}"}}}', _base64("me:", 20)),
    "a DigitalOcean token": lambda: _in("{}", "dop_v1_" + fresh(64, HEX)),
    "a Heroku key": lambda: _in("HEROKU_API_KEY={}", fresh_uuid()),
    "a basic header": lambda: _in("Authorization: Basic {}", _base64("admin:", 16)),
    "a cookie": lambda: _in("Cookie: theme=dark; session={}; a=b", fresh(32)),
    "a session of PHP": lambda: _in("PHPSESSID={}", fresh(26, LOWER)),
    "a Redis address": lambda: _in("redis://:{}@redis:6379/0", fresh(24)),
    "a MongoDB address": lambda: _in("mongodb+srv://app:{}@c0.mongodb.net/x?w=1", fresh(16)),
    "a connection string": lambda: _in("Server=db;User Id=sa;Password={};Encrypt=True", fresh(14)),
    "a TOML line": lambda: _in('api_key = "{}"', fresh(32)),
    "JSON in JSON in JSON": lambda: _nested(fresh(14)),
    "an export": lambda: _in("export DEPLOY_TOKEN={}", fresh(40)),
    "PowerShell's environment": lambda: _in('$env:API_KEY = "{}"', fresh(32)),
    "a Dockerfile": lambda: _in("ENV DB_PASSWORD {}", fresh(16)),
    "Terraform": lambda: _in('master_password = "{}"', fresh(16)),
    "a secret of Kubernetes": lambda: _in(
        "apiVersion: v1\nkind: Secret\ndata:\n  stripe: {}\n", _base64("", 18)
    ),
    "netrc": lambda: _in("machine api.shop.com login me password {}", fresh(16)),
    "pgpass": lambda: _in("db.shop:5432:app:app:{}", fresh(16)),
    "a password's hash": lambda: _in("admin:{}", "$2y$10$" + fresh(53)),
    "an age key": lambda: _in("{}", "AGE-SECRET-KEY-1" + fresh(58, UPPER)),
    "a coloured diff": lambda: _in("\x1b[32m+\x1b[m\x1b[32mDB_PASSWORD={}\x1b[m", fresh(16)),
    "a coloured token": lambda: _in("\x1b[32m{}\x1b[m", "ghp_" + fresh(36)),
    "a German sentence": lambda: _in("das Passwort ist {}", fresh(16)),
    "a Chinese sentence": lambda: _in("密码是{}", fresh(16)),
    "a password for MySQL": lambda: _in("mysql -uroot -p{} shop", fresh(16)),
    "sshpass": lambda: _in("sshpass -p {} ssh shop", fresh(16)),
    "sudo": lambda: _in("echo {} | sudo -S ls", fresh(16)),
    "SQL": lambda: _in("ALTER USER app WITH PASSWORD '{}';", fresh(16)),
    "XML": lambda: _in("<password>{}</password>", fresh(16)),
    "a Vault token": lambda: _in("{}", "hvs." + fresh(95)),
    "a Supabase key": lambda: _in("{}", "sbp_" + fresh(40, HEX)),
    "a Vercel token": lambda: _in("VERCEL_TOKEN={}", fresh(24)),
    "a Cloudflare token": lambda: _in("CLOUDFLARE_API_TOKEN={}", fresh(40)),
    "a Databricks token": lambda: _in("{}", "dapi" + fresh(32, HEX)),
    "a Linear key": lambda: _in("{}", "lin_api_" + fresh(40)),
    "a Notion token": lambda: _in("{}", "ntn_" + fresh(46)),
    "a Figma token": lambda: _in("{}", "figd_" + fresh(40)),
    "a Mailgun key": lambda: _in("{}", "key-" + fresh(32, HEX)),
    "a Sentry address": lambda: _in("https://{}@o12.ingest.sentry.io/4", fresh(32, HEX)),
    "a signed address": lambda: _in("https://b.s3.x.com/k?X-Amz-Signature={}&a=1", fresh(64, HEX)),
    "a PEM key": lambda: _pem("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"),
    "a PEM key without its end": lambda: _pem("-----BEGIN PRIVATE KEY-----\n{}\n"),
    "a PEM key without its beginning": lambda: _pem("{}\n-----END OPENSSH PRIVATE KEY-----"),
}  # fmt: skip

# As CANARIES, with values as people choose them: only the words around them announce a secret.
CHOSEN: dict[str, Callable[[], tuple[str, str]]] = {
    "letters in YAML": lambda: _in("password: {}\nuser: app", fresh(14, string.ascii_lowercase)),
    "digits in a shell": lambda: _in("export DB_PASSWORD={}", fresh(10, string.digits)),
    "a passphrase": lambda: _in('{"passphrase": "{}"}', words(4)),
    "letters for MySQL": lambda: _in("mysql -u root -p{} shop", fresh(14, string.ascii_lowercase)),
    # Letters that end like a participle (`expired`) are taken for a state of the password.
    "letters in a sentence": lambda: _in(
        "the password is {}.", fresh(13, string.ascii_lowercase) + "q"
    ),
    "a test of a form": lambda: _in("await page.fill('#password', '{}');", words(3)),
    "an escaped name": lambda: _in("DB_PASSWORD\\u003d{}", fresh(14, string.ascii_lowercase)),
    "a seed": lambda: _in('mnemonic = "{}"', words(12)),
}  # fmt: skip


def _in(template: str, secret: str) -> tuple[str, str]:
    return secret, template.replace("{}", secret)


def _base64(prefix: str, length: int) -> str:
    return base64.b64encode(f"{prefix}{fresh(length)}".encode()).decode()


def _nested(secret: str) -> tuple[str, str]:
    return secret, nested({"b": json.dumps({"password": secret})})


def _pem(template: str) -> tuple[str, str]:
    lines = pem_lines()
    return lines.splitlines()[3], template.format(lines)
