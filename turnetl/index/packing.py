"""Receipts, entities and facts as compressed JSON.

Each is too short to be compressed by itself: its field names and usual values are in a dictionary
that is part of the catalog's format. A change of it is a new version of the catalog.
"""

import zlib
from typing import TypeVar

import msgspec

T = TypeVar("T")

_DICTIONARY = (
    b'"summary":"","labels":["Command"],"labels":["Error"],"labels":["Concept"],'
    b'"labels":["Package"],"labels":["File"],"relation":"MENTIONED","relation":"DECIDED",'
    b'"relation":"FAILED_WITH","relation":"USED_TOOL","relation":"USES","relation":"ASKED",'
    b'"relation":"RAN","relation":"CREATED","relation":"MODIFIED","text":"The user asked: '
    b'"text":"The agent changed `","text":"`","group_id":"'
    b'"format":"codex","format":"claude_code","session_id":"","ordinal":0,'
    b'"parent_session_id":null,"agent_id":null,"run_id":"","content_hash":"","text_hash":"",'
    b'"chunks":1,"recipe":"","committed_at":"2026-01-01T00:00:00.000000Z","started_at":"2026-01-'
    b'","ended_at":"2025-01-01T00:00:00.000000Z","cwd":"/home/user/git_branch":"main",'
    b'"git_branch":null,"tools":["Bash","Edit","Read","Write","Grep","Glob","Task","TodoWrite"],'
    b'"tools":[],"archive":"/home/.claude/projects/.jsonl","first_line":1,"last_line":'
    b',"usage":{"calls":0,"prompt_tokens":0,"completion_tokens":0,"cost":0.0,"cached_tokens":0,'
    b'"seconds":0.0},"entities_new":0,"facts_new":0,"facts_invalidated":0}'
    b'{"turn_id":"{"uuid":"","group_id":"","name":"","labels":["File"],"summary":"",'
    b'"created_at":"2026-01-01T00:00:00.000000Z","attributes":{},"embedding":null}'
    b'{"uuid":"","group_id":"","source":"","target":"","relation":"MODIFIED","text":"'
    b'","turns":[""],"created_at":"2026-01-01T00:00:00.000000Z",'
    b'"valid_at":"2026-01-01T00:00:00.000000Z","invalid_at":null,"expired_at":null,'
    b'"reference_time":"2026-01-01T00:00:00.000000Z","attributes":{},"embedding":null}'
)


def pack(value: object) -> bytes:
    """Return a value as compressed JSON; the same value gives the same bytes."""
    compressor = zlib.compressobj(zdict=_DICTIONARY)
    return compressor.compress(msgspec.json.encode(value)) + compressor.flush()


def unpack(packed: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the value that was packed.

    Raises:
        zlib.error: the bytes are damaged.
        msgspec.DecodeError: they hold something else.
    """
    decompressor = zlib.decompressobj(zdict=_DICTIONARY)
    return decoder.decode(decompressor.decompress(packed) + decompressor.flush())
