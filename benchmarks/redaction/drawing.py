"""Values that look like secrets, drawn when the benchmark runs: this folder holds no secret."""

import base64
import random
import re
import string

from tests.redact.canaries import CAPITALS, HEX, LETTERS, LOWER, UPPER, fresh, fresh_uuid

ALPHABETS = {
    "a": LETTERS,
    "h": HEX,
    "H": string.digits + "ABCDEF",
    "d": string.digits,
    "l": LOWER,
    "u": UPPER,
    "c": CAPITALS,
    "w": LETTERS + "_-",
    "b": LETTERS + "+/",
    "n": string.ascii_lowercase,
    "N": string.ascii_uppercase,
    "s": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "e": "023456789acdefghjklmnpqrstuvwxyz",
}
"""Alphabets by the letter that a pattern uses for them: `{a36}` is 36 letters and digits."""
_DRAWN = re.compile(r"\{(?:(uuid)|([a-zA-Z])(\d+))\}")


def draw(pattern: str) -> str:
    """Return the pattern with a drawn value in place of each `{a36}` or `{uuid}`."""
    return _DRAWN.sub(_value, pattern)


def _value(match: re.Match[str]) -> str:
    if match[1]:
        return fresh_uuid()
    length = int(match[3])
    if match[2] in "abwhlus" and length >= len("a1B2c3D4e5"):
        inner = fresh(length - 2, ALPHABETS[match[2]])
        edge = [random.choice(LETTERS if match[2] in "bw" else ALPHABETS[match[2]]) for _ in "ab"]
        return edge[0] + inner + edge[1]
    return "".join(random.choice(ALPHABETS[match[2]]) for _ in range(length))


def in_base64(pattern: str) -> str:
    """Return the drawn pattern in base64."""
    return base64.b64encode(draw(pattern).encode()).decode()


def luhn(prefix: str, length: int) -> str:
    """Return a number with this prefix whose last digit is the check digit of Luhn's formula."""
    digits = prefix + draw(f"{{d{length - len(prefix) - 1}}}")
    doubled = [int(digit) * (2 - index % 2) for index, digit in enumerate(reversed(digits))]
    return digits + str(-sum(number // 10 + number % 10 for number in doubled) % 10)


def iban(country: str, pattern: str) -> str:
    """Return an account number of this country with the right check digits."""
    account = draw(pattern)
    number = int("".join(str(int(character, 36)) for character in f"{account}{country}00"))
    return f"{country}{98 - number % 97:02}{account}"


def in_groups(value: str, separator: str, size: int = 4) -> str:
    return separator.join(value[index : index + size] for index in range(0, len(value), size))
