"""Digests and deterministic ids: the same input gives the same id on every machine.

The parts of an id are length-prefixed, so that ("ab", "c") and ("a", "bc") differ. Here are also
the names of the groups in which a migration keeps turns before its cutover, and old data after it:
with two underscores in a row, which `group_id` never makes.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from turnetl.base.model import GroupId, SessionId, TurnId


@dataclass(frozen=True, slots=True)
class RecipePart:
    """A value that decides how turns are extracted, and its name for people."""

    value: str
    """A version, a name or a digest: another value is another recipe."""
    name: str = ""
    """For people, such as the name of a template; not part of the digest."""


RecipeParts = Mapping[str, RecipePart]
"""By the name of the part: rules, model, effort, template, reflexion, ontology."""


def recipe_digest(parts: RecipeParts) -> str:
    words = (word for name in sorted(parts) for word in (name, parts[name].value))
    return digest("recipe", *words)


_NAMESPACE = UUID("5d0a1c7e-6f0f-5f8e-9c1b-7b1f3a0c2d4e").bytes

_EMPTY = hashlib.blake2b(digest_size=16)
"""Copied, which takes a quarter of the time of a new one: every turn has several digests."""
_SMALL = 4096
"""Bytes of a part up to which its copy is faster than a second update."""


def digest(*parts: str | bytes) -> str:
    """Return 32 hex digits of BLAKE2b over the length-prefixed parts."""
    hasher = _EMPTY.copy()
    _update(hasher, *parts)
    return hasher.hexdigest()


SUBAGENTS = "+"
"""Before the part of a content hash that is of subagents."""


def with_subagents(content_hash: str, runs: Iterable[str]) -> str:
    """Return the content hash of a turn with these subagents, given the hashes of their runs."""
    return f"{content_hash}{SUBAGENTS}{digest(*runs)}"


def own_hash(content_hash: str) -> str:
    """Return the content hash of a turn without its subagents: its archive alone decides it."""
    return content_hash.partition(SUBAGENTS)[0]


def message_digest(key: str) -> str:
    """Return what identifies an API message in all archives that hold it."""
    return digest(key)[:16]


def _update(hasher: hashlib.blake2b, *parts: str | bytes) -> None:
    """Add the length-prefixed parts, without a copy of large ones: one may be a whole archive."""
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        size = len(data).to_bytes(8, "big")
        if len(data) < _SMALL:
            hasher.update(size + data)
        else:
            hasher.update(size)
            hasher.update(data)


def _id(kind: str, *parts: str) -> str:
    # As `uuid.uuid5`, in a third of its time: every turn has one.
    name = _NAMESPACE + digest(kind, *parts).encode()
    return _uuid(hashlib.sha1(name, usedforsecurity=False).hexdigest())


def _uuid(digits: str) -> str:
    """Return the first digits of a digest as a uuid of version 5 and of the RFC 9562 variant."""
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def turn_id(group: GroupId, format_name: str, native: str) -> TurnId:
    """Return the id of the turn whose prompt has the id `native` in the archive."""
    return TurnId(_id("turn", group, format_name, native))


def chunk_id(turn: TurnId, number: int) -> str:
    """Return the id of a chunk of a turn, counted from 0. The first chunk has the turn's id."""
    return _id("chunk", turn, str(number)) if number else turn


def turn_ids(group: GroupId, format_name: str, natives: Iterable[str]) -> list[TurnId]:
    """Return `turn_id` of each, in half of the time: an archive may hold thousands of turns."""
    prefix = hashlib.blake2b(digest_size=16)
    _update(prefix, "turn", group, format_name)
    namespace = hashlib.sha1(_NAMESPACE, usedforsecurity=False)
    turn_ids = []
    for native in natives:
        name, uuid5 = prefix.copy(), namespace.copy()
        part = native.encode("utf-8", "surrogatepass")
        name.update(len(part).to_bytes(8, "big") + part)
        uuid5.update(name.hexdigest().encode())
        turn_ids.append(TurnId(_uuid(uuid5.hexdigest())))
    return turn_ids


def entity_id(group: GroupId, label: str, name: str) -> str:
    return _id("entity", group, label, name)


_SEPARATORS = re.compile(r"[\s_.-]+")
_CALL = re.compile(r"\([^()]{0,80}\)$")
_SCOPE = re.compile(r"::|[.#]")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|_")
_PLURAL = re.compile(r"(?<=[a-z]{2})(?:(?<=ch|sh|ss)es|(?<![sui])s)$")
_REMOTE = re.compile(r"^(?:refs/)?(?:heads/|remotes/)?(?:origin/)?")
_HOST = re.compile(r"^(?:https://)?(?:www\.)?(?:github\.com/|golang\.org/x/)|/v\d{1,2}$")
_HASH_DIGITS = 7


def spelled_ids(groups: Iterable[GroupId], name: str) -> list[str]:
    """Return the ids that an entity with another spelling of the name may have, by label."""
    folds = {(label, folded_name(label, name)) for label in _FOLDS}
    # A user may not know whether a symbol begins with a capital.
    folds |= {("Symbol", folded_name("Symbol", one)) for one in (name.lower(), name.capitalize())}
    return [entity_id(group, label, fold) for group in groups for label, fold in sorted(folds)]


def folded_name(label: str, name: str) -> str:
    """Return what all spellings of an entity's name share: case, separators, plural, qualifier.

    `cart.addItem()`, `add_item` and `addItem` are one Symbol, and `AddItem` is another: in Go it is
    exported, elsewhere a type. A name of one word keeps its qualifier: `logging.Init` and
    `cart.Init` are two.
    """
    name = " ".join(name.split())
    fold = _FOLDS.get(label)
    return (fold(name).casefold() if fold else "") or name.casefold()


def _folded_symbol(name: str) -> str:
    if " " in name:
        return name
    scopes = [part.strip("(*&)") for part in _SCOPE.split(_CALL.sub("", name))]
    last = scopes[-1] if _HUMP.search(scopes[-1]) else ".".join(scopes[-2:])
    return last.replace("_", "")


def _cased_symbol(name: str) -> str:
    folded = _folded_symbol(name)
    is_capital = folded.rpartition(".")[2][:1].isupper() and " " not in name
    return f"{folded}^" if is_capital else folded


def _folded_key(name: str) -> str:
    return _SEPARATORS.sub("-", name)


_FOLDS: Mapping[str, Callable[[str], str]] = {
    "Symbol": _cased_symbol,
    # The case of a Go test is a text: `TestLoad/reads_.env_files`.
    "Test": lambda name: name if "/" in name else _folded_symbol(name),
    "Setting": _folded_key,
    "Tool": _folded_key,
    "Package": lambda name: _HOST.sub("", name).replace("_", "-"),
    "Branch": lambda name: _REMOTE.sub("", name),
    "Commit": lambda name: name[:_HASH_DIGITS],
    "Concept": lambda name: _PLURAL.sub("", _SEPARATORS.sub(" ", name.casefold())),
}


def mention_id(turn: TurnId, name: str) -> str:
    """Return the id of an entity that one turn names, before it is resolved in the group."""
    return _id("named", turn, name)


def fact_id(turn: TurnId, source: str, relation: str, target: str, text: str) -> str:
    """Return the id of a fact of one turn: the same statement in two turns is two facts."""
    return _id("fact", turn, source, relation, target, text)


def saga_id(group: GroupId, session: SessionId) -> str:
    """Return the id of the Saga node of a session, which stays when a migration moves it."""
    return _id("saga", final_group(group), session)


def community_id(group: GroupId, members: Iterable[str]) -> str:
    """Return the id of the community with these entities: the same members are one community."""
    return _id("community", final_group(group), *sorted(members))


def edge_id(kind: str, source: str, target: str) -> str:
    """Return the id of an edge without content (MENTIONS, HAS_EPISODE, NEXT_EPISODE)."""
    return _id(kind, source, target)


def group_id(name: str) -> GroupId:
    """Return a project's name as a group id: lower-case letters, digits and single underscores.

    Accents are removed. A name with letters of another script ends in a digest: no two collide.
    """
    decomposed = unicodedata.normalize("NFKD", name)
    ascii_text = decomposed.encode("ascii", "ignore").decode().lower()
    token = "_".join(re.findall(r"[a-z0-9]+", ascii_text))
    if token and not any(char.isalnum() and not char.isascii() for char in decomposed):
        return GroupId(token)
    return GroupId(f"{token or 'project'}_{digest(name)[:8]}")


_TURNS = "__turns"
_SESSIONS = "__sessions_"
_SHADOW = re.compile(rf"(?P<group>.+?)(?:{_TURNS}|{_SESSIONS}[0-9a-f]{{8}})")


def turns_group(group: GroupId) -> GroupId:
    """Return the group that holds the turns of `group` until the cutover."""
    return GroupId(f"{group}{_TURNS}")


def sessions_group(group: GroupId, migration_id: str) -> GroupId:
    """Return the group that holds the session-level data of `group` after the cutover."""
    return GroupId(f"{group}{_SESSIONS}{migration_id}")


def is_shadow(group: str) -> bool:
    """Return whether this is the name of a group that only a migration reads unasked."""
    return _SHADOW.fullmatch(group) is not None


def final_group(group: GroupId) -> GroupId:
    """Return the group whose ids the data of a group has: itself unless it is a shadow group."""
    found = _SHADOW.fullmatch(group)
    return GroupId(found["group"]) if found else group
