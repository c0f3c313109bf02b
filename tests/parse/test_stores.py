"""OpenCode's store: which files an archive stands for, and which are no archives of their own."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turnetl import formats, parse
from turnetl.parse.stores import belongs, members

SESSION = {"id": "ses_1", "projectID": "f00d", "directory": "/home/dev/shop", "title": "Cart"}
NEWER = ("session/f00d/ses_1", "message/ses_1/msg_{}", "part/msg_{}/prt_{}")
OLDER = ("session/info/ses_1", "session/message/ses_1/msg_{}", "session/part/ses_1/msg_{}/prt_{}")
BY_HAND = ("session/f00d/ses_x1", "message/x1/{}", "part/m_{}/{}")
LAYOUTS = pytest.mark.parametrize("layout", [NEWER, OLDER], ids=["newer", "older"])


def put(root: Path, name: str, row: Mapping[str, Any]) -> Path:
    path = root / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(row, indent=2), encoding="utf-8")
    return path


def session(root: Path, layout: tuple[str, str, str], name: str = "ses_1") -> Path:
    return put(root, layout[0], {**SESSION, "id": name, "time": {"created": 1764000000000}})


def said(
    root: Path, layout: tuple[str, str, str], *, of: str = "ses_1", prefix: str = "msg_"
) -> list[Path]:
    """Put a prompt and its answer into a store; return their files in the order they are read."""
    return [
        path
        for number in (1, 2)
        for path in _message(root, layout, number, f"{prefix}{number}", of)
    ]


def _message(
    root: Path, layout: tuple[str, str, str], number: int, name: str, of: str
) -> Iterable[Path]:
    role = "user" if number == 1 else "assistant"
    time = {"created": 1764000000000 + number}
    row = {"id": name, "sessionID": of, "role": role, "time": time}
    yield put(root, layout[1].format(number), row)
    for part in (1, 2):
        text = {"type": "text", "text": f"{role} says {part}"}
        row = {"id": f"prt_{number}{part}", "sessionID": of, "messageID": name, **text}
        yield put(root, layout[2].format(number, part), row)


def joined(files: Iterable[Path]) -> bytes:
    return b"".join(path.read_bytes() + b"\n" for path in files)


@LAYOUTS
def test_a_session_stands_for_its_messages_each_followed_by_its_parts(
    tmp_path: Path, layout: tuple[str, str, str]
) -> None:
    path = session(tmp_path, layout)
    files = said(tmp_path, layout)
    assert members(path) == [path, *files]


@LAYOUTS
def test_messages_and_parts_are_no_archives_of_their_own(
    tmp_path: Path, layout: tuple[str, str, str]
) -> None:
    path = session(tmp_path, layout)
    files = said(tmp_path, layout)
    assert all(map(belongs, files))
    assert not belongs(path)
    assert [members(file) for file in files] == [None] * len(files)


@LAYOUTS
def test_parts_whose_message_is_gone_are_said(tmp_path: Path, layout: tuple[str, str, str]) -> None:
    path = session(tmp_path, layout)
    message, *parts = said(tmp_path, layout)[:3]
    assert parse.expand([tmp_path]).problems == ()
    message.unlink()
    found = parse.expand([tmp_path])
    assert found.archives == (path,)
    (problem,) = found.problems
    assert (problem.path, problem.reason) == (str(parts[0].parent), "no_message")
    assert "2 parts" in problem.message


def test_parts_that_a_message_claims_by_its_id_are_not_gone(tmp_path: Path) -> None:
    session(tmp_path, BY_HAND, "x1")
    said(tmp_path, BY_HAND, of="x1", prefix="m_")
    assert parse.expand([tmp_path]).problems == ()


def test_ids_decide_where_files_have_names_of_their_own(tmp_path: Path) -> None:
    path = session(tmp_path, BY_HAND, "x1")
    files = said(tmp_path, BY_HAND, of="x1", prefix="m_")
    assert members(path) == [path, *files]
    assert all(map(belongs, files))


@LAYOUTS
def test_the_files_of_a_session_are_read_as_one_archive(
    tmp_path: Path, layout: tuple[str, str, str]
) -> None:
    path = session(tmp_path, layout)
    said(tmp_path, layout)
    data = joined(members(path) or [])
    known = formats.sniff(data)
    assert known is not None
    assert known.name == "opencode"
    (turn,) = known.read(data).turns
    assert turn.native_id == "msg_1"
    assert turn.user_text == "user says 1\n\nuser says 2"
    assert turn.assistant_texts == ["assistant says 1", "assistant says 2"]


def test_a_session_without_messages_stands_for_itself(tmp_path: Path) -> None:
    path = session(tmp_path, NEWER)
    assert members(path) == [path]


def test_a_broken_session_file_still_leads_to_its_messages(tmp_path: Path) -> None:
    path = session(tmp_path, NEWER)
    files = said(tmp_path, NEWER)
    path.write_text('{"id": "ses_1", "ti', encoding="utf-8")
    assert members(path) == [path, *files]


def test_messages_whose_session_is_gone_stand_under_the_first_of_them(tmp_path: Path) -> None:
    files = said(tmp_path, NEWER)
    assert members(files[0]) == files
    assert [belongs(file) for file in files] == [False, *([True] * 5)]


def test_a_store_is_known_from_inside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = session(tmp_path, NEWER)
    files = said(tmp_path, NEWER)
    monkeypatch.chdir(path.parent)
    assert members(Path(path.name)) == [path, *files]


def test_an_id_that_leads_out_of_the_store_is_not_followed(tmp_path: Path) -> None:
    outside = put(tmp_path, "secret/a", {"id": "a"})
    path = session(tmp_path, BY_HAND, "../secret")
    (tmp_path / "message").mkdir()
    assert outside not in (members(path) or [])


@pytest.mark.parametrize(
    "name", ["session", "a/session", "session/f00d/a", "message/a/b", "part/a/b", "session/info/a"]
)
def test_other_files_stand_for_themselves(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name, {"role": "user", "content": "Hello."})
    assert members(path) is None
    assert not belongs(path)


def test_other_files_beside_a_store_stand_for_themselves(tmp_path: Path) -> None:
    session(tmp_path, NEWER)
    said(tmp_path, NEWER)
    for name in ("message/inbox/letter", "part/inbox/letter"):
        assert not belongs(put(tmp_path, name, {"subject": "Hello"}))


def test_what_opencode_keeps_beside_its_sessions_is_no_archive(tmp_path: Path) -> None:
    names = ("project/f00d", "todo/ses_1", "session_diff/ses_1")
    assert not any(belongs(put(tmp_path, name, {})) for name in names)
    session(tmp_path, NEWER)
    said(tmp_path, NEWER)
    assert all(belongs(put(tmp_path, name, {})) for name in names)


def test_nothing_raises_for_a_path_that_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "f00d" / "folder.json"
    folder.mkdir(parents=True)
    for path in (folder, tmp_path / "session" / "f00d" / "gone.json", Path("gone.json")):
        assert members(path) is None
        assert not belongs(path)
