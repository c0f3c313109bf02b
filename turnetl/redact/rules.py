"""Rules for secrets that the native scanner misses: by their own form, and by a keyword."""

from functools import partial

from turnetl.redact import chosen, drawn_tokens, plausible
from turnetl.redact.announced_rules import ANNOUNCED_RULES, FIELD_RULES, KEYWORD_RULES, LINE_BREAK
from turnetl.redact.command_rules import COMMAND_RULES
from turnetl.redact.drawn_tokens import TOKEN_RULES
from turnetl.redact.general_rules import GENERAL_RULES
from turnetl.redact.key_rules import KEY_LINE_RULES, KEY_RULES, PAYMENT_RULES
from turnetl.redact.rule import SecretRule
from turnetl.redact.said_rules import SAID_RULES, SENTENCE_RULES
from turnetl.redact.table_rules import TABLE_RULES

_PEM = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_PEM_LINES = (
    r"(?:[^A-Za-z0-9+/=]{0,8}(?:[A-Za-z0-9+/=]{1,63}[^A-Za-z0-9+/=]{1,8})?[A-Za-z0-9+/=]{40,})+"
)
# Possessive: base64 text is matched once, not once for each way to split it into lines.
_PEM_LINES_BACKWARDS = (
    r"[^A-Za-z0-9+/=]{0,8}+[A-Za-z0-9+/=]{1,}+"
    r"(?:[^A-Za-z0-9+/=]{1,8}+(?:[0-9]{1,6}+[^A-Za-z0-9+/=]{1,8}+)?+[A-Za-z0-9+/=]{40,}+)*+"
    # The first line, if a row or a message starts within it.
    r"(?:[^A-Za-z0-9+/=]{1,8}+[A-Za-z0-9+/=]{1,63}+\Z)?+"
)
# Lines of a manifest: ` password: c2VjcmV0`.
_DATA = rf"(?:{LINE_BREAK}[A-Za-z0-9._-]{{1,100}}:[ \t]*\\*\"?[A-Za-z0-9+/]{{4,}}={{0,2}}\\*\"?)+"
_STRING_DATA = rf"(?:{LINE_BREAK}[A-Za-z0-9._-]{{1,100}}:[ \t]+[^\r\n\\]{{1,300}})+"


def _is_end_of_key(value: str) -> bool:
    """Return whether the value has lines of a key, or the rest of its last line."""
    return plausible.is_key_body(value) or plausible.looks_random(value.strip())


def _is_long_token(value: str) -> bool:
    """Return whether the value has more than the mark at its end."""
    return len(value) >= _MIN_MARKED_CHARS and plausible.is_token(value)


_MIN_MARKED_CHARS = 35
_token_rule = partial(SecretRule, plausible=plausible.is_token, starts_word=True)

RULES = (
    SecretRule(
        "private-key",
        rf"(?s)(-----BEGIN {_PEM}.*?-----END {_PEM})",
        "A PEM key, with anything between its lines (quotes, line numbers, `\\n`).",
        plausible.is_key_body,
        skip=rf"-----BEGIN {_PEM}.*",
    ),
    SecretRule(
        "private-key-head",
        rf"-----BEGIN {_PEM}({_PEM_LINES}(?:[ \t\r\n]{{1,4}}[A-Za-z0-9+/=]{{1,63}}[ \t\r\n]*$)?)",
        "A PEM key without its end.",
        plausible.is_key_body,
    ),
    SecretRule(
        "private-key-tail",
        rf"()-----END {_PEM}",
        "A PEM key without its start.",
        _is_end_of_key,
        reversed_prefix=_PEM_LINES_BACKWARDS.encode(),
    ),
    SecretRule(
        "aws-access-key-id",
        r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Z0-9]|$)",
        "The scanner requires the secret key next to it.",
        lambda value: "EXAMPLE" not in value,
        starts_word=True,
    ),
    _token_rule(
        "sk-token",
        r"(sk-[A-Za-z0-9_-]{20,})",
        "Keys of OpenAI's form, which many servers copy; the scanner requires an infix.",
    ),
    _token_rule(
        "hugging-face-token",
        r"((?:hf|api_org)_[A-Za-z0-9]{20,})",
        "The scanner requires a checksum.",
    ),
    *(
        SecretRule(
            "vendor-token",
            pattern,
            f"Tokens with a vendor prefix: {purpose}.",
            plausible.is_issued,
            starts_word=True,
        )
        for purpose, pattern in drawn_tokens.PATTERNS.items()
    ),
    SecretRule(
        "azure-secret",
        r"((?:\+ASt|ACDb|AzSe|AzFu|AzCa|AZDO)[A-Za-z0-9+/_-]{4,8}={0,2})(?:[^A-Za-z0-9+/_-]|$)",
        "Keys of Azure: their mark is near their end.",
        _is_long_token,
        # Longer runs are other keys, in which the mark occurs by chance.
        reversed_prefix=rb"[A-Za-z0-9+/_-]{42,80}(?![A-Za-z0-9])",
    ),
    SecretRule(
        "vendor-token",
        r"(-us[0-9]{1,2})(?:[^A-Za-z0-9-]|$)",
        "A key of Mailchimp: the name of the data centre is at its end.",
        _is_long_token,
        reversed_prefix=rb"[0-9a-f]{32}+",
    ),
    SecretRule(
        "vendor-token",
        r"(NRAL)(?:[^A-Za-z0-9]|$)",
        "A key of New Relic: its mark is at its end.",
        _is_long_token,
        reversed_prefix=rb"[0-9a-fA-F]{36}+",
    ),
    _token_rule(
        "google-key",
        r"(AIza[A-Za-z0-9_-]{35})",
        "The scanner requires a line end or a quote after it, and misses it in a URL.",
    ),
    SecretRule(
        "json-web-token",
        r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
        "It is signed, so it is usable even if the scanner cannot decode its header.",
        plausible.looks_random,
        skip=r"eyJ[A-Za-z0-9_-]{200,}",
    ),
    SecretRule(
        "telegram-token",
        r"([0-9]{8,10}:AA[A-Za-z0-9_-]{32,35})",
        "The scanner requires the name of the service next to it.",
        plausible.looks_random,
        starts_word=True,
    ),
    SecretRule(
        "telegram-token",
        r"/bot([0-9]{8,10}:[A-Za-z0-9_-]{35})",
        "A Telegram token in a URL, where it does not start a word.",
        plausible.looks_random,
    ),
    _token_rule(
        "discord-token",
        r"((?:M[DTjz]|N[DTjz]|O[DT])[A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})",
        "The scanner requires the name of the service next to it.",
    ),
    SecretRule(
        "azure-secret",
        r"([A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34})",
        "The scanner requires the name of the service next to it.",
        plausible.is_token,
    ),
    SecretRule(
        "webhook",
        r"(?:discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/|hooks\.slack\.com/[a-z]{5,10}/"
        r"|webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/)([A-Za-z0-9_@/-]{20,})",
        "Anyone who knows the URL can post to it.",
        plausible.looks_random,
    ),
    SecretRule(
        "authorization",
        r"(?i)(?:bearer|basic|authorization\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?(?:[a-z]+[ \t])?)"
        r"[ \t]*(?:\\*[\"'][ \t]*[+.,][ \t]*\\*[\"'])?([A-Za-z0-9._~+/=:-]{8,})",
        "The header of an HTTP request, in curl commands and logs.",
        chosen.is_secret_word,
    ),
    SecretRule(
        "cookie",
        r"(?i)(?:cookie\\*[\"'`]?[ \t]*[:=]|--cookie|[ \t]-b)[ \t]*\\*[\"'`]?"
        r"([A-Za-z0-9_.%-]{1,60}=[^\"'`\\\r\n]{8,})",
        "The cookie of an open session: it authenticates as its user.",
        chosen.is_cookie,
    ),
    SecretRule(
        "cookie",
        r"(?:PHPSESSID=|PHPSESSID:|SESSIONID=|SESSIONID:|connect\.sid=|connect\.sid:"
        r"|session-token\\*[\"']?[=:])[ \t]*"
        r"\\*[\"']?([A-Za-z0-9%._~+/-]{16,})",
        "A session cookie with a well-known name.",
        plausible.is_token,
    ),
    SecretRule(
        "basic-auth",
        r"(?i)(?:_auth|\"auth\\*\"|basic_?auth(?:orization)?|authorization[a-z_-]{1,10}"
        r"|auth_?basic|credentials?|creds|docker(?:config)?json"
        r"|dockercfg|auth_?token)\\*[\"']?[ \t]*[:= ][ \t]*\\*[\"']?([A-Za-z0-9+/]{8,}={0,2})",
        "User and password in the settings of npm and Docker.",
        plausible.is_basic_auth,
    ),
    SecretRule(
        "password-hash",
        r"(\$(?:2[abxy]\$[0-9]{2}\$[A-Za-z0-9./]{53}|(?:5|6|y|apr1)\$[A-Za-z0-9./=$,]{20,120}"
        r"|argon2[a-z]{1,2}\$v=[A-Za-z0-9+/=$,]{30,200}))",
        "A short password can be recovered from its hash.",
        plausible.looks_random,
    ),
    SecretRule(
        "url-password",
        r"://[^ \t\r\n:/@\"'`<>\\]*:([^ \t\r\n/\"'`<>\\]{2,})@",
        "The password in the URL of a database or a proxy.",
        plausible.is_password,
    ),
    SecretRule(
        "url-password",
        r"%3[aA]%2[fF]%2[fF][A-Za-z0-9._~-]{0,64}%3[aA]([^ \t\r\n\"'`<>\\&/]{2,256}?)%40",
        "A URL password within another URL.",
        plausible.is_password,
    ),
    SecretRule(
        "url-password",
        r"()@(?:tcp|unix)\(",
        "Database addresses as Go drivers take them.",
        plausible.is_password,
        reversed_prefix=rb"[^ \t\r\n:/@\"'`\\]{4,128}+(?=:)",
    ),
    SecretRule(
        "url-password",
        r"jdbc:oracle:[a-z]{2,8}:[^/ \t\r\n\"'\\]{1,64}/([^@ \t\r\n\"'\\]{3,128})@",
        "Oracle's URLs have their own scheme.",
        plausible.is_password,
    ),
    SecretRule(
        "url-token",
        r"://([A-Za-z0-9_-]{20,})@",
        "A token in place of the user name.",
        plausible.is_token,
    ),
    SecretRule(
        "url-parameter",
        r"(?i)(?:[?&;]|u0026|%26|%3f)(?:api_?key|key|token|access_(?:token|key)|sig|signature"
        r"|secret|password|auth|x-amz-signature|x-amz-security-token|x-goog-signature)"
        r"(?:=|%3d)([^& \t\r\n\"'`<>#\\%]{8,})",
        "A secret in a URL, as in logs.",
        chosen.is_secret_word,
    ),
    SecretRule(
        "flag",
        r"(?:echo|yes)[ \t]{1,4}(?:-[ne]{1,2}[ \t]{1,4})?\\*[\"']?"
        r"([^ \t\r\n\"'`\\|$]{4,200}(?:\\+n[^ \t\r\n\"'`\\|$]{4,200})?)\\*[\"']?[ \t]{0,4}\|"
        r"[ \t]{0,4}[^\r\n|;&]{0,100}?(?:sudo -S|-stdin|--with-token|chpasswd|passwd|kinit"
        r"|luks[A-Z]|secret (?:put|set)|openconnect)",
        "A password piped into a command.",
        plausible.is_password,
    ),
    SecretRule(
        "flag",
        r"ConvertTo-SecureString[ \t]+(?:-String[ \t]+)?\\*[\"']([^\"'\\\r\n]{4,})",
        "A password in PowerShell.",
        chosen.is_chosen,
    ),
    SecretRule(
        "user-flag",
        r"[ \t](?:-[sSfLkivX]{0,6}u|--user|--proxy-user)[ =]\\*[\"']?[^ \t\r\n:\"'`\\/$]{1,100}:"
        r"([^ \t\r\n\"'`\\$]{4,})",
        "curl's `user:password`.",
        plausible.is_unquoted_password,
    ),
    SecretRule(
        "key-of-json",
        r"[\"'](?:d|p|q|dp|dq|qi|k)\\*[\"'][ \t]*(?::|=>?)[ \t]*\\*[\"']([A-Za-z0-9_-]{40,})",
        "The private part of a JSON web key.",
        plausible.is_token,
    ),
    SecretRule(
        "putty-key",
        rf"Private-Lines:[ \t]*[0-9]{{1,4}}({_PEM_LINES})",
        "A private key in PuTTY's format.",
        plausible.is_key_body,
    ),
    SecretRule(
        "kubernetes-secret",
        rf"(?s)kind:[ \t]*Secret.{{0,600}}?(?:stringData:({_STRING_DATA})|(?<!meta)data:({_DATA}))"
        rf"|stringData:({_STRING_DATA}){LINE_BREAK}kind:[ \t]*Secret|(?<!meta)data:({_DATA})"
        rf"{LINE_BREAK}kind:[ \t]*Secret",
        "All values in the manifest of a Kubernetes secret.",
        plausible.is_anything,
    ),
    *KEYWORD_RULES,
    *ANNOUNCED_RULES,
    *FIELD_RULES,
    *COMMAND_RULES,
    *KEY_RULES,
    *KEY_LINE_RULES,
    *PAYMENT_RULES,
    *TOKEN_RULES,
    *SENTENCE_RULES,
    *TABLE_RULES,
    *GENERAL_RULES,
    *SAID_RULES,
)
