"""Rules for keys and seeds: of a cloud, wallets, recovery codes, payment numbers, parts of keys.

Tools print a prefix before each line of a key: names of files, times, numbers, marks of a diff.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from turnetl.redact import plausible
from turnetl.redact.normalised import escape_before
from turnetl.redact.rule import SecretRule, late_pattern, password_rule

_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
_WORDS_OF_A_SEED = frozenset({12, 15, 18, 21, 24})


def is_seed(value: str) -> bool:
    return len(re.findall(r"[a-z]+", value)) in _WORDS_OF_A_SEED


def is_drawn_groups(value: str) -> bool:
    """Return whether groups of letters and digits were drawn: words have vowels."""
    has_digit = any(map(str.isdigit, value))
    return len(set(value)) >= _MIN_DISTINCT and (
        has_digit or value.isupper() or _UNSPOKEN.search(value) is not None
    )


_MIN_DISTINCT = 7
_UNSPOKEN = late_pattern("[b-df-hj-np-tv-z]{3}")


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
        rf"[^0-9A-Za-z]((?:0x)?[0-9a-fA-F]{{64}}|(?-i:[5KL]{_BASE58}{{50,51}}|{_BASE58}{{87,88}}))"
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
        r"(?:(?:[\r\n]|\\n){1,2}[ \t]*(?:[0-9]{1,2}[.)][ \t]*)?[a-z]{3,8}){11,23}))(?:[^a-z]|$)",
        "The words from which the keys of a wallet are derived.",
        is_seed,
    ),
    SecretRule(
        "recovery-code",
        r"(?i)(?:(?:recovery|backup|scratch|emergency|rescue)[ _-]?codes?|wiederherstellungscodes?"
        r"|notfallcodes?|codes? de (?:secours|récupération)|códigos? de (?:recuperación|recuperação"
        r"|respaldo)|codici di (?:recupero|backup)"
        r"|herstelcodes?|备用验证码|恢复代码|リカバリーコード|バックアップコード)[^A-Za-z0-9]{0,12}(?:(?:is"
        r"|are)[^A-Za-z0-9]{0,8})?(?:[0-9]{1,2}[.)][ \t]*)?"
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
        r"|new secret key|enter (?:this|the) (?:code|key))"
        rf"[^\r\n]{{0,40}}?(?:\r?\n|\\n)?[^A-Za-z0-9\r\n]({_GROUPS})(?:[^A-Za-z0-9]|$)",
        "The seed of a second factor, also in groups.",
        is_drawn_groups,
    ),
    password_rule(
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
    return has_issuer and len({*digits}) >= _MIN_DISTINCT_DIGITS and luhn(digits)


def luhn(digits: str) -> bool:
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


def is_iban(value: str) -> bool:
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


_ACCOUNT = late_pattern(rb"[A-Z0-9]{4}(?: ?[A-Z0-9]){11,32}")

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


_LINE_BREAK = late_pattern(rb"(?:\\+r)?\\+n|\r?\n")
_RUN = late_pattern(rb"[A-Za-z0-9+/=]{16,}")
_MIN_LINE = 40
"""Characters of a line of a key that is not its last one."""
_MIN_LAST = 20
_MAX_GAP = 3
"""Lines without a part of the key, in a row: its headers, lines of other programs."""
_MAX_BYTES = 60_000
"""Bytes around a mark that are searched: prefixes may be longer than the lines of the key."""
_READ_AT_ONCE = 1_000
"""Bytes before the end of a key that are split into lines at a time: a text may have many ends."""
_WIDTHS = (64, 70)
"""Characters of the lines of PEM and of OpenSSH. Data in base64 usually have 76."""
_MIN_LINES, _MAX_LINES = 3, 60
"""Lines of equal width that are a part of a key: of more, other data."""
_PUBLIC = late_pattern(
    rb"(?:mQ[A-Z][A-Za-z0-9]B|m(?:DM|Dg|FI|FM|G8|HM|JM)E|iVBOR|JVBER|UEsDB|/9j/|R0lGOD|H4sI|AAAA[A-E]"
    rb"|iQ[A-Z][A-Za-z0-9]BA|i[HIJ][A-Za-z0-9]E|ws[BF][A-Za-z0-9]BA)"
)
"""Starts of public keys, signatures, pictures and archives; shorter ones occur in keys, too."""
_MARK = late_pattern(rb"-----(?:BEGIN|END) ")
_MAX_LINE, _WINDOW_LINES = 400, 15
"""Bytes of a line with its prefix, and how many such lines are searched for labels."""
_ENDS_WITH_RUN = late_pattern(rb"(?:[A-Za-z0-9]|[A-Za-z0-9+/][+/])\Z")
"""What precedes no start of a key: other base64. A single sign may be that of a diff."""
_WORD = late_pattern(rb"[A-Za-z0-9]")
_PATH = late_pattern(rb"/?[A-Za-z0-9]*(?:/[a-z][a-z0-9]{2,}){2,}")
_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_DER_LENGTHS = {0x82: 4, 0x81: 3}
"""Bytes of the head of a sequence, by how its length is written."""
_OTHER_DER = (b"\x30", b"\x31", b"\x06", b"\x0a", b"\xa0", b"\x02\x82", b"\x02\x81", b"\x02\x02")
"""First elements of certificates, signatures and public keys; in a private key, its version is."""


def lines_after(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    yield from _parts(data, _lines(data, match.end()))


def lines_from(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a key from the start of a match on, if this is the start of a key."""
    start = escape_before(data, match.start())
    is_within_run = _ENDS_WITH_RUN.search(data[max(0, start - 2) : start]) is not None
    if not is_within_run and _starts_key(match[0]):
        yield from _parts(data, _lines(data, match.start()))


def lines_before(data: bytes, match: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    first = max(0, match.start() - _MAX_BYTES)
    yield from _parts(data, _lines_backwards(data, first, match.start()))


def is_middle(data: bytes, end: int) -> bool:
    """Return whether the characters up to `end` are a line from the middle of a private key.

    It is one of a few lines of the same width, and no label says that they are something else.
    """
    last = data.find(b"\n", end, end + _MAX_LINE)
    line = data.rfind(b"\n", max(0, end - _MAX_LINE), end) + 1, len(data) if last < 0 else last
    width = _width(data, *line)
    if width not in _WIDTHS:
        return False
    window = _WINDOW_LINES * _MAX_LINE
    before = data[max(0, line[0] - window) : line[0]].splitlines()[::-1]
    after = data[line[1] : line[1] + window].splitlines()[1:]
    above, below = _equal_lines(before, width), _equal_lines(after, width)
    if (
        above is None
        or below is None
        or not _MIN_LINES <= len(above) + 1 + len(below) <= _MAX_LINES
    ):
        return False
    first = above[-1] if above else data[slice(*line)]
    run = max(_RUN.findall(first), key=len)
    return not _PUBLIC.match(run) and _starts_key(run)


def _equal_lines(lines: Iterable[bytes], width: int) -> list[bytes] | None:
    """Return the next lines with a run of this width; None if a label says what they are."""
    found: list[bytes] = []
    gap = 0
    for line in lines:
        mark = _MARK.search(line)
        if mark is not None:
            return found if b"PRIVATE" in line else None
        is_equal = _width(line, 0, len(line)) == width
        if is_equal:
            found.append(line)
        gap = 0 if is_equal else gap + 1
        if gap > _MAX_GAP or len(found) > _MAX_LINES:
            break
    return found


def _width(data: bytes, start: int, end: int) -> int:
    """Return the characters of the longest run in a line that is no path."""
    # The mark of a line of a diff is also a sign of base64.
    start += data[start : start + 1] == b"+"
    runs = (match[0] for match in _RUN.finditer(data, start, end))
    return max((len(run) for run in runs if not _PATH.match(run)), default=0)


def _lines(data: bytes, start: int, end: int | None = None) -> Iterator[tuple[int, int]]:
    end = min(len(data), start + _MAX_BYTES) if end is None else end
    for match in _LINE_BREAK.finditer(data, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _lines_backwards(data: bytes, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the lines from the last one on, and read little more than what is consumed."""
    size = _READ_AT_ONCE
    while end - size > first:
        # The window may start within a line or a line break.
        _, *lines = _lines(data, end - size, end)
        if len(lines) > 1:
            yield from reversed(lines[1:])
            end = lines[0][1]
        else:
            size *= 2
    yield from reversed([*_lines(data, first, end)])


def _parts(data: bytes, lines: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    gap = 0
    for start, end in lines:
        mark = _MARK.search(data, start, end)
        parts = [*_parts_of_line(data, start, end if mark is None else mark.start())]
        yield from parts
        gap = 0 if parts else gap + (_WORD.search(data, start, end) is not None)
        if mark is not None or gap > _MAX_GAP:
            return


def _parts_of_line(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _RUN.finditer(data, start, end):
        is_long = len(match[0]) >= _MIN_LINE
        if len(match[0]) < _MIN_LAST or _PATH.match(match[0]):
            continue
        if is_long or plausible.looks_random(match[0].decode()):
            yield match.span()


def _starts_key(text: bytes) -> bool:
    head = text[: len(text) // 4 * 4][:120]
    try:
        decoded = base64.b64decode(head)
    except binascii.Error:
        return False
    if decoded.startswith(b"-----BEGIN "):
        return b"PRIVATE" in decoded
    length = _DER_LENGTHS.get(decoded[1])
    if not decoded.startswith(b"\x30") or length is None:
        return True
    return not decoded[length:].startswith(_OTHER_DER)


def _is_key_line(value: str) -> bool:
    return len(value) >= _MIN_LAST


KEY_LINE_RULES = (
    SecretRule(
        "private-key-head",
        rf"-----BEGIN {_LABEL}|Private-Lines:[ \t]*[0-9]{{1,4}}",
        "Lines of a key without its end.",
        _is_key_line,
        locate=lines_after,
    ),
    SecretRule(
        "private-key-tail",
        rf"-----END {_LABEL}|Private-MAC:",
        "Lines of a key without its beginning.",
        _is_key_line,
        locate=lines_before,
    ),
    SecretRule(
        "private-key-head",
        r"(?:MII[A-Za-z0-9+/]|MIG[A-Za-z0-9+/]|MHcCAQEE|MHgCAQEE|MC4CAQAw|MFECAQEw|MFMCAQEw"
        r"|MEECAQAw|b3BlbnNzaC1rZXktdjE|LS0tLS1CRUdJTi|lIYE|xcaGB|xYYE)[A-Za-z0-9+/=]{30,}",
        "Lines of a key without the line that names it, or a whole file in base64.",
        _is_key_line,
        locate=lines_from,
    ),
    SecretRule(
        "private-key-head",
        r"lQ[A-Z]{1,2}YB[A-Za-z0-9+/=]{30,}",
        "The same of a key of PGP, apart: it has no literal, and the others have.",
        _is_key_line,
        locate=lines_from,
    ),
)
