"""Rules for keys and seeds: pairs of a cloud, wallets, recovery codes, keys that are not PEM.

Both have no literal to search for. One pattern finds the texts that may hold one.
"""

import re
from collections.abc import Iterator

from turnetl.redact import plausible
from turnetl.redact.rule import SecretRule

_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
_WORDS_OF_A_SEED = frozenset({12, 15, 18, 21, 24})


def is_seed(value: str) -> bool:
    """Return whether the value has as many words as a seed has."""
    return len(re.findall(r"[a-z]+", value)) in _WORDS_OF_A_SEED


def is_drawn_groups(value: str) -> bool:
    """Return whether groups of letters and digits were drawn: words have vowels."""
    has_digit = any(map(str.isdigit, value))
    return len(set(value)) >= _MIN_DISTINCT and (
        has_digit or value.isupper() or _UNSPOKEN.search(value) is not None
    )


_MIN_DISTINCT = 7
_UNSPOKEN = re.compile("[b-df-hj-np-tv-z]{3}")


def _is_code(value: str) -> bool:
    return any(map(str.isdigit, value))


_CODE = r"(?:[0-9a-z]{4,6}(?:[- ][0-9a-z]{4,6}){1,3}|[0-9]{6,10}|[0-9a-z]{8,12})"
_BETWEEN_CODES = r"(?:[^A-Za-z0-9{}]|\\+[nr]){0,12}(?:[0-9]{1,2}[.)][ \t]*)?"
_GROUPS = (
    r"(?-i:[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,15}"
    r"|[A-Z2-7]{16,64}|[a-z2-7]{32})"
)
_FOUR_GROUPS = r"([a-z0-9]{4}(?:-[a-z0-9]{4}){3}|[a-z]{4}(?: [a-z]{4}){3})(?:[^A-Za-z0-9-]|$)"
KEY_RULES = (
    SecretRule(
        "aws-secret-access-key",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9/]{1,8}(?:[A-Za-z ]{1,24}[^A-Za-z0-9/]{1,6})?"
        r"([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
        "The secret key next to its id.",
        plausible.is_token,
    ),
    SecretRule(
        "private-key",
        r"(?i)(?:private[ _-]?key|secret[ _-]?key|signing[ _-]?key|\bwif\b"
        r"|accounts[\"']?:[ \t]*\[)[^\r\n]{0,40}?"
        r"[^0-9A-Za-z]"
        rf"((?:0x)?[0-9a-fA-F]{{64}}|(?-i:[5KL]{_BASE58}{{50,51}}|{_BASE58}{{87,88}}))"
        r"(?:[^0-9A-Za-z]|$)",
        "The key of a wallet.",
        plausible.looks_random,
    ),
    SecretRule(
        "private-key",
        r"(?i)(?:id\.json|keypair|secret_?key|private_?key|solana)[^\[\]]{0,80}"
        r"\[[ \r\n\t]*([0-9]{1,3}(?:[ \r\n\t]*,[ \r\n\t]*[0-9]{1,3}){63})[ \r\n\t]*\]",
        "The key of a wallet as 64 numbers.",
        plausible.is_anything,
    ),
    SecretRule(
        "private-key",
        r"<RSAKeyValue>(?:[ \r\n\t]*<(?:Modulus|Exponent)>[^<]{1,1500}</[A-Za-z]{1,10}>){0,2}"
        r"((?:[ \r\n\t]*<(?:P|Q|DP|DQ|D|InverseQ)>[^<]{1,1500}</[A-Za-z]{1,10}>){1,6})",
        "The private part of an RSA key in XML.",
        plausible.is_key_body,
    ),
    SecretRule(
        "seed-phrase",
        r"(?i)(?:mnemonic|(?:seed|recovery|backup|secret|wallet)[ _-]?(?:phrase|words?))[^a-z]{0,4}"
        r"(?:(?:is|are|was|phrase|words?)\b)?(?:[^A-Za-z\r\n]|\\+[nr]|[\r\n]){0,12}"
        r"(?-i:([a-z]{3,8}(?:[ \t]*,?[ \t][a-z]{3,8}){11,23}"
        r"|[a-z]{3,8}(?:\\*[\"'],[ \t]*\\*[\"'][a-z]{3,8}){11,23}"
        r"|1[.)]?[ \t]+[a-z]{3,8}(?:[ \t]+[0-9]{1,2}[.)]?[ \t]+[a-z]{3,8}){11,23}"
        r"|(?:[0-9]{1,2}[.)][ \t]*)?[a-z]{3,8}"
        r"(?:(?:[\r\n]|\\n){1,2}[ \t]*(?:[0-9]{1,2}[.)][ \t]*)?[a-z]{3,8}){11,23}))"
        r"(?:[^a-z]|$)",
        "The words from which the keys of a wallet are derived.",
        is_seed,
    ),
    SecretRule(
        "recovery-code",
        r"(?i)(?:(?:recovery|backup|scratch|emergency|rescue)[ _-]?codes?|wiederherstellungscodes?"
        r"|notfallcodes?"
        r"|codes? de (?:secours|récupération)|códigos? de (?:recuperación|recuperação|respaldo)"
        r"|codici di (?:recupero|backup)"
        r"|herstelcodes?|备用验证码|恢复代码|リカバリーコード|バックアップコード)[^A-Za-z0-9]{0,12}(?:(?:is"
        r"|are)[^A-Za-z0-9]{0,8})?"
        r"(?:[0-9]{1,2}[.)][ \t]*)?"
        rf"((?:{_CODE}{_BETWEEN_CODES}){{1,20}})",
        "Codes that replace a second factor.",
        _is_code,
    ),
    SecretRule(
        "recovery-code",
        r"(?i)recovery[ _-](?:key|password)[^\r\n0-9]{0,40}((?:[0-9]{6}-){7}[0-9]{6})",
        "The recovery key of an encrypted disk.",
        plausible.is_anything,
    ),
    SecretRule(
        "otp-seed",
        r"(?i)(?:totp|\botp|2fa|mfa|authenticator|two[ -]factor|setup key|manual entry"
        r"|new secret key"
        r"|enter (?:this|the) (?:code|key))"
        rf"[^\r\n]{{0,40}}?(?:\r?\n|\\n)?[^A-Za-z0-9\r\n]({_GROUPS})(?:[^A-Za-z0-9]|$)",
        "The seed of a second factor, also in groups.",
        is_drawn_groups,
    ),
    SecretRule(
        "password",
        rf"(?i)(?:password|passwort|\bpass)\\*[\"']?(?:[^A-Za-z0-9\r\n]{{1,6}}|[ \t]+(?:is|ist|est"
        rf"|es)[ \t:]+)(?-i:{_FOUR_GROUPS})",
        "The password of an app, in four groups.",
        is_drawn_groups,
    ),
    SecretRule(
        "otp-seed",
        r"otpauth://[^ \r\n\"'<>]{0,200}?[?&]secret=([A-Za-z2-7]{16,128})",
        "The seed of a second factor.",
        plausible.is_anything,
    ),
    SecretRule(
        "private-key",
        r"(?i)secret key(?:\r?\n|\\+n)[ \t]*([A-Za-z0-9+/]{56,400}={0,2})(?:[^A-Za-z0-9+/=]|$)",
        "The key of a program that signs files: minisign, signify.",
        plausible.looks_random,
        before=r"(?i:comment:)[^\r\n]{0,80}",
    ),
)


_LENGTHS = (
    (("34", "37"), (15,)),
    (("300", "301", "302", "303", "304", "305", "36", "38", "39"), (14,)),
    (("4", "6011", "64", "65", "35"), (16,)),
    (tuple(map(str, (*range(51, 56), *range(2221, 2721)))), (16,)),
)
"""First digits of a card's number, by issuer, and the lengths of the number."""
_MIN_DISTINCT_DIGITS = 4
"""Digits that differ in a number: published numbers for tests have fewer, as `4242 4242`."""
_COUNTRIES = {
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU",
    31: "MT SC",
    32: "LC",
}
"""Countries by the characters of their account numbers (IBAN)."""
_IBAN_LENGTHS = {
    country: length for length, countries in _COUNTRIES.items() for country in countries.split()
}


def is_card(value: str) -> bool:
    """Return whether an issuer gives such numbers and the check digit is right."""
    digits = re.sub("[ -]", "", value)
    has_issuer = any(
        digits.startswith(prefixes) and len(digits) in lengths for prefixes, lengths in _LENGTHS
    )
    return has_issuer and len({*digits}) >= _MIN_DISTINCT_DIGITS and _luhn(digits)


def _luhn(digits: str) -> bool:
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


def is_iban(value: str) -> bool:
    """Return whether the check digits of an account number are right."""
    account = value.replace(" ", "")
    number = "".join(str(int(character, 36)) for character in account[4:] + account[:4])
    return int(number) % 97 == 1


def accounts(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the account number that starts with the match, as long as its country has it."""
    missing = _IBAN_LENGTHS.get(match[1].decode(), 0)
    number = _ACCOUNT.match(data, match.start(1)) if missing else None
    for end in range(*number.span()) if number is not None else ():
        missing -= data[end : end + 1] != b" "
        if not missing:
            if not data[end + 1 : end + 2].isalnum():
                yield match.start(1), end + 1
            return


_ACCOUNT = re.compile(rb"[A-Z0-9]{4}(?: ?[A-Z0-9]){11,32}")

PAYMENT_RULES = (
    SecretRule(
        "card-number",
        r"([2-6][0-9]{3}[ -]?[0-9]{4,6}[ -]?[0-9]{4,5}(?:[ -]?[0-9]{4})?)"
        # What follows is no group of a UUID.
        r"(?:[^0-9A-Za-z.-]|\.[^0-9]|-[^0-9A-Za-z]|[.-]?$)",
        "The number of a payment card.",
        is_card,
        before=r"(?:\A|[^0-9A-Za-z._%+/-]|[0-9;]m)",
    ),
    SecretRule(
        "iban",
        r"([A-Z]{2})[0-9]{2}[ ]?[A-Z0-9]{4}[ ]?[A-Z0-9]{4}",
        "The number of a bank account.",
        is_iban,
        before=r"(?:\A|[^A-Za-z0-9])",
        locate=accounts,
    ),
)
