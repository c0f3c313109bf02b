"""Secrets that the native scanner lets pass: by their own form, and by what stands before them."""

import re

from turnetl.redact import plausible, token_prefixes
from turnetl.redact.keyword_rules import LINE, NAMED
from turnetl.redact.rule import SecretRule

__all__ = ["RULES", "SecretRule"]

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
_DATA = rf"(?:{LINE}[A-Za-z0-9._-]{{1,100}}:[ \t]*\\*\"?[A-Za-z0-9+/]{{4,}}={{0,2}}\\*\"?)+"

RULES = (
    SecretRule(
        "private-key",
        rf"(?s)(-----BEGIN {_PEM}.*?-----END {_PEM})",
        "A whole PEM key, whatever stands between its lines (quotes, line numbers, `\\n`).",
        plausible.key_body,
        over=rf"-----BEGIN {_PEM}.*",
    ),
    SecretRule(
        "private-key-head",
        rf"-----BEGIN {_PEM}({_PEM_LINES})",
        "A PEM key whose end was cut off.",
        plausible.key_body,
    ),
    SecretRule(
        "private-key-tail",
        rf"()-----END {_PEM}",
        "A PEM key whose beginning was cut off.",
        plausible.key_body,
        before=re.compile(_PEM_LINES_BACKWARDS.encode()),
    ),
    SecretRule(
        "aws-access-key-id",
        r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Z0-9]|$)",
        "The scanner wants the secret half beside it.",
        lambda value: "EXAMPLE" not in value,
        starts_a_word=True,
    ),
    SecretRule(
        "sk-token",
        r"(sk-[A-Za-z0-9_-]{20,})",
        "Keys of OpenAI's form, which many servers copy; the scanner wants a mark inside.",
        plausible.token,
        starts_a_word=True,
    ),
    SecretRule(
        "hugging-face-token",
        r"((?:hf|api_org)_[A-Za-z0-9]{20,})",
        "The scanner wants a checksum.",
        plausible.token,
        starts_a_word=True,
    ),
    *(
        SecretRule(
            "vendor-token",
            pattern,
            f"Tokens to {what}, which tell their maker.".replace("to of", "of"),
            plausible.token,
            starts_a_word=True,
        )
        for what, pattern in token_prefixes.PATTERNS.items()
    ),
    SecretRule(
        "google-key",
        r"(AIza[A-Za-z0-9_-]{35})",
        "The scanner wants an end of line or a quote behind it, and misses it in an address.",
        plausible.token,
        starts_a_word=True,
    ),
    SecretRule(
        "json-web-token",
        r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
        "Signed, so usable, whether or not the scanner can read its head.",
        plausible.random,
        over=r"eyJ[A-Za-z0-9_-]{200,}",
    ),
    SecretRule(
        "telegram-token",
        r"([0-9]{8,10}:AA[A-Za-z0-9_-]{32,35})",
        "The scanner wants the service's name beside it.",
        plausible.random,
        starts_a_word=True,
    ),
    SecretRule(
        "telegram-token",
        r"/bot([0-9]{8,10}:[A-Za-z0-9_-]{35})",
        "The same in an address, where it does not start a word.",
        plausible.random,
    ),
    SecretRule(
        "discord-token",
        r"((?:M[DTjz]|N[DTjz]|O[DT])[A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})",
        "The scanner wants the service's name beside it.",
        plausible.token,
        starts_a_word=True,
    ),
    SecretRule(
        "azure-secret",
        r"([A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34})",
        "The scanner wants the service's name beside it.",
        plausible.token,
    ),
    SecretRule(
        "webhook",
        r"(?:discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/|hooks\.slack\.com/[a-z]{5,10}/"
        r"|webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/)([A-Za-z0-9_@/-]{20,})",
        "Whoever knows the address can write there.",
        plausible.random,
    ),
    SecretRule(
        "authorization",
        r"(?i)(?:bearer|basic|authorization\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?(?:[a-z]+[ \t])?)"
        r"[ \t]*([A-Za-z0-9._~+/=:-]{12,})",
        "The header of a request, in curl commands and logs.",
        plausible.token,
    ),
    SecretRule(
        "cookie",
        r"(?i)(?:cookie\\*[\"'`]?[ \t]*[:=]|--cookie|[ \t]-b)[ \t]*\\*[\"'`]?"
        r"([A-Za-z0-9_.%-]{1,60}=[^\"'`\\\r\n]{8,})",
        "A session that is open: whoever has it is somebody else.",
        plausible.cookie,
    ),
    SecretRule(
        "cookie",
        r"(?:PHPSESSID|JSESSIONID|SESSIONID|connect\.sid|session-token\\*[\"']?)[=:][ \t]*"
        r"\\*[\"']?([A-Za-z0-9%._~+/-]{16,})",
        "The same by the names that servers give it.",
        plausible.token,
    ),
    SecretRule(
        "basic-auth",
        r"(?:_auth|\"auth\\*\")[ \t]*[:=][ \t]*\\*[\"']?([A-Za-z0-9+/]{8,}={0,2})",
        "User and password as npm's and Docker's settings keep them.",
        plausible.basic,
    ),
    SecretRule(
        "password-hash",
        r"(\$(?:2[abxy]\$[0-9]{2}\$[A-Za-z0-9./]{53}|(?:5|6|y|apr1)\$[A-Za-z0-9./=$,]{20,120}"
        r"|argon2[a-z]{1,2}\$v=[A-Za-z0-9+/=$,]{30,200}))",
        "Short passwords are found again from it.",
        plausible.random,
    ),
    SecretRule(
        "url-password",
        r"://[^ \t\r\n:/@\"'`<>\\]*:([^ \t\r\n/\"'`<>\\]{2,})@",
        "The password of a database or proxy address.",
        plausible.password,
    ),
    SecretRule(
        "url-password",
        r"%3[aA]%2[fF]%2[fF][A-Za-z0-9._~-]{0,64}%3[aA]([^ \t\r\n\"'`<>\\&/]{2,256}?)%40",
        "The same within another address.",
        plausible.password,
    ),
    SecretRule(
        "url-password",
        r"()@(?:tcp|unix)\(",
        "Addresses of databases as Go's drivers take them.",
        plausible.password,
        before=re.compile(rb"[^ \t\r\n:/@\"'`\\]{4,128}+(?=:)"),
    ),
    SecretRule(
        "url-password",
        r"jdbc:oracle:[a-z]{2,8}:[^/ \t\r\n\"'\\]{1,64}/([^@ \t\r\n\"'\\]{3,128})@",
        "Oracle's addresses begin in their own way.",
        plausible.password,
    ),
    SecretRule(
        "url-token",
        r"://([A-Za-z0-9_-]{20,})@",
        "A token in the place of the user's name.",
        plausible.token,
    ),
    SecretRule(
        "url-parameter",
        r"(?i)(?:[?&;]|u0026|%26|%3f)(?:api_?key|key|token|access_token|sig|signature|secret|password"
        r"|auth|x-amz-signature|x-amz-security-token|x-goog-signature)"
        r"(?:=|%3d)([^& \t\r\n\"'`<>#\\%]{8,})",
        "A secret in an address, as logs repeat it.",
        plausible.token,
    ),
    SecretRule(
        "flag",
        r"echo[ \t]{1,4}(?:-n[ \t]{1,4})?\\*[\"']?([^ \t\r\n\"'`\\|$]{4,200})\\*[\"']?[ \t]{0,4}\|"
        r"[ \t]{0,4}[^\r\n|;&]{0,100}?(?:sudo -S|--password-stdin|--with-token|chpasswd)",
        "A password handed to a command on its input.",
        plausible.password,
    ),
    SecretRule(
        "flag",
        r"ConvertTo-SecureString[ \t]+(?:-String[ \t]+)?\\*[\"']([^\"'\\\r\n]{4,})",
        "PowerShell's name for a password.",
        plausible.password,
    ),
    SecretRule(
        "user-flag",
        r"[ \t](?:-[sSfLkivX]{0,6}u|--user|--proxy-user)[ =]\\*[\"']?[^ \t\r\n:\"'`\\/$]{1,100}:"
        r"([^ \t\r\n\"'`\\$]{4,})",
        "curl's `user:password`.",
        plausible.mixed,
    ),
    SecretRule(
        "pgpass",
        r":(?:543[0-9]|6432|\*):[^: \t\r\n\"']{1,64}:[^: \t\r\n\"']{1,64}:([^ \t\r\n\"'\\]{4,})",
        "A line of PostgreSQL's password file.",
        plausible.mixed,
    ),
    SecretRule(
        "key-of-json",
        r"\"(?:d|p|q|dp|dq|qi|k)\\*\"[ \t]*:[ \t]*\\*\"([A-Za-z0-9_-]{40,})\\*\"",
        "The private half of a key that is written as JSON.",
        plausible.token,
    ),
    SecretRule(
        "putty-key",
        rf"Private-Lines:[ \t]*[0-9]{{1,4}}({_PEM_LINES})",
        "PuTTY's form of a private key.",
        plausible.key_body,
    ),
    SecretRule(
        "kubernetes-secret",
        rf"(?s)kind:[ \t]*Secret.{{0,600}}?[dD]ata:({_DATA})"
        rf"|[dD]ata:({_DATA}){LINE}kind:[ \t]*Secret",
        "All that a secret's manifest holds, under any name.",
        plausible.anything,
    ),
    *NAMED,
)
