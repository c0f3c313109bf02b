"""Files, folders and globs to archives: a problem with a path is reported in one sentence."""

import os
import socket
import sys
from itertools import chain, permutations
from pathlib import Path

import pytest

from turnetl import parsing
from turnetl.base.reason import SkipReason


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two archives, one of them deeper, and a file that is none."""
    deep = tmp_path / "archives" / "shop"
    deep.mkdir(parents=True)
    (deep / "b.jsonl").write_text("{}\n")
    (deep.parent / "a.json").write_text("{}\n")
    (deep / "notes.md").write_text("none")
    return deep.parent


def names(expanded: parsing.ExpandedPaths) -> list[str]:
    return [path.name for path in expanded.archives]


def only_message(expanded: parsing.ExpandedPaths) -> str:
    (problem,) = expanded.problems
    return problem.message


def test_a_folder_is_searched_and_its_archives_are_sorted(folder: Path) -> None:
    expanded = parsing.expand([folder])
    assert names(expanded) == ["a.json", "b.jsonl"]
    assert expanded.problems == ()
    assert expanded.other_files == {SkipReason.OTHER_FILE: 1}


OTHERS = {
    SkipReason.OTHER_FILE: ("a.txt", "LICENSE", "b.parquet", "package.json5"),
    SkipReason.RENAMED: (
        "c.jsonl.bak",
        "x.jsonl.deleted.2026-03-02T09",
        "y.JSON~",
        "z.json.gz.old",
    ),
    SkipReason.DATABASE: ("opencode.db",),
    SkipReason.PACKED: ("a.zip", "b.jsonl.bz2"),
}


@pytest.mark.parametrize("given", ["{}", "{}/**/*", "{}/*/*"])
def test_each_file_of_a_folder_that_is_not_read_is_counted_under_a_reason(
    given: str, tmp_path: Path
) -> None:
    for name in (*chain(*OTHERS.values()), "read.jsonl"):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text("text")
    found = parsing.expand([given.format(tmp_path)])
    assert found.other_files == {reason: len(files) for reason, files in OTHERS.items()}
    assert names(found) == ["read.jsonl"]


def test_each_file_of_folders_that_hold_each_other_is_counted_once(folder: Path) -> None:
    (folder / "shop" / "kept.db").touch()
    (folder.parent / "link").symlink_to(folder)
    once = parsing.expand([folder])
    assert once.other_files == {SkipReason.OTHER_FILE: 1, SkipReason.DATABASE: 1}
    given = map(str, (folder, folder / "shop", folder.parent / "link", folder / "**" / "*"))
    for order in permutations(given):
        found = parsing.expand(order)
        assert (found.other_files, len(found.problems)) == (once.other_files, 1)
    named = parsing.expand([folder, folder / "shop" / "notes.md"])
    assert (len(named.archives), named.other_files) == (3, {SkipReason.DATABASE: 1})


def test_a_folder_with_other_files_only_has_no_archive(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    found = parsing.expand([tmp_path])
    assert "holds no .jsonl or .json file" in only_message(found)
    assert found.other_files == {SkipReason.OTHER_FILE: 1}


def test_a_glob_gives_the_archives_that_it_matches(folder: Path) -> None:
    assert names(parsing.expand([f"{folder}/**/*"])) == ["a.json", "b.jsonl"]
    assert names(parsing.expand([f"{folder}/*.json"])) == ["a.json"]


def test_a_named_file_is_used_with_any_suffix(folder: Path) -> None:
    assert names(parsing.expand([folder / "shop" / "notes.md"])) == ["notes.md"]


def test_an_archive_is_returned_once_even_if_it_is_named_twice(folder: Path) -> None:
    again = folder / "shop" / ".." / "a.json"
    link = folder / "link.json"
    link.symlink_to(folder / "a.json")
    assert names(parsing.expand([folder / "a.json", again, link, folder])) == ["a.json", "b.jsonl"]


def test_an_existing_path_with_brackets_is_not_a_glob(tmp_path: Path) -> None:
    odd = tmp_path / "odd[1].jsonl"
    odd.write_text("{}")
    assert parsing.expand([odd]).archives == (odd,)


def test_a_missing_path_is_reported_and_the_others_are_found(folder: Path) -> None:
    expanded = parsing.expand([folder / "missing.jsonl", folder / "a.json"])
    assert names(expanded) == ["a.json"]
    assert only_message(expanded) == f"`{folder / 'missing.jsonl'}` does not exist; check the path."


@pytest.mark.parametrize("url", ["s3://bucket/archives/", "gs://b/*.jsonl", "https://host/a.jsonl"])
def test_a_url_is_reported_even_where_a_folder_has_that_name(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(url).mkdir(parents=True)
    found = parsing.expand([url])
    assert not found.archives
    assert [problem.path for problem in found.problems] == [url]
    assert f"`{url}` is a URL" in found.problems[0].message


def test_a_glob_without_matches_is_reported(folder: Path) -> None:
    assert "matches no file" in only_message(parsing.expand([f"{folder}/*.csv"]))


def test_an_empty_folder_is_reported(tmp_path: Path) -> None:
    assert "holds no .jsonl or .json file" in only_message(parsing.expand([tmp_path]))


def test_a_folder_with_an_archive_suffix_is_a_folder(tmp_path: Path) -> None:
    odd = tmp_path / "x.jsonl"
    odd.mkdir()
    assert "holds no .jsonl or .json file" in only_message(parsing.expand([odd]))
    (odd / "in.jsonl").write_text("{}")
    assert names(parsing.expand([tmp_path])) == ["in.jsonl"]


def test_a_broken_link_is_reported(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "nowhere")
    expanded = parsing.expand([tmp_path / "link.jsonl"])
    assert "neither a file nor a folder" in only_message(expanded)
    assert [problem.reason for problem in expanded.problems] == [SkipReason.NOT_A_FILE]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every folder"
)
def test_a_folder_without_read_permission_is_reported(folder: Path) -> None:
    (folder / "shop").chmod(0)
    expanded = parsing.expand([folder])
    (folder / "shop").chmod(0o700)
    assert names(expanded) == ["a.json"]
    assert "cannot be read" in only_message(expanded)


def test_compressed_archives_are_found(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.json.zst", "C.JSONL", "d.gz", "e.jsonl.bz2", "f.zst"):
        (tmp_path / name).write_bytes(b"{}")
    assert names(parsing.expand([tmp_path])) == ["C.JSONL", "a.jsonl.gz", "b.json.zst"]
    assert names(parsing.expand([f"{tmp_path}/*"])) == ["C.JSONL", "a.jsonl.gz", "b.json.zst"]


def test_a_linked_folder_is_searched_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "c.jsonl").write_text("{}")
    (folder / "a link").symlink_to(tmp_path / "elsewhere")
    (folder / "another").symlink_to(tmp_path / "elsewhere")
    expanded = parsing.expand([folder])
    assert names(expanded) == ["c.jsonl", "a.json", "b.jsonl"]
    assert expanded.archives[0] == folder / "a link" / "c.jsonl"


def test_folders_that_link_to_each_other_are_searched_once(folder: Path) -> None:
    for parent in (folder, folder / "shop"):
        (parent / "up").symlink_to(folder)
        (parent / "again").symlink_to(parent)
        (parent / "self.jsonl").symlink_to(parent / "self.jsonl")
    for given in (folder, f"{folder}/**", f"{folder}/**/*.json*"):
        assert names(parsing.expand([given])) == ["a.json", "b.jsonl"]


def test_a_file_keeps_its_own_path_even_if_a_link_is_found_first(folder: Path) -> None:
    (folder / "0.jsonl").symlink_to(folder / "shop" / "b.jsonl")
    (folder / "1").symlink_to(folder / "shop")
    assert parsing.expand([folder]).archives == (folder / "a.json", folder / "shop" / "b.jsonl")


def test_pipes_and_sockets_do_not_block_and_are_reported(folder: Path) -> None:
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s.jsonl"))
        expanded = parsing.expand([folder])
    assert names(expanded) == ["a.json", "b.jsonl"]
    problems = {Path(problem.path).name: problem.message for problem in expanded.problems}
    assert sorted(problems) == ["pipe.jsonl", "s.jsonl", "zero.jsonl"]
    assert all("is neither a file nor a folder" in message for message in problems.values())
    assert {problem.reason for problem in expanded.problems} == {SkipReason.OTHER_ENTRY}
    assert "neither a file nor a folder" in only_message(parsing.expand([folder / "pipe.jsonl"]))


def test_a_recursive_glob_gives_matching_files_and_the_archives_in_matching_folders(
    folder: Path,
) -> None:
    hidden = folder / ".old" / "shop"
    hidden.mkdir(parents=True)
    (hidden / "h.jsonl").write_text("{}")
    assert names(parsing.expand([f"{folder}/**/b*"])) == ["b.jsonl"]
    assert names(parsing.expand([f"{folder}/**/shop"])) == ["b.jsonl"]
    assert names(parsing.expand([f"{folder}/**/.old"])) == ["h.jsonl"]
    assert names(parsing.expand([f"{folder.parent}/*/**/shop/*"])) == ["b.jsonl"]
    assert "matches no file" in only_message(parsing.expand([f"{folder}/**/z*"]))


def test_a_relative_glob_starts_in_the_working_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert [str(path) for path in parsing.expand(["**/*"]).archives] == ["a.json", "shop/b.jsonl"]


def test_messages_and_parts_of_a_store_belong_to_its_sessions(tmp_path: Path) -> None:
    for name in ("session/p/ses_1", "message/ses_1/msg_1", "part/msg_1/prt_1"):
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    assert names(parsing.expand([tmp_path])) == ["ses_1.json"]


@pytest.mark.full
def test_ten_thousand_archives_in_one_folder_are_found(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"{number:05}.jsonl").touch()
    expanded = parsing.expand([tmp_path, f"{tmp_path}/*.jsonl"])
    assert len(expanded.archives) == 10_000
    assert expanded.problems == ()


@pytest.mark.full
def test_folders_deeper_than_the_recursion_limit_are_searched(tmp_path: Path) -> None:
    deep = [tmp_path]
    for _ in range(sys.getrecursionlimit() + 50):
        deep.append(deep[-1] / "d")
        deep[-1].mkdir()
    (deep[-1] / "deep.jsonl").touch()
    assert names(parsing.expand([tmp_path])) == ["deep.jsonl"]
    (deep[-1] / "deep.jsonl").unlink()
    # The cleanup of pytest does not reach that deep.
    for folder in reversed(deep[1:]):
        folder.rmdir()


def test_databases_and_packed_files_in_a_folder_are_named_with_what_to_do(tmp_path: Path) -> None:
    for name in ("opencode.db", "a.zip", "b.tar.gz", "c.7z", "e.jsonl.bz2", "notes.md", "x.jsonl"):
        (tmp_path / name).write_bytes(b"{}")
    found = parsing.expand([tmp_path])
    assert names(found) == ["x.jsonl"]
    reasons = sorted((problem.reason.value, problem.message) for problem in found.problems)
    assert [reason for reason, _ in reasons] == ["database", "packed", "packed"]
    assert "`opencode export`" in reasons[0][1]
    assert all(word in reasons[1][1] for word in ("a.zip", "b.tar.gz", "c.7z", "unpack"))
    assert all(word in reasons[2][1] for word in ("e.jsonl.bz2", "decompress"))


def test_a_file_without_a_suffix_is_found_if_it_starts_as_json(tmp_path: Path) -> None:
    (tmp_path / "raw_transcript").write_text(' {"type": "user"}')
    (tmp_path / "raw_transcript.001").write_text('{"type": "user"}')
    (tmp_path / "full.jsonl.001.tmp").write_text('{"type": "user"}')
    (tmp_path / "list").write_text('[{"role": "user"}]')
    (tmp_path / "LICENSE").write_text("Free.")
    (tmp_path / "HEAD").write_bytes(b"\x01\x02{")
    found = names(parsing.expand([tmp_path]))
    assert found == ["list", "raw_transcript"]
    (tmp_path / "raw_transcript").unlink()
    assert names(parsing.expand([tmp_path])) == ["list", "raw_transcript.001"]


def write_below(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_files_that_an_agent_keeps_beside_a_session_are_no_archives(tmp_path: Path) -> None:
    session = tmp_path / "projects" / "-srv-shop" / "7d0c2f1a-0000-4000-8000-000000000001"
    for name in (
        "tool-results/mcp.json",
        "tool-results/output.txt",
        "subagents/agent-a.meta.json",
        "subagents/workflows/wf/journal.jsonl",
        "subagents/agent-a.jsonl",
        "workflows/wf.json",
        "../sessions-index.json",
    ):
        write_below(session / name, '{"messages": [{"role": "user", "content": "x"}]}')
    found = parsing.expand([tmp_path])
    assert (names(found), found.problems) == (["agent-a.jsonl"], ())
    assert found.other_files == {SkipReason.BESIDE_SESSION: 6}


def test_subagents_settings_and_histories_of_other_agents_are_found_by_their_names_only(
    tmp_path: Path,
) -> None:
    for name in (
        ".codex/history.jsonl",
        ".cursor/projects/p/agent-transcripts/1/subagents/2.jsonl",
        ".factory/sessions/-srv-shop/1.settings.json",
        ".kiro/sessions/cli/1.json",
        ".openclaw/agents/main/sessions/sessions.json",
        ".openclaw/agents/main/sessions/1.checkpoint.2.jsonl",
        ".cline/data/sessions/1/1.json",
        "saoudrizwan.claude-dev/tasks/1/task_metadata.json",
        "User/workspaceStorage/1a/workspace.json",
        ".grok/sessions/%2Fshop/1/summary.json",
        ".kimi-code/sessions/wd_shop/1/state.json",
        "local-agent-mode-sessions/1/2/local_1.json",
        "9b/04c3d92e38/0/metadata.json",
    ):
        write_below(tmp_path / name, "{}")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".aider.chat.history.md").write_text("# aider chat started at 2026-")
    (tmp_path / "shop" / "session.jsonl.zstd").write_bytes(b"")
    found = parsing.expand([tmp_path])
    assert names(found) == [".aider.chat.history.md", "session.jsonl.zstd"]
    assert found.other_files == {SkipReason.BESIDE_SESSION: 13}
    history = tmp_path / ".codex" / "history.jsonl"
    assert names(parsing.expand([history])) == ["history.jsonl"]
