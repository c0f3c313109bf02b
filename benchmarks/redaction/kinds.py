"""Kinds of secrets besides tokens: keys with a name, key files, seeds, payment numbers."""

import json
import secrets
from collections.abc import Callable

from benchmarks.redaction.drawing import draw, iban, in_base64, in_groups, luhn
from benchmarks.redaction.values import words

NAMED = {
    "AWS_SECRET_ACCESS_KEY": "{b40}",
    "AWS_SESSION_TOKEN": "IQoJb3JpZ2lu{b280}",
    "AZURE_CLIENT_SECRET": "{w40}",
    "AZURE_DEVOPS_EXT_PAT": "{l52}",
    "SYSTEM_ACCESSTOKEN": "{l52}",
    "GCP_PRIVATE_KEY_ID_SECRET": "{h40}",
    "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "{a30}",
    "TENCENTCLOUD_SECRET_KEY": "{a32}",
    "SCW_SECRET_KEY": "{uuid}",
    "OVH_APPLICATION_SECRET": "{a32}",
    "LINODE_TOKEN": "{h64}",
    "HCLOUD_TOKEN": "{a64}",
    "VULTR_API_KEY": "{u36}",
    "CLOUDFLARE_API_TOKEN": "{w40}",
    "CF_API_KEY": "{h37}",
    "FASTLY_API_TOKEN": "{w32}",
    "HEROKU_API_KEY": "{uuid}",
    "SNYK_TOKEN": "{uuid}",
    "RAILWAY_TOKEN": "{uuid}",
    "DD_API_KEY": "{h32}",
    "DD_APP_KEY": "{h40}",
    "NEW_RELIC_LICENSE_KEY": "{h40}",
    "ROLLBAR_ACCESS_TOKEN": "{h32}",
    "BUGSNAG_API_KEY": "{h32}",
    "HONEYCOMB_API_KEY": "{a22}",
    "LOGDNA_INGESTION_KEY": "{h32}",
    "SPLUNK_HEC_TOKEN": "{uuid}",
    "SENTRY_AUTH_TOKEN": "{h64}",
    "CODECOV_TOKEN": "{uuid}",
    "COVERALLS_REPO_TOKEN": "{a33}",
    "TRAVIS_API_TOKEN": "{a22}",
    "DRONE_TOKEN": "{a32}",
    "TEAMCITY_ACCESS_TOKEN": "{w60}",
    "JENKINS_API_TOKEN": "11{h32}",
    "JIRA_API_TOKEN": "{a24}",
    "CONFLUENCE_API_KEY": "{a24}",
    "TRELLO_KEY_SECRET": "{h64}",
    "ZENDESK_API_TOKEN": "{a40}",
    "FRESHDESK_API_KEY": "{a20}",
    "PAGERDUTY_API_KEY": "{w20}",
    "OPSGENIE_API_KEY": "{uuid}",
    "ALGOLIA_ADMIN_KEY": "{h32}",
    "MEILI_MASTER_KEY": "{w43}",
    "ELASTIC_API_KEY": "{a58}==",
    "TYPESENSE_API_KEY": "{a32}",
    "TWILIO_AUTH_TOKEN": "{h32}",
    "MESSAGEBIRD_ACCESS_KEY": "{a25}",
    "VONAGE_API_SECRET": "{a16}",
    "POSTMARK_SERVER_TOKEN": "{uuid}",
    "SPARKPOST_API_KEY": "{h40}",
    "AMPLITUDE_SECRET_KEY": "{h32}",
    "MIXPANEL_API_SECRET": "{h32}",
    "SEGMENT_WRITE_KEY": "{a32}",
    "STRIPE_WEBHOOK_KEY": "{a32}",
    "PAYPAL_CLIENT_SECRET": "E{w79}",
    "COINBASE_API_SECRET": "{a32}",
    "BINANCE_API_SECRET": "{a64}",
    "COHERE_API_KEY": "{a40}",
    "MISTRAL_API_KEY": "{a32}",
    "TOGETHER_API_KEY": "{h64}",
    "STABILITY_API_KEY": "{h48}",
    "ASSEMBLYAI_API_KEY": "{h32}",
    "DEEPGRAM_API_KEY": "{h40}",
    "OPENWEATHER_API_KEY": "{h32}",
    "JWT_SECRET": "{w48}",
    "NEXTAUTH_SECRET": "{b43}=",
    "SECRET_KEY_BASE": "{h128}",
    "DJANGO_SECRET_KEY": "{a22}#{a8}@{a16}",
    "APP_KEY": "base64:{b43}=",
    "FERNET_KEY": "{w43}=",
    "COOKIE_SECRET": "{h64}",
    "WEBHOOK_SECRET": "{h40}",
    "GITHUB_CLIENT_SECRET": "{h40}",
    "OAUTH_CLIENT_SECRET": "{w32}",
    "ENCRYPTION_KEY": "{h64}",
    "RAILS_MASTER_KEY": "{h32}",
    "PRIVATE_KEY": "0x{h64}",
    "DEPLOYER_PRIVATE_KEY": "{h64}",
    "WG_PRIVATE_KEY": "{b43}=",
    "BOT_TOKEN": "{w40}",
    "SANITY_API_TOKEN": "sk{a178}",
}
"""Pattern of a key that only its name announces, by the name."""


def _pem(label: str) -> Callable[[], tuple[str, str]]:
    def of_key() -> tuple[str, str]:
        lines = [draw("{b64}") for _ in range(12)]
        body = "\n".join(["MII" + lines[0][3:], *lines[1:], draw("{b30}==")])
        return lines[7], f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"

    return of_key


def _joined_pem(break_: str) -> Callable[[], tuple[str, str]]:
    def of_key() -> tuple[str, str]:
        secret, text = _pem("RSA PRIVATE KEY")()
        return secret, f'{{"private_key": "{text}"}}'.replace("\n", break_)

    return of_key


def _pgp() -> tuple[str, str]:
    lines = [draw("{b64}") for _ in range(8)]
    head = "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n"
    end = f"\n={draw('{b4}')}\n-----END PGP PRIVATE KEY BLOCK-----"
    return lines[5], head + "\n".join(lines) + end


def _encrypted_pem() -> tuple[str, str]:
    secret, text = _pem("RSA PRIVATE KEY")()
    header = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,{draw('{H32}')}\n\n"
    return secret, text.replace("KEY-----\n", f"KEY-----\n{header}", 1)


def _putty() -> tuple[str, str]:
    lines = [draw("{b64}") for _ in range(8)]
    return lines[4], "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 8\n" + "\n".join(lines)


def _xml_key() -> tuple[str, str]:
    secret = draw("{b170}==")
    start = f"<RSAKeyValue><Modulus>{draw('{b170}')}==</Modulus><Exponent>AQAB</Exponent>"
    return secret, f"{start}<D>{secret}</D></RSAKeyValue>"


def _jwk() -> tuple[str, str]:
    secret = draw("{w43}")
    key = {"kty": "EC", "crv": "P-256", "x": draw("{w43}"), "y": draw("{w43}"), "d": secret}
    return secret, json.dumps(key)


def _kubeconfig_key() -> tuple[str, str]:
    lines = "\n".join(draw("{b64}") for _ in range(9))
    secret = in_base64(f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----")
    return secret, f"users:\n- name: admin\n  user:\n    client-key-data: {secret}"


def _solana() -> tuple[str, str]:
    secret = ",".join(str(secrets.randbelow(256)) for _ in range(64))
    return secret, f"cat ~/.config/solana/id.json\n[{secret}]"


def _announced(text: str, secret: Callable[[], str]) -> Callable[[], tuple[str, str]]:
    def announced() -> tuple[str, str]:
        value = secret()
        return value, draw(text).replace("{}", value)

    return announced


def _seed(text: str, count: int) -> Callable[[], tuple[str, str]]:
    return _announced(text, lambda: words(count))


def _drawn(text: str, pattern: str) -> Callable[[], tuple[str, str]]:
    return _announced(text, lambda: draw(pattern))


KEYS: dict[str, Callable[[], tuple[str, str]]] = {
    **{
        f"PEM, {label.lower()}": _pem(label)
        for label in (
            *("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"),
            *("OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "SSH2 ENCRYPTED PRIVATE KEY"),
        )
    },
    "PEM in JSON": _joined_pem("\\n"),
    "PEM in nested JSON": _joined_pem("\\\\n"),
    "PEM on one line": _joined_pem(" "),
    "PEM in quoted lines": _joined_pem('\\n" +\n    "'),
    "PEM, encrypted with headers": _encrypted_pem,
    "PEM, PGP": _pgp,
    "PuTTY": _putty,
    "RSA key in XML": _xml_key,
    "JSON web key": _jwk,
    "kubeconfig, client key": _kubeconfig_key,
    "Solana, numbers": _solana,
    "Solana, base58": _drawn("solana private key: {}", "{s88}"),
    "WireGuard": _drawn("[Interface]\nPrivateKey = {}\nAddress = 10.0.0.2/32", "{b43}="),
    "WireGuard, shared": _drawn("[Peer]\nPresharedKey = {}", "{b43}="),
    "Ethereum": _drawn("cast send --private-key {} 0x00", "0x{h64}"),
    "Ethereum, sentence": _drawn("the private key of the wallet is {}", "{h64}"),
    "Bitcoin, WIF": _drawn("WIF: {}", "5{s50}"),
    "Bitcoin, compressed": _drawn("import private key {} into the wallet", "K{s51}"),
    "seed of 12 words": _seed("The seed phrase is: {}", 12),
    "seed of 24 words": _seed("recovery phrase:\n{}\nKeep it.", 24),
    "seed in settings": _seed('MNEMONIC="{}"', 12),
    "seed in JSON": _seed('{"mnemonic": "{}", "path": "m/44"}', 15),
    "seed in code": _seed('const mnemonic = "{}";', 18),
    "TOTP": _drawn("otpauth://totp/shop:me?secret={}&issuer=shop", "{c32}"),
    "TOTP in settings": _drawn("TOTP_SECRET={}", "{c32}"),
    "2FA recovery code": _drawn("Recovery codes:\n{}\n", "{h5}-{h5}"),
    "BitLocker": _drawn("Recovery Key: {}", "{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}"),
    "AWS pair, named": _drawn("key AKIA{c16} secret {}", "{b40}"),
    "AWS pair, CSV": _drawn("User,Access key ID,Secret access key\nci,AKIA{c16},{}", "{b40}"),
    "AWS pair, lines": _drawn("AKIA{c16}\n{}\n", "{b40}"),
    "AWS pair, slash": _drawn("creds AKIA{c16} / {}", "{b40}"),
    "Google, service account": _drawn('"private_key_id": "x", "private_key": "{}"', "{b120}"),
    "SAS of Azure": _drawn("https://s.blob.core.windows.net/c?sv=2024&sig={}&se=2027", "{a40}%3D"),
    "SAS, encoded": _drawn("?sv=2024&sig={}", "{a12}%2F{a14}%2B{a14}%3D"),
    "signed URL of S3": _drawn(
        "https://b.s3.amazonaws.com/k?X-Amz-Credential=A%2Fb&X-Amz-Security-Token={}&X-Amz-Date=1",
        "IQoJb3Jp{a40}%2F%2F{a40}%2B{a60}%3D%3D",
    ),
    "signed URL of Google": _drawn(
        "https://storage.googleapis.com/b/o?X-Goog-Signature={}&X-Goog-Date=1", "{h256}"
    ),
    "publish profile": _drawn('<publishProfile userName="$shop" userPWD="{}" />', "{a60}"),
    "Service Bus": _drawn("Endpoint=sb://s/;SharedAccessKeyName=a;SharedAccessKey={}", "{b43}="),
}
"""A drawn secret and a text with it, by the kind."""

PAYMENT: dict[str, Callable[[], str]] = {
    "Visa": lambda: luhn("4539", 16),
    "Visa, spaces": lambda: in_groups(luhn("4716", 16), " "),
    "Visa, dashes": lambda: in_groups(luhn("4929", 16), "-"),
    "Mastercard": lambda: luhn("5425", 16),
    "Mastercard, 2 series": lambda: luhn("2223", 16),
    "American Express": lambda: luhn("3782", 15),
    "American Express, spaces": lambda: _amex(luhn("3714", 15)),
    "Discover": lambda: luhn("6011", 16),
    "Diners": lambda: luhn("3056", 14),
    "JCB": lambda: luhn("3528", 16),
    "IBAN, Germany": lambda: iban("DE", "{d18}"),
    "IBAN, Germany, spaces": lambda: in_groups(iban("DE", "{d18}"), " "),
    "IBAN, United Kingdom": lambda: iban("GB", "{N4}{d14}"),
    "IBAN, France": lambda: iban("FR", "{d10}{u11}{d2}"),
    "IBAN, Netherlands, spaces": lambda: in_groups(iban("NL", "{N4}{d10}"), " "),
    "IBAN, Poland": lambda: iban("PL", "{d24}"),
    "IBAN, Malta": lambda: iban("MT", "{N4}{d5}{u18}"),
}
"""A drawn number by its kind."""


def _amex(number: str) -> str:
    return f"{number[:4]} {number[4:10]} {number[10:]}"
