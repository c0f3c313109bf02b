import pytest

from tests.builders import tool
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.extraction.structural.shell_commands import commands

KEY_ERROR = """\
tests/test_cart.py F                                     [100%]
Traceback (most recent call last):
  File "/home/dev/shop/tests/test_cart.py", line 12, in test_total
    total(cart)
KeyError: 'price'
"""


@pytest.mark.parametrize(
    ("shell", "name"),
    [
        ("pytest -q", "pytest"),
        ("cd web && CI=1 timeout 60 npx vitest run --silent 2>&1 | tail -5", "vitest run"),
        ("uv run pytest -q tests/test_cart.py > /tmp/out 2>&1", "pytest"),
        ("python3 -m pytest", "pytest"),
        ("go test ./... -run TestCart 2>&1 | head -20", "go test"),
        ("go test ./cmd/...", "go test"),
        ("git -C /home/dev/shop push origin main", "git push"),
        ("npm run build -- --watch", "npm run build"),
        ("docker compose up -d", "docker compose up"),
        ("sudo env A=1 make lint", "make lint"),
        ("gh pr create --title 'a; b' --body \"$(cat <<'EOF'\nls && rm\nEOF\n)\"", "gh pr create"),
    ],
)
def test_variants_of_a_command_share_a_name(shell: str, name: str) -> None:
    assert [command.name for command in commands(shell)] == [name]


@pytest.mark.parametrize(
    "shell",
    [
        "ls -la | grep src",
        "cat a.py",
        "sed -n 1,5p a.py; echo done; pwd",
        "for f in *.py; do wc -l $f; done",
        "while true; do test -f a && break; sleep 1; continue; done",
        "until grep -q ok log; do shift; done; select f in *; do local n=1; done",
        "pushd web; ulimit -n 9; umask 22; popd; wait; jobs; readonly A=1",
        "x=$(git rev-parse HEAD)",
        "/var/tmp/build/run-tests",  # noqa: S108 - no file is written
        "",
        "'",
    ],
)
def test_shell_utilities_are_not_commands(shell: str) -> None:
    assert commands(shell) == []


def test_a_command_in_a_loop_is_found_without_the_words_of_the_loop() -> None:
    shell = "for i in 1 2 3; do pytest -q tests/test_webhooks.py || break; done"
    assert [command.name for command in commands(shell)] == ["pytest"]


async def test_the_agents_own_tools_are_not_entities(shop: ShopGroup) -> None:
    names = ["Read", "Grep", "Glob", "TodoWrite", "Task", "Bash"]
    await shop.ingest(tool_calls=tuple(tool(name, "{}") for name in names))
    assert shop.names("Tool") == shop.names("Command") == []


async def test_a_failed_command_names_its_error_and_file(shop: ShopGroup) -> None:
    await shop.ingest(tool_calls=(tool("Bash", "pytest -q", KEY_ERROR, is_error=True),))
    assert shop.texts("FAILED_WITH") == [
        "`pytest -q` failed with `KeyError: 'price'` in `tests/test_cart.py`"
    ]
    assert shop.names("Error") == ["KeyError: 'price'"]
    assert "tests/test_cart.py" in shop.names("File")


async def test_a_test_run_before_a_pipe_fails_even_if_the_call_succeeds(shop: ShopGroup) -> None:
    await shop.ingest(
        tool_calls=(tool("Bash", "go test ./... | tail", "--- FAIL: TestCart (0.1s)"),)
    )
    assert shop.texts("FAILED_WITH") == ["`go test ./...` failed in `TestCart`"]
    assert shop.names("Test") == ["TestCart"]
