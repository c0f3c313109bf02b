"""OpenCode's store: the files of a session, and files that are no archives of their own."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnetl import formats, parsing
from turnetl.base.reason import SkipReason
from turnetl.parsing.opencode_store import is_store_member, session_files

SESSION = {"id": "ses_1", "projectID": "f00d", "directory": "/home/dev/shop", "title": "Cart"}
NEWER = ("session/f00d/ses_1", "message/ses_1/msg_{}", "part/msg_{}/prt_{}")
OLDER = ("session/info/ses_1", "session/message/ses_1/msg_{}", "session/part/ses_1/msg_{}/prt_{}")
HANDMADE = ("session/f00d/ses_x1", "message/x1/{}", "part/m_{}/{}")
both_layouts = pytest.mark.parametrize("layout", [NEWER, OLDER], ids=["newer", "older"])


def put(root: Path, name: str, row: Mapping[str, Any]) -> Path:
    path = root / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(row, indent=2), encoding="utf-8")
    return path


def session(root: Path, layout: tuple[str, str, str], name: str = "ses_1") -> Path:
    return put(root, layout[0], {**SESSION, "id": name, "time": {"created": 1764000000000}})


def messages(
    root: Path, layout: tuple[str, str, str], *, session_id: str = "ses_1", prefix: str = "msg_"
) -> list[Path]:
    """Write a prompt and a response to a store; return their files in reading order."""
    return [
        path
        for number in (1, 2)
        for path in _message(root, layout, number, f"{prefix}{number}", session_id)
    ]


def _message(
    root: Path, layout: tuple[str, str, str], number: int, name: str, session_id: str
) -> Iterable[Path]:
    role = "user" if number == 1 else "assistant"
    time = {"created": 1764000000000 + number}
    row = {"id": name, "sessionID": session_id, "role": role, "time": time}
    yield put(root, layout[1].format(number), row)
    for part in (1, 2):
        text = {"type": "text", "text": f"{role} says {part}"}
        row = {"id": f"prt_{number}{part}", "sessionID": session_id, "messageID": name, **text}
        yield put(root, layout[2].format(number, part), row)


def concatenated(files: Iterable[Path]) -> bytes:
    return b"".join(path.read_bytes() + b"\n" for path in files)


@both_layouts
def test_a_session_has_its_messages_each_followed_by_its_parts(
    tmp_path: Path, layout: tuple[str, str, str]
) -> None:
    path = session(tmp_path, layout)
    files = messages(tmp_path, layout)
    assert session_files(path) == [path, *files]


@both_layouts
def test_messages_and_parts_are_not_archives_of_their_own(
    tmp_path: Path, layout: tuple[str, str, str]
) -> None:
    path = session(tmp_path, layout)
    files = messages(tmp_path, layout)
    assert all(map(is_store_member, files))
    assert not is_store_member(path)
    assert [session_files(file) for file in files] == [None] * len(files)


@both_layouts
def test_parts_whose_message_is_gone_are_messages(
    tmp_path: Path, layout: tuple[str, str, str]
) -> None:
    path = session(tmp_path, layout)
    message, *parts = messages(tmp_path, layout)[:3]
    assert parsing.expand([tmp_path]).problems == ()
    message.unlink()
    expanded = parsing.expand([tmp_path])
    assert expanded.archives == (path,)
    (problem,) = expanded.problems
    assert (problem.path, problem.reason) == (str(parts[0].parent), SkipReason.ORPHAN)
    assert "2 parts" in problem.message


def test_parts_named_after_the_id_of_a_message_have_a_message(tmp_path: Path) -> None:
    session(tmp_path, HANDMADE, "x1")
    messages(tmp_path, HANDMADE, session_id="x1", prefix="m_")
    assert parsing.expand([tmp_path]).problems == ()


def test_ids_decide_where_files_have_other_names(tmp_path: Path) -> None:
    path = session(tmp_path, HANDMADE, "x1")
    files = messages(tmp_path, HANDMADE, session_id="x1", prefix="m_")
    assert session_files(path) == [path, *files]
    assert all(map(is_store_member, files))


@both_layouts
def test_the_files_of_a_session_are_read_as_one_archive(
    tmp_path: Path, layout: tuple[str, str, str]
) -> None:
    path = session(tmp_path, layout)
    messages(tmp_path, layout)
    data = concatenated(session_files(path) or [])
    known = formats.sniff(data)
    assert known is not None
    assert known.name == "opencode"
    (turn,) = known.read(data).turns
    assert turn.native_id == "msg_1"
    assert turn.user_text == "user says 1\n\nuser says 2"
    assert turn.assistant_texts == ["assistant says 1", "assistant says 2"]


def test_a_session_without_messages_is_one_file(tmp_path: Path) -> None:
    path = session(tmp_path, NEWER)
    assert session_files(path) == [path]


def test_an_invalid_session_file_still_leads_to_its_messages(tmp_path: Path) -> None:
    path = session(tmp_path, NEWER)
    files = messages(tmp_path, NEWER)
    path.write_text('{"id": "ses_1", "ti', encoding="utf-8")
    assert session_files(path) == [path, *files]


def test_the_first_message_is_the_archive_of_a_missing_session(tmp_path: Path) -> None:
    files = messages(tmp_path, NEWER)
    assert session_files(files[0]) == files
    assert [is_store_member(file) for file in files] == [False, *([True] * 5)]


def test_a_store_is_detected_from_inside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session(tmp_path, NEWER)
    files = messages(tmp_path, NEWER)
    monkeypatch.chdir(path.parent)
    assert session_files(Path(path.name)) == [path, *files]


def test_an_id_that_leads_out_of_the_store_is_not_followed(tmp_path: Path) -> None:
    outside = put(tmp_path, "secret/a", {"id": "a"})
    path = session(tmp_path, HANDMADE, "../secret")
    (tmp_path / "message").mkdir()
    assert outside not in (session_files(path) or [])


@pytest.mark.parametrize(
    "name", ["session", "a/session", "session/f00d/a", "message/a/b", "part/a/b", "session/info/a"]
)
def test_other_files_are_archives_of_their_own(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name, {"role": "user", "content": "Hello."})
    assert session_files(path) is None
    assert not is_store_member(path)


def test_other_files_next_to_a_store_are_archives_of_their_own(tmp_path: Path) -> None:
    session(tmp_path, NEWER)
    messages(tmp_path, NEWER)
    for name in ("message/inbox/letter", "part/inbox/letter"):
        assert not is_store_member(put(tmp_path, name, {"subject": "Hello"}))


def test_files_of_opencode_without_a_conversation_are_not_archives(tmp_path: Path) -> None:
    names = ("project/f00d", "todo/ses_1", "session_diff/ses_1")
    assert not any(is_store_member(put(tmp_path, name, {})) for name in names)
    session(tmp_path, NEWER)
    messages(tmp_path, NEWER)
    assert all(is_store_member(put(tmp_path, name, {})) for name in names)


def test_no_function_raises_for_a_path_that_is_not_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "f00d" / "folder.json"
    folder.mkdir(parents=True)
    for path in (folder, tmp_path / "session" / "f00d" / "missing.json", Path("missing.json")):
        assert session_files(path) is None
        assert not is_store_member(path)
