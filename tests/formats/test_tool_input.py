"""Tool calls as one text."""

import pytest

from turnetl.formats.kit.tool_input import added_lines, format_input

PATCH = """*** Begin Patch
*** Update File: cart.py
@@ def total():
-    return 0
+    return total
*** End Patch"""
TWO_FILES = """*** Begin Patch
*** Add File: a b.py
+
+x = 1
*** Delete File: b.py
*** End Patch"""


def test_an_input_is_the_command_the_path_with_a_change_summary_or_compact_json(
    subtests: pytest.Subtests,
) -> None:
    for arguments, text in [
        ({"command": "pytest -q", "description": "Run the tests"}, "pytest -q"),
        ({"file_path": "cart.py", "offset": 3}, "cart.py"),
        ({"file_path": "cart.py", "content": "\n\nimport os\n"}, "cart.py :: + import os"),
        ({"notebook_path": "a.ipynb", "new_source": "x = 1"}, "a.ipynb :: + x = 1"),
        (
            {"file_path": "cart.py", "edits": [{"old_string": "a\nb", "new_string": "a\nc"}]},
            "cart.py :: - b + c",
        ),
        ({"file_path": "cart.py", "old_string": "a\nb", "new_string": "a"}, "cart.py :: - b"),
        ({"filePath": "cart.py", "oldString": "a", "newString": "b"}, "cart.py :: - a + b"),
        ({"pattern": "total", "path": "src"}, '{"pattern":"total","path":"src"}'),
        ({"command": "view", "path": "cart.py"}, "cart.py"),
        ({"file_path": 7, "command": None}, '{"file_path":7,"command":null}'),
        ({"file_path": "cart.py", "edits": ["broken"]}, "cart.py"),
        ("ls", "ls"),
        (None, "null"),
        ([1, 2], "[1,2]"),
        ({"command": ["bash", "-lc", "pytest -q"], "timeout": 9}, "pytest -q"),
        ({"command": ["/usr/bin/zsh", "-c", "ls"]}, "ls"),
        ({"command": ["pwsh.exe", "-NoProfile", "-Command", "dir"]}, "dir"),
        ({"command": ["git", "commit", "-m", "a b"]}, "git commit -m 'a b'"),
        ({"command": ["ls", 7]}, '{"command":["ls",7]}'),
        ({"cmd": "rg total", "workdir": "/home/dev/shop"}, "rg total"),
        (PATCH, "cart.py :: - return 0 + return total"),
        ({"input": "x"}, '{"input":"x"}'),
        ({"input": PATCH}, "cart.py :: - return 0 + return total"),
        ({"command": ["apply_patch", PATCH]}, "cart.py :: - return 0 + return total"),
        (
            {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]},
            "cart.py :: - return 0 + return total",
        ),
        ("*** Begin Patch\n*** Delete File: old.py\n*** End Patch", "old.py :: deleted"),
        (TWO_FILES, "*** Add File: a b.py + x = 1 *** Delete File: b.py"),
        (f"cat > {PATCH}", f"cat > {PATCH}"),
        ("*** Begin Patch\nnothing\n*** End Patch", "*** Begin Patch\nnothing\n*** End Patch"),
    ]:
        with subtests.test(arguments=arguments):
            assert format_input(arguments) == text


def test_too_deeply_nested_arguments_do_not_raise() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert format_input({"n": deep}) == "[arguments that nest too deep]"


def change(old: str, new: str) -> str:
    return format_input({"file_path": "a.py", "old_string": old, "new_string": new})


def test_the_summary_of_a_small_change_has_all_its_lines() -> None:
    summary = change("retries = 3\nwait = 1\nkeep = 0", "retries = 5\n\nwait = 2\nkeep = 0")
    assert summary == "a.py :: - retries = 3\nwait = 1 + retries = 5\nwait = 2"


def test_the_summary_of_a_large_change_prefers_definitions() -> None:
    body = "\n".join(f"    total += {n} * rate_of_the_day({n})" for n in range(90))
    summary = change("", f"import os\n{body}\nclass Cart:\n{body}\ndef total():\n    pass\n")
    assert summary.startswith("a.py :: + import os\ntotal += 0 ")
    assert "\nclass Cart:\ndef total():" in summary
    assert len(summary) < 300


def test_the_summary_covers_every_edit_of_a_call() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    assert format_input({"file_path": "a.py", "edits": edits}) == "a.py :: - a\nc + b\nd"


def test_the_summary_omits_a_change_with_a_private_key_but_for_its_first_line() -> None:
    key = "-----BEGIN " + "PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"
    assert change("", f"x = 1\nkey = '{key}'\nabc") == "a.py :: + x = 1"


def test_the_summary_of_a_huge_change_is_short() -> None:
    assert len(change("", "\n".join(map(str, range(500_000))))) < 400


LONG = [f"line_{number} = {number}" for number in range(90)]
PATCHED = "\n+".join(LONG)


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": "a.py", "content": "\n".join(LONG)},
        {"filePath": "a.py", "oldString": "old\n", "newString": "\n".join(LONG)},
        {
            "file_path": "a.py",
            "edits": [{"new_string": LONG[0]}, {"new_string": "\n".join(LONG[1:])}],
        },
        {"input": f"*** Begin Patch\n*** Update File: a.py\n-old\n+{PATCHED}\n*** End Patch"},
        f"*** Begin Patch\n*** Add File: a.py\n+{PATCHED}\n*** End Patch",
        {"command": ["apply_patch", f"*** Begin Patch\n*** Add File: a.py\n+{PATCHED}"]},
    ],
)
def test_all_lines_that_a_call_adds_can_be_read(arguments: object) -> None:
    assert added_lines(arguments) == [("a.py", LONG)]


@pytest.mark.parametrize("arguments", [{"file_path": "a.py"}, {"command": "ls"}, "text", None, [1]])
def test_a_call_that_changes_no_file_adds_no_lines(arguments: object) -> None:
    assert added_lines(arguments) == []


def test_a_line_that_an_edit_keeps_is_not_added() -> None:
    edit = {"file_path": "a.py", "old_string": "keep\nold", "new_string": "  keep\nnew"}
    assert added_lines(edit) == [("a.py", ["new"])]
