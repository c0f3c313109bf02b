import pytest

from tests.builders import tool
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.extraction.structural.turn_features import project_paths

PATHS = project_paths("shop", "/home/dev/shop", "main")


@pytest.mark.parametrize(
    "path",
    [
        "src/cart.py",
        "./src/cart.py",
        "src/../src/cart.py",
        "/home/dev/shop/src/cart.py",
        "/home/dev/shop/src/cart.py:12:3",
        "file:///home/dev/shop/src/cart.py",
        "/home/dev/shop/.worktrees/fix-cart/src/cart.py",
        "/home/dev/shop/.claude/worktrees/fix-cart/src/cart.py",
        "/home/dev/shop-worktrees/feature/fix-cart/src/cart.py",
        "/Users/another/code/shop/src/cart.py",
    ],
)
def test_one_file_has_one_name_for_every_spelling_of_its_path(path: str) -> None:
    assert PATHS.file(path) == "src/cart.py"


@pytest.mark.parametrize(
    ("cwd", "branch"),
    [
        ("/home/dev/shop/.worktrees/fix-cart", "fix-cart"),
        ("/home/dev/shop/.worktrees/ann/fix-cart", "ann/fix-cart"),
        ("/home/dev/shop/.worktrees/ann/fix-cart", None),
        ("/home/dev/shop/src", "main"),
        ("/home/dev/shop", None),
    ],
)
def test_file_names_start_at_the_root_in_worktrees_and_subfolders(
    cwd: str, branch: str | None
) -> None:
    root = cwd.removesuffix("/src")
    assert project_paths("shop", cwd, branch).file(f"{root}/src/cart.py") == "src/cart.py"


def test_a_relative_path_starts_at_the_working_directory() -> None:
    assert project_paths("shop", "/home/dev/shop/src", "main").file("cart.py") == "src/cart.py"
    assert project_paths("shop", "/home/dev/shop/src", "main").file("../setup.cfg") == "setup.cfg"
    assert project_paths("shop", "/home/dev/shop/src", "main").file("src/cart.py") == "src/cart.py"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/dev/.claude/settings.json", "~/.claude/settings.json"),
        ("~/.zshrc", "~/.zshrc"),
        ("/Users/ann/notes/a/b/c/d/e.md", "~/…/c/d/e.md"),
    ],
)
def test_a_file_outside_the_project_is_named_from_home_without_the_user(
    path: str, name: str
) -> None:
    assert PATHS.file(path) == name


def test_generated_and_temporary_files_have_no_name(subtests: pytest.Subtests) -> None:
    for path in [
        "/tmp/out.txt",  # noqa: S108 - no file is written
        "/var/folders/zz/T/x.json",
        "/private/tmp/run/a.py",
        "node_modules/react/index.js",
        ".git/HEAD",
        "src/__pycache__/cart.cpython-311.pyc",
        "/home/dev/.claude/projects/shop/tool-results/b1.txt",
        "/home/dev/shop/3f2504e0-4f89-41d3-9a0c-0305e82c3301.json",
        "/home/dev/shop",
        "",
        "src/*.py",
        "https://example.org/a.py",
        "a\nb",
    ]:
        with subtests.test(path=path):
            assert PATHS.file(path) is None


async def test_the_same_file_in_three_turns_is_one_entity(shop: ShopGroup) -> None:
    await shop.ingest("a", tool_calls=(tool("Read", "/home/dev/shop/src/cart.py"),))
    await shop.ingest("b", tool_calls=(tool("Edit", "src/cart.py :: - x = 1 + x = 2"),))
    await shop.ingest(
        "c",
        cwd="/home/dev/shop/.worktrees/fix",
        tool_calls=(tool("Write", "/home/dev/shop/.worktrees/fix/src/cart.py"),),
    )
    assert shop.names("File") == ["src/cart.py"]
