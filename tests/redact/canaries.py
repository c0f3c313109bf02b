"""Secrets that no one has, drawn anew for every run: none stands in this file."""

import base64
import json
import secrets
import string
from collections.abc import Callable
from itertools import pairwise
from uuid import uuid4

LETTERS = string.ascii_letters + string.digits
CAPITALS = string.ascii_uppercase + string.digits[2:8]
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = string.hexdigits[:16]


def drawn(length: int, alphabet: str = LETTERS) -> str:
    """Random, with a digit and a letter of each size, as every real token of that length has."""
    kinds = len({_kind(sign) for sign in alphabet})
    while True:
        value = "".join(secrets.choice(alphabet) for _ in range(length))
        changes = sum(_kind(a) != _kind(b) for a, b in pairwise(value))
        if length < 10 or kinds == 1 or (len({_kind(c) for c in value}) == kinds and changes > 2):
            return value


def _kind(character: str) -> str:
    return "0" if character.isdigit() else "A" if character.isupper() else "a"


def nested(values: dict[str, str]) -> str:
    """Return JSON in JSON, as programs write it that leave letters as they are."""
    inside = json.dumps(values, ensure_ascii=False)
    return json.dumps({"inside": inside}, ensure_ascii=False)


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
    "an AWS session": lambda: _in('"SessionToken": "{}"', "IQoJb3JpZ2lu" + drawn(180)),
    "a GitHub app's token": lambda: _in("as {}", "ghs_" + drawn(36)),
    "a Slack webhook": lambda: _in(
        "https://hooks.slack.com/services/{}",
        f"T{drawn(8, UPPER)}/B{drawn(10, UPPER)}/{drawn(24)}",
    ),
    "a Discord webhook": lambda: _in(
        f"https://discord.com/api/webhooks/{drawn(18, string.digits)}/{{}}", drawn(68)
    ),
    "a Discord bot": lambda: _in("{}", f"MT{drawn(22)}.{drawn(6)}.{drawn(30)}"),
    "a Telegram bot's address": lambda: _in(
        "https://api.telegram.org/bot{}/getMe", drawn(10, string.digits) + ":AA" + drawn(33)
    ),
    "an Azure storage key": lambda: _in(
        "AccountName=shop;AccountKey={};EndpointSuffix=core", drawn(86) + "=="
    ),
    "a Twilio key": lambda: _in("TWILIO_AUTH_TOKEN={}", drawn(32, HEX)),
    "a SendGrid key": lambda: _in("{}", f"SG.{drawn(22)}.{drawn(43)}"),
    "an npm token": lambda: _in("//npm.example.org/:_authToken={}", "npm_" + drawn(36)),
    "a PyPI token": lambda: _in("{}", "pypi-AgEIcHlwaS5vcmc" + drawn(100)),
    "Docker's settings": lambda: _in('{"auths": {"x": {"auth": "{}"}}}', _base64("me:", 20)),
    "a DigitalOcean token": lambda: _in("{}", "dop_v1_" + drawn(64, HEX)),
    "a Heroku key": lambda: _in("HEROKU_API_KEY={}", str(uuid4())),
    "a basic header": lambda: _in("Authorization: Basic {}", _base64("admin:", 16)),
    "a cookie": lambda: _in("Cookie: theme=dark; session={}; a=b", drawn(32)),
    "a session of PHP": lambda: _in("PHPSESSID={}", drawn(26, LOWER)),
    "a Redis address": lambda: _in("redis://:{}@redis:6379/0", drawn(24)),
    "a MongoDB address": lambda: _in("mongodb+srv://app:{}@c0.mongodb.net/x?w=1", drawn(16)),
    "a connection string": lambda: _in("Server=db;User Id=sa;Password={};Encrypt=True", drawn(14)),
    "a TOML line": lambda: _in('api_key = "{}"', drawn(32)),
    "JSON in JSON in JSON": lambda: _nested(drawn(14)),
    "an export": lambda: _in("export DEPLOY_TOKEN={}", drawn(40)),
    "PowerShell's environment": lambda: _in('$env:API_KEY = "{}"', drawn(32)),
    "a Dockerfile": lambda: _in("ENV DB_PASSWORD {}", drawn(16)),
    "Terraform": lambda: _in('master_password = "{}"', drawn(16)),
    "a secret of Kubernetes": lambda: _in(
        "apiVersion: v1\nkind: Secret\ndata:\n  stripe: {}\n", _base64("", 18)
    ),
    "netrc": lambda: _in("machine api.shop.com login me password {}", drawn(16)),
    "pgpass": lambda: _in("db.shop:5432:app:app:{}", drawn(16)),
    "a password's hash": lambda: _in("admin:{}", "$2y$10$" + drawn(53)),
    "an age key": lambda: _in("{}", "AGE-SECRET-KEY-1" + drawn(58, UPPER)),
    "a German sentence": lambda: _in("das Passwort ist {}", drawn(16)),
    "a Chinese sentence": lambda: _in("密码是{}", drawn(16)),
    "a password for MySQL": lambda: _in("mysql -uroot -p{} shop", drawn(16)),
    "sshpass": lambda: _in("sshpass -p {} ssh shop", drawn(16)),
    "sudo": lambda: _in("echo {} | sudo -S ls", drawn(16)),
    "SQL": lambda: _in("ALTER USER app WITH PASSWORD '{}';", drawn(16)),
    "XML": lambda: _in("<password>{}</password>", drawn(16)),
    "a Vault token": lambda: _in("{}", "hvs." + drawn(95)),
    "a Supabase key": lambda: _in("{}", "sbp_" + drawn(40, HEX)),
    "a Vercel token": lambda: _in("VERCEL_TOKEN={}", drawn(24)),
    "a Cloudflare token": lambda: _in("CLOUDFLARE_API_TOKEN={}", drawn(40)),
    "a Databricks token": lambda: _in("{}", "dapi" + drawn(32, HEX)),
    "a Linear key": lambda: _in("{}", "lin_api_" + drawn(40)),
    "a Notion token": lambda: _in("{}", "ntn_" + drawn(46)),
    "a Figma token": lambda: _in("{}", "figd_" + drawn(40)),
    "a Mailgun key": lambda: _in("{}", "key-" + drawn(32, HEX)),
    "a Sentry address": lambda: _in("https://{}@o12.ingest.sentry.io/4", drawn(32, HEX)),
    "a signed address": lambda: _in("https://b.s3.x.com/k?X-Amz-Signature={}&a=1", drawn(64, HEX)),
    "a PEM key": lambda: _pem("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"),
    "a PEM key without its end": lambda: _pem("-----BEGIN PRIVATE KEY-----\n{}\n"),
    "a PEM key without its beginning": lambda: _pem("{}\n-----END OPENSSH PRIVATE KEY-----"),
}  # fmt: skip


def _in(words: str, secret: str) -> tuple[str, str]:
    return secret, words.replace("{}", secret)


def _base64(before: str, length: int) -> str:
    return base64.b64encode(f"{before}{drawn(length)}".encode()).decode()


def _nested(secret: str) -> tuple[str, str]:
    return secret, nested({"b": json.dumps({"password": secret})})


def _pem(words: str) -> tuple[str, str]:
    lines = pem_lines()
    return lines.splitlines()[3], words.format(lines)
