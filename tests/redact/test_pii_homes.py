"""Home folders, in the forms that shells, agents and encodings write them."""

import pytest

from tests.redact.pii_texts import assert_kept, assert_redacted


def test_the_name_in_a_home_folder_is_redacted(subtests: pytest.Subtests) -> None:
    for marked in [
        "cd ~«home:jane»/src && ls ~«home:jane»",
        "C:\\Users\\«home:Jane Doe»\\src",
        "C:\\\\Users\\\\«home:Jane Doe»\\\\src",
        "file:///C:/Users/«home:Jane%20Doe»/src",
        "file:///Users/«home:jane»/a.py",
        "file%3A%2F%2F%2Fhome%2F«home:jane»%2Fa.py",
        "C%3A%5CUsers%5C«home:jane»%5Csrc",
        "/c/Users/«home:jane»/src /mnt/c/Users/«home:jane»/src /cygdrive/c/Users/«home:jane»",
        "\\\\wsl$\\Ubuntu\\home\\«home:jane»\\src",
        "//wsl.localhost/Ubuntu/home/«home:jane»/src",
        "\\\\nas\\C$\\Users\\«home:jane»\\src",
        "/var/home/«home:jane»/src /export/home/«home:jane»/src /home2/«home:jane»/src",
        "C:\\Documents and Settings\\«home:jane»\\src",
        "/run/media/«home:jane»/usb",
        "/var/mail/«home:jane»",
        "~/.claude/projects/-Users-«home:jane»-src-x/a.jsonl",
        "~/.claude/projects/C--Users-«home:jane»-src-x/a.jsonl",
        "-Users-«home:jane»-src-x\n-home-«home:jane»-src-y\nC--Users-«home:jane»-src-z",
        "-mnt-c-Users-«home:jane»-src-x",
        "--wsl-localhost-Ubuntu-home-«home:jane»-src",
        "~/.cursor/projects/Users-«home:jane»-src-x/a",
        "USERPROFILE=C:\\Users\\«home:jane»",
        "HOME=/home/«home:jane»\nPWD=/home/«home:jane»/src",
        "PS C:\\Users\\«home:jane»> dir",
        '{"cwd":"C:\\\\Users\\\\«home:jane»\\\\src"}',
        "vscode-remote://wsl%2Bubuntu/home/«home:jane»/src",
        "/Users/«home:jane»/Library/Application\\ Support",
        "/home/«home:jörg»/src",
        "\x1b[34m/home/«home:jane»/src\x1b[0m",
    ]:
        with subtests.test(marked=marked):
            assert_redacted(marked)


@pytest.mark.parametrize(
    "text",
    [
        "/home/user/x /home/ubuntu/x /Users/username/x /home/runner/work /home/node/app",
        "/home/vscode/x C:\\Users\\ContainerAdministrator\\x C:\\Users\\runneradmin\\x",
        "import '~bootstrap/scss/bootstrap'; a ~b; ~1.2.3 ~> 2.0 ~/src",
        "--home-dir x -home-page y --users-file z my-home-page-x user-home-button-a",
        "docs/Users-Guide.md src/components/-home-page.tsx",
        "/data/data/com.termux/files/home/src",
        "app/home/index and api/users/list, GET /users/123, https://shop.de/home/news",
        "/home/$USER/x C:\\Users\\%USERNAME%\\x /Users/<you>/x /home/{name}/x",
        "~/.claude/projects/-workspace-shop/a.jsonl",
    ],
)
def test_shared_folders_and_lookalikes_stay(text: str) -> None:
    assert_kept(text)
