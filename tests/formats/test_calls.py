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
