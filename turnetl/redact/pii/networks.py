"""Rules for the addresses of machines: IPv4, IPv6 and MAC, in all notations."""

import re
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from turnetl.redact.pii.subject import WORD_START, PiiSubject
from turnetl.redact.rule import SecretRule

_BYTE = r"(?:25[0-5]|2[0-4][0-9]|[01][0-9]{2}|[1-9]?[0-9])"
_QUAD = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_VERSION = (
    r"(?i:(?:version|release|build)[^0-9A-Za-z\n]{0,4}|\bv\.?|\w/|[=~^<>!]=[ ]?|[~^])"
    r"[0-9]{1,9}(?:\.[0-9]{1,9}){3}"
)
_BOUNDARY = r"(?:(?<![\w.])(?<![A-Za-z]-)|(?<=\\[nrt]))"
_HEX = "[0-9a-f]"
_IP_NAME = r"(?i:\b(?:ip|ipv4|ip[ _-]?addr(?:ess)?|inet_ntoa|inet_aton|remote_addr|client_ip))"
_NUMBER = rf"0[xX]{_HEX}{{8}}|0[0-7]{{10,11}}|[1-9][0-9]{{7,9}}"

_MAC_START = r"(?:(?<![0-9a-z][:-])(?<![\w:.])|(?<=\\[nrt]))"
_MAC_COLONS = rf"{_HEX}{{2}}(?::{_HEX}{{2}}){{5}}"
_MAC_DASHES = rf"{_HEX}{{2}}(?:-{_HEX}{{2}}){{5}}"
_MAC_DOTS = rf"{_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}"


def _is_ipv4(value: str) -> bool:
    """Return whether the value can be the address of a machine: `1.2.3.4` is also a version."""
    parts = value.split(".")
    is_example = all(len(part) == 1 for part in parts)
    try:
        address = IPv4Address(".".join(str(int(part)) for part in parts))
    except ValueError:
        return False
    return not is_example and _is_machine(address)


def _is_dashed_ipv4(value: str) -> bool:
    return _is_ipv4(value.replace("-", "."))


def _is_number_of_ipv4(value: str) -> bool:
    return _is_machine(IPv4Address(_number(value)))


def _is_ipv4_in_other_digits(value: str) -> bool:
    numbers = [*map(_number, value.split("."))]
    return max(numbers) < _BYTES and _is_machine(IPv4Address(bytes(numbers)))


def _number(text: str) -> int:
    if text.lower().startswith("0x"):
        return int(text, 16) & _MAX_IPV4
    return (int(text, 8) if text.startswith("0") else int(text)) & _MAX_IPV4


def _is_machine(address: IPv4Address) -> bool:
    is_mask_or_nothing = address.packed[0] in (0, 255)
    is_example = any(address in network for network in _IPV4_EXAMPLES)
    return not (address.is_loopback or is_mask_or_nothing or is_example)


def _is_ipv6(value: str) -> bool:
    try:
        address = IPv6Address(value)
    except ValueError:
        return False
    if any(address in network for network in _IPV6_EXAMPLES):
        return False
    if address.ipv4_mapped is not None:
        return _is_machine(address.ipv4_mapped)
    return any(address in network for network in _IPV6_IN_USE)


def _is_mac(value: str) -> bool:
    digits = re.sub("[^0-9a-f]", "", value.lower())
    pairs = {digits[index : index + 2] for index in range(0, len(digits), 2)}
    is_pattern = all(pair[0] == pair[1] for pair in pairs) or digits in _MAC_EXAMPLES
    return not is_pattern and not digits.startswith(_MAC_GROUPS) and len(pairs) >= _MIN_PAIRS


def _is_mac_with_letters(value: str) -> bool:
    """Like `_is_mac`, without a word before it: digits only are also a date and a time."""
    return not set(value.lower()).isdisjoint("abcdef") and _is_mac(value)


def _is_dotted_mac(value: str) -> bool:
    kinds = {character.isdigit() for character in value.replace(".", "")}
    return len(kinds) == len((True, False)) and _is_mac(value)


_BYTES = 256
_MAX_IPV4 = 0xFFFF_FFFF
_IPV4_EXAMPLES = tuple(map(IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))
_IPV6_EXAMPLES = tuple(map(IPv6Network, ("2001:db8::/32", "3fff::/20", "::1/128", "::/128")))
_IPV6_IN_USE = tuple(
    map(IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10", "64:ff9b::/96", "64:ff9b:1::/48"))
)
_MAC_GROUPS = ("01005e", "3333", "0180c2", "00005e0053")
"""First digits of the addresses of groups, and of documentation."""
_MAC_EXAMPLES = frozenset({"001122334455", "0123456789ab", "123456789abc", "deadbeefcafe"})
_MIN_PAIRS = 3
"""Different pairs of digits in an address: published examples have fewer."""
_ip = partial(SecretRule, "ip")

NETWORKS = PiiSubject(
    r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|[23fF][0-9a-fA-F]{3}:[0-9a-fA-F:]"
    r"|[fF]{4}:[0-9a-fA-F]|64:[fF]{2}9[bB]:|0[xX][0-9a-fA-F]{1,2}\.0|0[0-7]{1,3}\.0[0-7]{0,3}\."
    r"|(?:[iI][pP]|[aA][dD][dD][rR][a-zA-Z]{0,5}|inet_[an]to[na])['\"]? ?[:=(] ?['\"]?[0-9]{8}"
    r"|[pP]['\"]?\s?[:=] ?['\"]?0[xX]|://0[xX]|://[0-9]{8}|(?:ip|ec2)-[0-9]{1,3}-"
    r"|[0-9a-fA-F]{2}[:-][0-9a-fA-F]{2}[:-][0-9a-fA-F]{2}[:-]|[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.",
    (
        _ip(
            rf"{_VERSION}|{_BOUNDARY}({_QUAD})(?!\w|-[A-Za-z]|\.[0-9])",
            "The IPv4 address of a machine. Version numbers are skipped.",
            _is_ipv4,
        ),
        _ip(
            r"(?i)(?<![\w-])(?:ip|ec2)-([0-9]{1,3}(?:-[0-9]{1,3}){3})(?![\w-])",
            "In the name of a machine at a cloud provider.",
            _is_dashed_ipv4,
        ),
        _ip(
            rf"(?i)(?:{_IP_NAME}[\"']?[ ]?[:=(][ ]?[\"']?|(?<![\w])https?://)({_NUMBER})(?![\w.])",
            "As one number, after a word that announces an address.",
            _is_number_of_ipv4,
        ),
        _ip(
            rf"(?i)(?<![\w.])(0x{_HEX}{{1,2}}(?:\.0x{_HEX}{{1,2}}){{3}})(?![\w.])",
            "In hexadecimal bytes.",
            _is_ipv4_in_other_digits,
        ),
        _ip(
            rf"(?i)(?:{_IP_NAME}[\"']?[ ]?[:=(]?[ ]?[\"']?|(?<![\w])https?://)"
            r"(0[0-7]{1,3}(?:\.0[0-7]{1,3}){3})(?![\w.])",
            "In octal bytes, after a word that announces an address.",
            _is_ipv4_in_other_digits,
        ),
        _ip(
            rf"(?i){_BOUNDARY}(?<!:)((?:[23]{_HEX}{{3}}|fe[89ab]{_HEX}|f[cd]{_HEX}{{2}}"
            rf"|64:ff9b|(?:0{{0,4}}:){{1,6}}ffff)(?::{_HEX}{{0,4}}){{1,7}})(?![\w:]|\.[0-9])",
            "The IPv6 address of a machine, in the ranges in use: global, link-local, site-local.",
            _is_ipv6,
        ),
        _ip(
            rf"(?i){_BOUNDARY}(?<!:)((?:64:ff9b:|(?:0{{0,4}}:){{1,6}}ffff|[23]{_HEX}{{3}}"
            rf"(?::{_HEX}{{0,4}}){{1,5}}):{_QUAD})(?![\w.])",
            "IPv6 with an IPv4 address at its end.",
            _is_ipv6,
        ),
        SecretRule(
            "mac",
            rf"(?i){_MAC_START}({_MAC_COLONS}|{_MAC_DASHES})(?![\w]|[:-][0-9a-z])",
            "The address of a network card, also of Wi-Fi and Bluetooth.",
            _is_mac_with_letters,
        ),
        SecretRule(
            "mac",
            rf"(?i)\b(?:ether|HWaddr|mac|bssid|lladdr|physical address)[^0-9A-Za-z\n]{{1,20}}"
            rf"({_MAC_COLONS}|{_MAC_DASHES})(?![\w]|[:-][0-9a-z])",
            "After a word that announces it.",
            _is_mac,
        ),
        SecretRule(
            "mac",
            rf"(?i){WORD_START}(?<!\.)({_MAC_DOTS})(?![\w-]|\.[0-9a-z])",
            "As Cisco writes it: letters and digits.",
            _is_dotted_mac,
        ),
    ),
)
