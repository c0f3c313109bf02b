"""Tool calls in one line."""

import pytest

from turnetl.formats.kit.calls import call

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


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
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
    ],
)
def test_a_call_is_its_command_its_path_and_gist_or_compact_json(
    arguments: object, line: str
) -> None:
    assert call(arguments) == line


def test_arguments_that_nest_too_deep_do_not_raise() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert call({"n": deep}) == "[arguments that nest too deep]"


def change(old: str, new: str) -> str:
    return call({"file_path": "a.py", "old_string": old, "new_string": new})


def test_a_change_is_told_by_all_its_lines_if_they_are_few() -> None:
    told = change("retries = 3\nwait = 1\nkeep = 0", "retries = 5\n\nwait = 2\nkeep = 0")
    assert told == "a.py :: - retries = 3\nwait = 1 + retries = 5\nwait = 2"


def test_of_a_long_change_the_names_are_told_first() -> None:
    body = "\n".join(f"    total += {n} * rate_of_the_day({n})" for n in range(90))
    told = change("", f"import os\n{body}\nclass Cart:\n{body}\ndef total():\n    pass\n")
    assert told.startswith("a.py :: + import os\ntotal += 0 ")
    assert "\nclass Cart:\ndef total():" in told
    assert len(told) < 300


def test_every_edit_of_several_is_told() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    assert call({"file_path": "a.py", "edits": edits}) == "a.py :: - a\nc + b\nd"


def test_of_a_key_over_many_lines_only_the_first_is_told() -> None:
    key = "-----BEGIN " + "PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"
    assert change("", f"x = 1\nkey = '{key}'\nabc") == "a.py :: + x = 1"


def test_a_change_of_many_lines_is_told_in_a_few() -> None:
    assert len(change("", "\n".join(map(str, range(500_000))))) < 400
