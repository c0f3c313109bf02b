"""The group of an archive: by its project, a name, a template or a group map."""

# ruff: noqa: S108 - working directorys in archives; none is opened

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import real_archives
from tests.fakes.redactors import NoRedactor
from turnetl import formats, parsing
from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.base.projects import project, user
from turnetl.lake import Lake
from turnetl.parsing.grouping import Grouping, find_name_collisions, load_grouping

EXAMPLE = Path(__file__).parents[2] / "data" / "groups.toml"
ARCHIVE = "/backup/s1.jsonl"

PROJECTS = {
    "/home/dev/shop": "shop",
    "/home/dev/shop/": "shop",
    "/home/dev//shop/.": "shop",
    "/home/dev/blog/../shop": "shop",
    "~/shop": "shop",
    "shop": "shop",
    "C:\\Users\\dev\\shop": "shop",
    "c:/Users/dev/shop/": "shop",
    "D:\\shop": "shop",
    "\\\\?\\C:\\work\\shop": "shop",
    "\\\\server\\share\\shop": "shop",
    "\\\\wsl.localhost\\Ubuntu\\home\\dev\\shop": "shop",
    "/mnt/c/Users/dev/shop": "shop",
    "/workspaces/shop": "shop",
    "/Users/[REDACTED]/shop": "shop",
    "[REDACTED]/shop": "shop",
    "/home/dev/shop/.git": "shop",
    "/home/dev/shop.git": "shop",
    "/home/dev/shop/packages/api": "api",
    "/home/dev/shop-fix": "shop-fix",
}
WORKTREES = {
    "/home/dev/shop/.worktrees/fix/cart": "shop",
    "/home/dev/shop/.claude/worktrees/fix": "shop",
    "/home/dev/shop/.git/worktrees/fix": "shop",
    "C:\\work\\shop\\.claude-worktrees\\fix": "shop",
    "/app/.worktrees/fix": "app",
    "/home/dev/shop.worktrees/fix": "shop",
    "/home/dev/shop/.conductor/oslo": "shop",
    "/Users/dev/conductor/workspaces/shop/oslo/src": "shop",
    "/Users/dev/.codex/worktrees/44be/shop": "shop",
    "/Users/dev/.codex/worktrees/44be/shop/src": "shop",
    "/Users/dev/.cursor/worktrees/shop/hvm": "shop",
    "/Users/dev/.claude-worktrees/shop/calm-hill": "shop",
    "/home/dev/.config/superpowers/worktrees/shop/fix": "shop",
    "/var/tmp/vibe-kanban/worktrees/ab58-fix/shop": "shop",
    "/home/dev/.superset/worktrees/0d5f7d3e-1c11-4a55-9f0d-0123456789ab/shop/x": "shop",
}
WITHOUT_PROJECT = {
    None: "no_project",
    "": "no_project",
    " ": "no_project",
    ".": "no_project",
    "[cut out]": "no_project",
    "/": "no_project",
    "C:\\": "no_project",
    "/mnt/c": "no_project",
    "~": "home",
    "/root": "home",
    "/home/dev": "home",
    "/Users/dev/": "home",
    "/Users/[REDACTED]": "home",
    "C:\\Users\\dev": "home",
    "/mnt/c/Users/dev": "home",
    "/tmp": "tmp",
    "/private/tmp": "tmp",
    "/tmp/tmpk3x_9a2b": "tmp",
    "/tmp/tmp.Xq81kzPLmn": "tmp",
    "/private/var/folders/ab/cd01/T/0f9a8b7c6d5e": "tmp",
    "C:\\Users\\dev\\AppData\\Local\\Temp\\tmp12ab34cd": "tmp",
    "/tmp/shop": "shop",
    "/tmp/tmpk3x_9a2b/shop": "shop",
}


def test_a_project_is_named_after_its_folder_on_every_system(subtests: pytest.Subtests) -> None:
    for cwd, name in PROJECTS.items():
        with subtests.test(cwd=cwd):
            assert project(cwd) == name


def test_a_worktree_belongs_to_its_repository(subtests: pytest.Subtests) -> None:
    for cwd, name in WORKTREES.items():
        with subtests.test(cwd=cwd):
            assert project(cwd) == name


def test_no_project_has_the_name_of_a_user_or_a_random_name(subtests: pytest.Subtests) -> None:
    for cwd, name in WITHOUT_PROJECT.items():
        with subtests.test(cwd=cwd):
            assert project(cwd) == name


def test_a_redacted_user_name_in_the_path_changes_no_group() -> None:
    grouping = Grouping("{user}_{project}", user="dev")
    path, redacted = "/Users/dev/work/shop", "/Users/[REDACTED]/work/shop"
    groups = {grouping.group(cwd, "codex", ARCHIVE) for cwd in (path, redacted)}
    assert groups == {"dev_shop"}


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/ann/shop", "ann"),
        ("/Users/ann", "ann"),
        ("C:\\Users\\ann\\shop", "ann"),
        ("/mnt/c/Users/ann/shop", "ann"),
        ("/var/home/ann/shop", "ann"),
        ("/root/shop", "root"),
        ("/srv/shop", None),
        ("~/shop", None),
        (None, None),
    ],
)
def test_the_home_folder_names_the_user(cwd: str | None, name: str | None) -> None:
    assert user(cwd) == name


@given(
    st.one_of(st.none(), st.text(), st.from_regex(r"([/\\](\.worktrees|\.\.|~|home|tmp|c:|x))*"))
)
def test_the_group_of_every_folder_is_one_token(cwd: str | None) -> None:
    assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", Grouping().group(cwd, "codex", ARCHIVE))
    find_name_collisions(archives_in(cwd))


def test_a_group_is_never_longer_than_a_file_name() -> None:
    one, other = (Grouping().group(f"/srv/{'a' * 300}{end}", "codex", ARCHIVE) for end in "xy")
    assert len(one) == len(other) < 130
    assert one != other


def test_projects_in_another_script_stay_different_in_a_template() -> None:
    grouping = load_grouping("{user}_{project}", None, user="ann", host="desk")
    names = {grouping.group(f"/srv/{name}", "codex", ARCHIVE) for name in ("лавка", "книги")}
    assert len(names) == 2


@pytest.mark.parametrize(
    ("template", "group"),
    [
        ("Web Shop", "web_shop"),
        ("{user}_{project}", "ann_shop"),
        ("{format}-{project}", "codex_shop"),
        ("{host}/{user}", "desk_7_ann"),
        ("all {{of}} it", "all_of_it"),
    ],
)
def test_a_name_or_a_template_decides_the_group(template: str, group: str) -> None:
    grouping = load_grouping(template, None, user="me", host="desk-7")
    assert grouping.group("/home/ann/shop", "codex", ARCHIVE) == group
    assert grouping.template == template


def test_the_current_user_is_used_if_no_folder_names_one() -> None:
    grouping = load_grouping("{user}_{project}", None, user="me", host="desk")
    assert grouping.group("/srv/shop", "codex", ARCHIVE) == "me_shop"
    assert grouping.group(None, "sharegpt", ARCHIVE) == "me_no_project"


def test_an_invalid_template_is_rejected(subtests: pytest.Subtests) -> None:
    for template, message in [
        (
            "{projekt}",
            "`{projekt}` is not a placeholder; the placeholders are {project}, {format}, {user}",
        ),
        ("{}", "`{}` is not a placeholder"),
        ("{0}", "`{0}` is not a placeholder"),
        ("{project!r}", "is not a placeholder"),
        ("{project:>9}", "is not a placeholder"),
        ("{project.__class__}", "is not a placeholder"),
        ("{project", "has an unmatched brace"),
        ("project}", "has an unmatched brace"),
        ("", "has no name"),
        ("  ", "has no name"),
        ("-_-", "has no name"),
        ("{{}}", "has no name"),
    ]:
        with (
            subtests.test(template=template),
            pytest.raises(BadUsage, match=re.escape(message)),
        ):
            load_grouping(template, None, user="me", host="desk")


def mapped(folder: Path, text: str, template: str | None = None) -> Grouping:
    path = folder / "groups.toml"
    path.write_text(text)
    return load_grouping(template, path, user="me", host="desk")


def entry(name: str, **patterns: str) -> str:
    lists = "\n".join(f"{key} = ['{pattern}']" for key, pattern in patterns.items())
    return f"[[group]]\nname = '{name}'\n{lists}\n"


def test_the_first_matching_entry_wins_and_others_get_the_default(tmp_path: Path) -> None:
    grouping = mapped(
        tmp_path, entry("first", folders="~/work/*") + entry("second", folders="~/work/b")
    )
    assert grouping.group("/home/ann/work/b", "codex", ARCHIVE) == "first"
    assert grouping.group("/home/ann/play/b", "codex", ARCHIVE) == "b"


def test_all_conditions_of_an_entry_must_hold(tmp_path: Path) -> None:
    grouping = mapped(
        tmp_path, entry("old", folders="/srv", archives="/backup", formats="claude_code")
    )
    assert grouping.group("/srv/shop", "claude_code", "/backup/a.jsonl") == "old"
    assert grouping.group("/srv/shop", "claude_web", "/backup/a.jsonl") == "shop"
    assert grouping.group("/srv/shop", "claude_code", "/desk/a.jsonl") == "shop"
    assert grouping.group("/opt/shop", "claude_code", "/backup/a.jsonl") == "shop"
    assert grouping.group(None, "claude_code", "/backup/a.jsonl") == "no_project"


@pytest.mark.parametrize(
    ("pattern", "cwd", "matches"),
    [
        ("~/work/shop*", "/home/ann/work/shop-fix", True),
        ("~/work/shop*", "C:\\Users\\Ann\\Work\\Shop", True),
        ("~/work/shop*", "/srv/work/shop", False),
        ("~/work/shop", "/home/ann/work/shop/packages/api", True),
        ("~/work/shop", "/home/ann/work/shop-fix", False),
        ("/srv/*/shop", "/srv/a/shop", True),
        ("/srv/*/shop", "/srv/a/b/shop", False),
        ("/srv/**/shop-*", "/srv/shop-1", True),
        ("/srv/**/shop-*", "/srv/a/b/shop-1/src", True),
        ("/srv/**", "/srv", True),
        ("**", "/anything", True),
        ("shop", "/srv/shop", True),
        ("acme/api", "/srv/acme/api", True),
        ("acme/api", "/srv/acme-api", False),
        ("sho?", "/srv/shop", True),
        ("C:\\work\\shop", "/mnt/c/work/shop", True),
        ("/srv/a+b[1]", "/srv/a+b[1]", True),
        ("/srv/a.b", "/srv/axb", False),
    ],
)
def test_a_pattern_matches_a_folder_and_everything_below_it(
    pattern: str, cwd: str, matches: bool, tmp_path: Path
) -> None:
    grouping = mapped(tmp_path, entry("mapped", folders=pattern))
    assert (grouping.group(cwd, "codex", ARCHIVE) == "mapped") is matches


def test_an_entry_may_name_a_template(tmp_path: Path) -> None:
    grouping = mapped(tmp_path, entry("{user}_{project}", archives="old-laptop/*.jsonl"))
    assert grouping.group("/home/ann/shop", "codex", "/mnt/old-laptop/a.jsonl") == "ann_shop"


def test_a_fixed_name_precedes_the_map_and_the_map_precedes_a_template(tmp_path: Path) -> None:
    text = entry("mapped", folders="/srv/shop")
    fixed, template = mapped(tmp_path, text, "fixed"), mapped(tmp_path, text, "my {project}")
    assert fixed.group("/srv/shop", "codex", ARCHIVE) == "fixed"
    assert template.group("/srv/shop", "codex", ARCHIVE) == "mapped"
    assert template.group("/srv/blog", "codex", ARCHIVE) == "my_blog"


def test_an_explicit_group_differs_from_a_default_one(tmp_path: Path) -> None:
    grouping = mapped(tmp_path, entry("mapped", folders="/srv/shop"))
    assert grouping.explicit_group("/srv/shop", "codex", ARCHIVE) == "mapped"
    assert grouping.explicit_group("/srv/blog", "codex", ARCHIVE) is None
    assert Grouping("all").explicit_group("/srv/blog", "codex", ARCHIVE) == "all"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[group]\n", "is not valid TOML"),
        ("group = 3\n", "entries start with [[group]]"),
        ("[[groups]]\nname = 'a'\n", "groups"),
        ("[[group]]\nfolders = ['a']\n", "entry 1: Object missing required field `name`"),
        (entry("a", folders="x") + "[[group]]\nname = 'b'\nfolder = ['x']\n", "entry 2: "),
        ("[[group]]\nname = 'a'\nfolders = 'x'\n", "entry 1: Expected `array`"),
        ("[[group]]\nname = 'a'\n", "entry 1 (`a`) matches every archive"),
        (entry("a", formats="codecs"), "`codecs` is not a format; the formats are claude_code"),
        (entry("{who}", folders="x"), "entry 1 (`{who}`): `{who}` is not a placeholder"),
        (entry("a", folders=" "), "a pattern is empty"),
    ],
)
def test_an_invalid_map_is_rejected_with_file_and_entry(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadUsage, match=re.escape(message)) as raised:
        mapped(tmp_path, text)
    assert "groups.toml" in str(raised.value)


def test_a_map_that_cannot_be_read_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match=r"nowhere\.toml` cannot be read"):
        load_grouping(None, tmp_path / "nowhere.toml", user="me", host="desk")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadUsage, match="is not valid TOML"):
        load_grouping(None, tmp_path / "bytes.toml", user="me", host="desk")


def test_the_example_map_does_what_its_comments_describe() -> None:
    grouping = load_grouping(None, EXAMPLE, user="me", host="desk")
    assert grouping.group("/home/ann/work/shop/packages/api", "claude_code", ARCHIVE) == "shop"
    assert grouping.group("/Users/ann/work/shop-fix", "claude_code", ARCHIVE) == "shop"
    assert grouping.group("/srv/checkouts/acme/api/src", "claude_code", ARCHIVE) == "acme_api"
    assert grouping.group("/srv/api", "claude_code", ARCHIVE) == "api"
    assert grouping.group("/home/ann/blog", "claude_code", "/mnt/old-laptop/x.jsonl") == "ann_blog"
    assert grouping.group(None, "claude_web", "/home/ann/exports/2026/chat.json") == "chats"


def archives_in(
    *folders: str | None,
    grouping: Grouping = Grouping(),  # noqa: B008 - a frozen value
) -> list[tuple[str | None, GroupId]]:
    """Return folder and group of archives that the user did not group intentionally."""
    return [
        (folder, grouping.group(folder, "codex", ARCHIVE))
        for folder in folders
        if not grouping.is_intentional(folder, "codex", ARCHIVE)
    ]


def test_folders_in_one_group_because_of_their_names_are_reported() -> None:
    collisions = find_name_collisions(
        archives_in("/a/api", "/b/api", "/b/api/", "/srv/a-b", "/srv/a_b", "/srv/c", None)
    )
    assert [(collision.group, collision.folders) for collision in collisions] == [
        ("a_b", ("/srv/a-b", "/srv/a_b")),
        ("api", ("/a/api", "/b/api")),
    ]
    assert collisions[1].message == (
        "group `api` joins 2 folders: `/a/api`, `/b/api`; "
        "if they are not one project, separate them with --group-map."
    )


def test_one_project_in_several_places_is_not_reported() -> None:
    worktrees = "/home/dev/shop/.worktrees/x", "/home/dev/.codex/worktrees/44be/shop"
    elsewhere = "/Users/ann/shop", "C:\\Users\\Ann\\Shop", "/home/dev/shop"
    assert find_name_collisions(archives_in(*worktrees, *elsewhere)) == ()
    assert (
        find_name_collisions(archives_in("/home/a", "/home/b", "/tmp", "/tmp/tmp12345678", None))
        == ()
    )


def test_folders_joined_intentionally_are_not_reported(tmp_path: Path) -> None:
    def collisions(grouping: Grouping) -> int:
        return len(find_name_collisions(archives_in("/a/api", "/b/api", grouping=grouping)))

    assert collisions(Grouping("all")) == 0
    assert collisions(mapped(tmp_path, entry("api", folders="/a/api"))) == 0
    assert collisions(Grouping("my_{project}")) == 1


def test_a_group_that_the_map_named_stays_in_a_run_without_the_map(tmp_path: Path) -> None:
    archive, lake = tmp_path / "a.jsonl", Lake(tmp_path / "lake")
    message = {"role": "user", "content": "Mend the cart."}
    row = {"type": "user", "uuid": "p0", "sessionId": "s", "cwd": "/srv/shop", "message": message}
    archive.write_text(json.dumps(row) + "\n")
    grouping = mapped(tmp_path, entry("mapped", folders="/srv/shop"))

    def groups(grouping: Grouping) -> tuple[str, ...]:
        return parsing.parse_archives(
            [archive], lake, redactor=NoRedactor(), grouping=grouping
        ).groups

    assert groups(grouping) == groups(Grouping()) == ("mapped",)
    assert groups(Grouping("{format}")) == groups(Grouping()) == ("claude_code",)
    assert lake.groups() == ["claude_code"]


@pytest.mark.archives
@real_archives.needs_archives
def test_real_archives_belong_to_the_groups_of_their_repositories() -> None:
    groups = set()
    for path in sorted(real_archives.ARCHIVES.glob("entireio__cli/**/*.jsonl")):
        data = path.read_bytes()
        known = formats.sniff(data)
        if known is not None and known.name == "claude_code":
            groups.add(Grouping().group(known.read(data).cwd, known.name, str(path)))
    assert groups <= {"cli", "improve_status_cmd_output", "home"}
    assert "cli" in groups


def test_names_that_differ_in_another_script_are_different_groups() -> None:
    first, second = ids.group_id("магазин-2"), ids.group_id("книги-2")
    assert first != second
    assert first.startswith("2_")
    assert ids.group_id("café") == "cafe"
