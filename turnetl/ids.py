"""Digests and keys. The same things always get the same key, on every machine.

Keys are joined with their lengths, so that ("ab", "c") and ("a", "bc") differ.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from uuid import UUID

from turnetl.model import GroupId, SessionId, TurnId

_NAMESPACE = UUID("5d0a1c7e-6f0f-5f8e-9c1b-7b1f3a0c2d4e").bytes


def digest(*parts: str | bytes) -> str:
    """Return 32 hex digits of BLAKE2b over the parts, each preceded by its length."""
    return hashlib.blake2b(_joined(*parts), digest_size=16).hexdigest()


def _joined(*parts: str | bytes) -> bytes:
    pieces: list[bytes] = []
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        pieces += (len(data).to_bytes(8, "big"), data)
    return b"".join(pieces)


def _key(kind: str, *parts: str) -> str:
    return _uuid5(digest(kind, *parts))


def _uuid5(name: str) -> str:
    """Return what `uuid.uuid5` would, in a third of its time: every turn has one."""
    return _uuid(hashlib.sha1(_NAMESPACE + name.encode(), usedforsecurity=False).hexdigest())


def _uuid(digits: str) -> str:
    """Return a digest's first digits as a uuid of version 5 and of the usual variant."""
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def turn_id(group: GroupId, format_name: str, native: str) -> TurnId:
    """The key of the turn whose prompt the archive calls `native`."""
    return TurnId(_key("turn", group, format_name, native))


def part_id(turn: TurnId, number: int) -> str:
    """The key of a part of a long turn, counted from 0: the first one has the turn's own."""
    return _key("part", turn, str(number)) if number else turn


def turn_ids(group: GroupId, format_name: str, natives: Iterable[str]) -> list[TurnId]:
    """Return `turn_id` of each, in half of the time: an archive may hold thousands."""
    named = hashlib.blake2b(_joined("turn", group, format_name), digest_size=16)
    spaced = hashlib.sha1(_NAMESPACE, usedforsecurity=False)
    found = []
    for native in natives:
        name, key = named.copy(), spaced.copy()
        name.update(_joined(native))
        key.update(name.hexdigest().encode())
        found.append(TurnId(_uuid(key.hexdigest())))
    return found


def entity_id(group: GroupId, label: str, name: str) -> str:
    """The key of the thing called `name`: one node for the same file in fifty turns."""
    return _key("entity", group, label, name)


def mention_id(turn: TurnId, name: str) -> str:
    """The key of a thing as one turn names it, before it is known whether the group has it."""
    return _key("named", turn, name)


def fact_id(turn: TurnId, source: str, name: str, target: str, text: str) -> str:
    """The key of a fact as stated in one turn: what happened twice are two facts."""
    return _key("fact", turn, source, name, target, text)


def saga_id(group: GroupId, session: SessionId) -> str:
    return _key("saga", group, session)


def edge_id(kind: str, source: str, target: str) -> str:
    """The key of a link without content (MENTIONS, HAS_EPISODE, NEXT_EPISODE)."""
    return _key(kind, source, target)


def group_id(name: str) -> GroupId:
    """Return a project's name as a group: lower-case letters, digits and single underscores.

    Accents go. A name with letters of another script ends in a digest, lest two of them be one.
    """
    parts = unicodedata.normalize("NFKD", name)
    words = "_".join(re.findall(r"[a-z0-9]+", parts.encode("ascii", "ignore").decode().lower()))
    if words and not any(sign.isalnum() and not sign.isascii() for sign in parts):
        return GroupId(words)
    return GroupId(f"{words or 'project'}_{digest(name)[:8]}")
