"""The templates of a comparison: by name, by path, or none."""

from pathlib import Path

import pytest

from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.extraction.catalog import given_template
from turnetl.extraction.config import ExtractionConfig, GroupConfig
from turnetl.extraction.templates import TemplateResolver, TemplateUnusable


@pytest.fixture
def templates(tmp_path: Path) -> TemplateResolver:
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "turns.md").write_text("Read the turn.")
    return TemplateResolver([folder])


def test_a_name_is_that_of_a_template_before_that_of_a_file(
    templates: TemplateResolver, tmp_path: Path
) -> None:
    (tmp_path / "turns.md").write_text("Another text.")
    (tmp_path / "own.md").write_text("My own.")
    assert given_template("turns.md", templates, tmp_path).prompt == "Read the turn."
    assert given_template("./turns.md", templates, tmp_path).prompt == "Another text."
    assert given_template("own.md", templates, tmp_path).path == tmp_path / "own.md"


@pytest.mark.parametrize("text", ["none", " NONE ", "off", "null", "false"])
def test_none_is_no_template(text: str, templates: TemplateResolver, tmp_path: Path) -> None:
    found = given_template(text, templates, tmp_path)
    assert (found.name, found.path, found.prompt, found.noise_patterns) == ("none", None, "", ())


def test_a_file_may_have_any_suffix_and_be_a_link(
    templates: TemplateResolver, tmp_path: Path
) -> None:
    (tmp_path / "own.txt").write_bytes(b"\xef\xbb\xbfMy own.\r\n")
    (tmp_path / "link").symlink_to(tmp_path / "own.txt")
    for name in ("./own.txt", str(tmp_path / "own.txt"), "./link"):
        found = given_template(name, templates, tmp_path)
        assert found.prompt == "My own."
        prompts = found.prompts(ExtractionConfig())
        assert prompts.for_turn(GroupId("shop")).instructions == "My own."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has a name or a path"),
        ("nowhere.md", "no template `nowhere.md` in .*; nor is there such a file in"),
        ("turn.md", "a template `turns.md` exists"),
        ("./nowhere.md", "nowhere.md` cannot be read"),
        ("./templates/", "is not a file"),
        ("./empty.md", "is empty"),
        ("./binary.md", "is not UTF-8 text"),
        ("./huge.md", "more than 65,536"),
        ("a\0b", "no template"),
    ],
)
def test_what_is_no_template_is_refused(
    text: str, message: str, templates: TemplateResolver, tmp_path: Path
) -> None:
    (tmp_path / "empty.md").write_text("\n")
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe")
    (tmp_path / "huge.md").write_text("a" * 70_000)
    with pytest.raises(TemplateUnusable, match=message):
        given_template(text, templates, tmp_path)


def test_invalid_front_matter_is_refused_with_the_file(
    templates: TemplateResolver, tmp_path: Path
) -> None:
    (tmp_path / "bad.md").write_text("---\nnoise_patterns: ['(']\n---\nRead.")
    with pytest.raises(BadUsage, match=r"bad\.md"):
        given_template("./bad.md", templates, tmp_path)


def test_it_replaces_the_templates_of_every_group_and_kind_and_nothing_else(
    templates: TemplateResolver, tmp_path: Path
) -> None:
    config = ExtractionConfig(
        kinds={"error_heavy": "Look for errors."},
        groups={"shop": GroupConfig(preprocessing_prompt="Look for decisions.", reflexion=2)},
    )
    given = given_template("turns.md", templates, tmp_path)
    for group, reflexion in (("shop", 2), ("other", 0)):
        for kind in ("", "error_heavy"):
            prompt = given.prompts(config).for_turn(GroupId(group), kind)
            assert (prompt.instructions, prompt.reflexion) == ("Read the turn.", reflexion)
    none = given_template("none", templates, tmp_path).prompts(config)
    assert none.for_turn(GroupId("shop"), "error_heavy").instructions is None
