"""Rules for payment numbers: cards and bank accounts, by their check digits.

Both have no literal to search for. One pattern finds the texts that may hold one.
"""

import re
from collections.abc import Iterator

from turnetl.redact.rule import SecretRule

_LENGTHS = (
    (("34", "37"), (15,)),
    (("300", "301", "302", "303", "304", "305", "36", "38", "39"), (14,)),
    (("4", "6011", "64", "65", "35"), (16,)),
    (tuple(map(str, (*range(51, 56), *range(2221, 2721)))), (16,)),
)
"""First digits of a card's number, by issuer, and the lengths of the number."""
_MIN_DISTINCT = 4
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
    return has_issuer and len({*digits}) >= _MIN_DISTINCT and _luhn(digits)


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
