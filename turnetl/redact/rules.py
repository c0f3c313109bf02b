"""Secrets that the native scanner lets pass, each with the reason why a rule of ours is needed."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from turnetl.redact import plausible, tokens


@dataclass(frozen=True)
class Rule:
    """A secret by the words around it or by its own form. The last group that matched is it.

    Patterns keep to what both regex engines know: no look-around, no back-reference.
    """

    name: str
    pattern: str
    why: str
    plausible: Callable[[str], bool]
    """Says of what was found whether it can be a secret: values stand in code, too."""
    starts_a_word: bool = False
    """A letter or digit before it (other than of an escaped line end) makes it something else.

    Not part of the pattern: a pattern that begins with a fixed text is many times faster.
    """

    over: str = ""
    """Stepped over where the pattern fails: else it would be tried at every place in between."""

    before: re.Pattern[bytes] | None = None
    """Read backwards from where the secret starts: what it matches there is of the secret, too.

    For what must be long before its end shows what it is: a pattern would try every beginning.
    """

    @property
    def recipe(self) -> tuple[str | bytes, ...]:
        """All that decides what the rule cuts; of `plausible` only the name can be told."""
        before = self.before.pattern if self.before is not None else b""
        starts = "starts a word" if self.starts_a_word else ""
        return self.name, self.pattern, self.over, self.plausible.__qualname__, starts, before

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        pattern = f"{self.pattern}|{self.over}" if self.over else self.pattern
        return re.compile(pattern.encode())


# Names of what a person chose, and of what a machine drew.
_CHOSEN = r"(?:passw(?:or)?d|pwd|passphrase)"
_ELSEWHERE = (
    r"(?:passwort|kennwort|requirepass|identified by|mot de passe|contrase(?:ñ|n)a|wachtwoord|senha"
    r"|пароль|密码|パスワード|비밀번호)"
)
_DRAWN = (
    r"(?:secret|token|api[ _-]?key|access[_-]?key(?:[_-]id)?|private[_-]?key|account[_-]?key"
    r"|auth[_-]?key|master[_-]?key|app[_-]?key|encryption[_-]?key|signing[_-]?key|preshared[_-]?key"
    r"|credentials?)"
)
_OF = r"(?:_(?:prod|production|dev|staging|test|live|value|key|base|[0-9]+)){0,2}"
# JSON inside JSON: quotes come with any number of backslashes.
# A new line, also in JSON, behind a line number or in a diff.
_LINE = r"(?:\\+[nr]|[\r\n]){1,4}[^A-Za-z0-9\\\r\n]{0,40}(?:[0-9]{1,6}[^A-Za-z0-9\\\r\n]{1,40})?"
# YAML may put a value under its name.
_IS = rf"\\*[\"'`]?\]?[ \t]*(?::=|=>|=|:|：)[ \t]*(?:[>|][+-]?{_LINE})?"  # noqa: RUF001  wide
_NEAR = (
    r"(?:\\*[\"'`]?[ \t]*(?:,|\|\|?|\?\?)[ \t]*|(?:[ \t]{1,8}[A-Za-zè]{1,12}){0,2}:?[ \t]{1,8}"
    r"|是|>|</key>[^<>]{0,40}<string>|\\*[\"'][ \t]+value=)"
)
_NO_VALUE = r" \t\r\n\"'`\\,;<>{}()\[\]"
_ENDS = r"(?:[ \t\r\n\"'`\\,;&<|]|$)"
_QUOTED = r"\\*[\"'`]([^\"'`\\\r\n]{4,})\\*[\"'`]"
_BARE = rf"([^$|{_NO_VALUE}][^{_NO_VALUE}]{{5,}}){_ENDS}"
# A token has a digit soon: most words that stand near a name have none, and are no suspects.
_QUOTED_DRAWN = (
    r"\\*[\"'`]((?:[^0-9\"'`\\\r\n]{5,39}[0-9]|[^0-9\"'`\\\r\n]{0,4}[0-9][^\"'`\\\r\n]{5})"
    r"[^\"'`\\\r\n]*)\\*[\"'`]"
)
_BARE_DRAWN = (
    rf"((?:[^0-9$|{_NO_VALUE}]{{5,39}}[0-9]|[^0-9$|{_NO_VALUE}]{{0,4}}[0-9][^{_NO_VALUE}]{{5}})"
    rf"[^{_NO_VALUE}]*){_ENDS}"
)
_LONG = rf"[^{_NO_VALUE}]{{200,}}"
_PEM = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_PEM_LINES = (
    r"(?:[^A-Za-z0-9+/=]{0,8}(?:[A-Za-z0-9+/=]{1,63}[^A-Za-z0-9+/=]{1,8})?[A-Za-z0-9+/=]{40,})+"
)
# Possessive: a text that is all base64 is read once, not once for each way to cut it into lines.
_PEM_LINES_BACKWARDS = (
    r"[^A-Za-z0-9+/=]{0,8}+[A-Za-z0-9+/=]{1,}+"
    r"(?:[^A-Za-z0-9+/=]{1,8}+(?:[0-9]{1,6}+[^A-Za-z0-9+/=]{1,8}+)?+[A-Za-z0-9+/=]{40,}+)*+"
)
# Lines of a manifest: ` password: c2VjcmV0`.
_DATA = rf"(?:{_LINE}[A-Za-z0-9._-]{{1,100}}:[ \t]*\\*\"?[A-Za-z0-9+/]{{4,}}={{0,2}}\\*\"?)+"

RULES = (
    Rule(
        "private-key",
        rf"(?s)(-----BEGIN {_PEM}.*?-----END {_PEM})",
        "A whole PEM key, whatever stands between its lines (quotes, line numbers, `\\n`).",
        plausible.key_body,
        over=rf"-----BEGIN {_PEM}.*",
    ),
    Rule(
        "private-key-head",
        rf"-----BEGIN {_PEM}({_PEM_LINES})",
        "A PEM key whose end was cut off.",
        plausible.key_body,
    ),
    Rule(
        "private-key-tail",
        rf"()-----END {_PEM}",
        "A PEM key whose beginning was cut off.",
        plausible.key_body,
        before=re.compile(_PEM_LINES_BACKWARDS.encode()),
    ),
    Rule(
        "aws-access-key-id",
        r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Z0-9]|$)",
        "The scanner wants the secret half beside it.",
        lambda value: "EXAMPLE" not in value,
        starts_a_word=True,
    ),
    Rule(
        "sk-token",
        r"(sk-[A-Za-z0-9_-]{20,})",
        "Keys of OpenAI's form, which many servers copy; the scanner wants a mark inside.",
        plausible.token,
        starts_a_word=True,
    ),
    Rule(
        "hugging-face-token",
        r"((?:hf|api_org)_[A-Za-z0-9]{20,})",
        "The scanner wants a checksum.",
        plausible.token,
        starts_a_word=True,
    ),
    *(
        Rule(
            "vendor-token",
            pattern,
            f"Tokens to {what}, which tell their maker.".replace("to of", "of"),
            plausible.token,
            starts_a_word=True,
        )
        for what, pattern in tokens.PATTERNS.items()
    ),
    Rule(
        "google-key",
        r"(AIza[A-Za-z0-9_-]{35})",
        "The scanner wants an end of line or a quote behind it, and misses it in an address.",
        plausible.token,
        starts_a_word=True,
    ),
    Rule(
        "json-web-token",
        r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
        "Signed, so usable, whether or not the scanner can read its head.",
        plausible.random,
        over=r"eyJ[A-Za-z0-9_-]{200,}",
    ),
    Rule(
        "telegram-token",
        r"([0-9]{8,10}:AA[A-Za-z0-9_-]{32,35})",
        "The scanner wants the service's name beside it.",
        plausible.random,
        starts_a_word=True,
    ),
    Rule(
        "telegram-token",
        r"/bot([0-9]{8,10}:[A-Za-z0-9_-]{35})",
        "The same in an address, where it does not start a word.",
        plausible.random,
    ),
    Rule(
        "discord-token",
        r"((?:M[DTjz]|N[DTjz]|O[DT])[A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})",
        "The scanner wants the service's name beside it.",
        plausible.token,
        starts_a_word=True,
    ),
    Rule(
        "azure-secret",
        r"([A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34})",
        "The scanner wants the service's name beside it.",
        plausible.token,
    ),
    Rule(
        "webhook",
        r"(?:discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/|hooks\.slack\.com/[a-z]{5,10}/"
        r"|webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/)([A-Za-z0-9_@/-]{20,})",
        "Whoever knows the address can write there.",
        plausible.random,
    ),
    Rule(
        "authorization",
        r"(?i)(?:bearer|basic|authorization\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?(?:[a-z]+[ \t])?)"
        r"[ \t]*([A-Za-z0-9._~+/=:-]{12,})",
        "The header of a request, in curl commands and logs.",
        plausible.token,
    ),
    Rule(
        "cookie",
        r"(?i)(?:cookie\\*[\"'`]?[ \t]*[:=]|--cookie|[ \t]-b)[ \t]*\\*[\"'`]?"
        r"([A-Za-z0-9_.%-]{1,60}=[^\"'`\\\r\n]{8,})",
        "A session that is open: whoever has it is somebody else.",
        plausible.cookie,
    ),
    Rule(
        "cookie",
        r"(?:PHPSESSID|JSESSIONID|SESSIONID|connect\.sid|session-token\\*[\"']?)[=:][ \t]*"
        r"\\*[\"']?([A-Za-z0-9%._~+/-]{16,})",
        "The same by the names that servers give it.",
        plausible.token,
    ),
    Rule(
        "basic-auth",
        r"(?:_auth|\"auth\\*\")[ \t]*[:=][ \t]*\\*[\"']?([A-Za-z0-9+/]{8,}={0,2})",
        "User and password as npm's and Docker's settings keep them.",
        plausible.basic,
    ),
    Rule(
        "password",
        rf"(?i){_CHOSEN}{_OF}{_IS}{_QUOTED}",
        "A quoted value given to a password, chosen by a person or drawn.",
        plausible.password,
    ),
    Rule(
        "password",
        rf"(?i){_CHOSEN}{_OF}(?:{_IS}|[ \t]+is:?[ \t]+){_BARE}",
        "The same without quotes: .env, YAML, a sentence.",
        plausible.mixed,
        over=rf"{_CHOSEN}{_OF}{_IS}{_LONG}",
    ),
    Rule(
        "password",
        rf"(?i)(?:password|passphrase){_OF}"
        rf"(?:{_NEAR}(?:{_QUOTED_DRAWN}|{_BARE_DRAWN})|\({_QUOTED_DRAWN})",
        "The same with other words between: netrc, SQL, XML, tables, defaults in code.",
        plausible.token,
        over=rf"(?:password|passphrase){_OF}{_NEAR}{_LONG}",
    ),
    Rule(
        "password",
        rf"(?i){_ELSEWHERE}(?:{_IS}|{_NEAR})(?:{_QUOTED_DRAWN}|{_BARE_DRAWN})",
        "Its names in other languages, and in Redis and SQL.",
        plausible.token,
        over=rf"{_ELSEWHERE}(?:{_IS}|{_NEAR}){_LONG}",
    ),
    Rule(
        "password",
        rf"(?:_PASS|_PW|_pass){_OF}=(?:{_QUOTED}|{_BARE})",
        "The same by a short name, as settings in the environment have.",
        plausible.mixed,
        over=rf"(?:_PASS|_PW|_pass){_OF}={_LONG}",
    ),
    Rule(
        "password",
        rf"(?:[Pp]ass|PASS|[Pp]w|PW|psk|PSK|_AUTH|_SALT){_IS}(?:{_QUOTED_DRAWN}|{_BARE_DRAWN})",
        "The same by names so short that only what is drawn can be told from words.",
        plausible.token,
        over=rf"(?:[Pp]ass|PASS|[Pp]w|PW|psk|PSK|_AUTH|_SALT){_IS}{_LONG}",
    ),
    Rule(
        "secret-value",
        rf"(?i){_DRAWN}{_OF}(?:{_IS}(?:{_QUOTED}|{_BARE})|[ \t]+is:?[ \t]+{_BARE})",
        "A value given to a token, a secret, a key: code, .env, YAML, a sentence.",
        plausible.token,
        over=rf"{_DRAWN}{_OF}{_IS}{_LONG}",
    ),
    Rule(
        "secret-value",
        rf"(?i){_DRAWN}{_OF}"
        rf"(?:{_NEAR}(?:{_QUOTED_DRAWN}|{_BARE_DRAWN})|\({_QUOTED_DRAWN})",
        "The same with other words between: Dockerfiles, shells, XML, defaults in code.",
        plausible.drawn,
        over=rf"{_DRAWN}{_OF}{_NEAR}{_LONG}",
    ),
    Rule(
        "password",
        rf"(?i)(?:credentials|creds|login)(?:[ \t]+(?:are|is))?[ \t]*:?[ \t]+[a-z0-9_.@-]{{2,40}}"
        rf"[ \t]*[:/][ \t]*{_BARE_DRAWN}",
        "A sentence that tells a name and a password.",
        plausible.token,
    ),
    Rule(
        "password-hash",
        r"(\$(?:2[abxy]\$[0-9]{2}\$[A-Za-z0-9./]{53}|(?:5|6|y|apr1)\$[A-Za-z0-9./=$,]{20,120}"
        r"|argon2[a-z]{1,2}\$v=[A-Za-z0-9+/=$,]{30,200}))",
        "Short passwords are found again from it.",
        plausible.random,
    ),
    Rule(
        "url-password",
        r"://[^ \t\r\n:/@\"'`<>\\]*:([^ \t\r\n/\"'`<>\\]{2,})@",
        "The password of a database or proxy address.",
        plausible.password,
    ),
    Rule(
        "url-password",
        r"jdbc:oracle:[a-z]{2,8}:[^/ \t\r\n\"'\\]{1,64}/([^@ \t\r\n\"'\\]{3,128})@",
        "Oracle's addresses begin in their own way.",
        plausible.password,
    ),
    Rule(
        "url-token",
        r"://([A-Za-z0-9_-]{20,})@",
        "A token in the place of the user's name.",
        plausible.token,
    ),
    Rule(
        "url-parameter",
        r"(?i)(?:[?&;]|u0026|%26)(?:api_?key|key|token|access_token|sig|signature|secret|password"
        r"|auth|x-amz-signature|x-amz-security-token|x-goog-signature)"
        r"=([^& \t\r\n\"'`<>#\\]{8,})",
        "A secret in an address, as logs repeat it.",
        plausible.token,
    ),
    Rule(
        "flag",
        r"(?i)--?(?:[a-z]{1,12}-){0,2}(?:password|passwd|passphrase|storepass|keypass|token|api-?key"
        rf"|secret|secret-string|authtoken)[ =]\\*[\"']?{_BARE}",
        "A secret given to a command.",
        plausible.mixed,
    ),
    Rule(
        "flag",
        r"(?:(?:--from-literal[ =]\\*[\"']?|vault kv put [^ \t\r\n]{1,100} )[A-Za-z0-9._-]{1,60}="
        r"|SecureString[^\r\n]{1,100}--value[ =]|gh secret set [^\r\n]{1,100}(?:--body|-b)[ =]"
        rf"|htpasswd -[a-zA-Z]{{1,4}} [^ ]{{1,100}} [^ ]{{1,60}} )\\*[\"']?{_BARE}",
        "Commands that put a secret away, under any name.",
        plausible.mixed,
    ),
    Rule(
        "flag",
        r"(?:sshpass|mysql[a-z]{0,8}|mariadb[a-z-]{0,8}|(?:docker|podman|buildah|az|registry) login"
        r"|mongo[a-z]{0,8}|redis-cli|ldap(?:search|add|modify|passwd)|g?zip|7z|unrar)"
        rf"[^\r\n|;&]{{0,150}}?[ \t]-[pPaw][ \t]*\\*[\"']?{_BARE_DRAWN}",
        "Commands that take a password behind a single letter.",
        plausible.token,
    ),
    Rule(
        "flag",
        r"echo[ \t]{1,4}(?:-n[ \t]{1,4})?\\*[\"']?([^ \t\r\n\"'`\\|$]{4,200})\\*[\"']?[ \t]{0,4}\|"
        r"[ \t]{0,4}[^\r\n|;&]{0,100}?(?:sudo -S|--password-stdin|--with-token|chpasswd)",
        "A password handed to a command on its input.",
        plausible.password,
    ),
    Rule(
        "flag",
        r"ConvertTo-SecureString[ \t]+(?:-String[ \t]+)?\\*[\"']([^\"'\\\r\n]{4,})",
        "PowerShell's name for a password.",
        plausible.password,
    ),
    Rule(
        "user-flag",
        r"[ \t](?:-[sSfLkivX]{0,6}u|--user|--proxy-user)[ =]\\*[\"']?[^ \t\r\n:\"'`\\/$]{1,100}:"
        r"([^ \t\r\n\"'`\\$]{4,})",
        "curl's `user:password`.",
        plausible.mixed,
    ),
    Rule(
        "pgpass",
        r":(?:543[0-9]|6432|\*):[^: \t\r\n\"']{1,64}:[^: \t\r\n\"']{1,64}:([^ \t\r\n\"'\\]{4,})",
        "A line of PostgreSQL's password file.",
        plausible.mixed,
    ),
    Rule(
        "key-of-json",
        r"\"(?:d|p|q|dp|dq|qi|k)\\*\"[ \t]*:[ \t]*\\*\"([A-Za-z0-9_-]{40,})\\*\"",
        "The private half of a key that is written as JSON.",
        plausible.token,
    ),
    Rule(
        "putty-key",
        rf"Private-Lines:[ \t]*[0-9]{{1,4}}({_PEM_LINES})",
        "PuTTY's form of a private key.",
        plausible.key_body,
    ),
    Rule(
        "kubernetes-secret",
        rf"(?s)kind:[ \t]*Secret.{{0,600}}?[dD]ata:({_DATA})"
        rf"|[dD]ata:({_DATA}){_LINE}kind:[ \t]*Secret",
        "All that a secret's manifest holds, under any name.",
        plausible.anything,
    ),
)
