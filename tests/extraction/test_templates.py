"""Templates by name: search order, built-in folder, unusable files."""

import logging
from pathlib import Path

import pytest

from turnetl.extraction.config import DEFAULT_TEMPLATE, ExtractionConfig
from turnetl.extraction.templates import (
    MAX_BYTES,
    TEMPLATES_FOLDER,
    TemplateResolver,
    built_in_folder,
    search_folders,
)


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """A project and a home, each with an empty template folder."""
    project, home = tmp_path / "project", tmp_path / "home"
    for root in (project, home):
        (root / TEMPLATES_FOLDER).mkdir(parents=True)
    return project, home


def test_the_default_template_exists_and_names_every_entity_type() -> None:
    prompt = ExtractionConfig().resolve_prompt(TemplateResolver([built_in_folder()]))
    assert prompt is not None
    for name in ("File", "Tool", "Error", "Decision", "Concept", "Package", "Command", "uuids"):
        assert name in prompt
    assert len(prompt) < 4000


def test_an_installed_package_has_its_templates_inside_regardless_of_its_neighbours(
    tmp_path: Path,
) -> None:
    package = tmp_path / "turnetl"
    (package / "_templates").mkdir(parents=True)
    (tmp_path / "templates").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert built_in_folder(package) == package / "_templates"


def test_a_checkout_has_its_templates_next_to_the_package(tmp_path: Path) -> None:
    (tmp_path / "turnetl").mkdir()
    (tmp_path / "templates").mkdir()
    assert built_in_folder(tmp_path / "turnetl") == tmp_path / "templates"


def prompt(templates: TemplateResolver) -> str | None:
    return ExtractionConfig().resolve_prompt(templates)


def test_the_project_wins_over_the_user_and_the_user_over_the_built_in(
    roots: tuple[Path, Path],
) -> None:
    project, home = roots
    templates = TemplateResolver(search_folders(project, home))
    built = prompt(templates)
    (home / TEMPLATES_FOLDER / DEFAULT_TEMPLATE).write_text("the user's")
    assert prompt(templates) == "the user's"
    (project / TEMPLATES_FOLDER / DEFAULT_TEMPLATE).write_text("the project's\n")
    assert prompt(templates) == "the project's"
    assert built not in (None, "the user's")


def test_a_similar_existing_name_is_suggested(
    roots: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for name in ("Default-Session-Turn.md", "default-sesion-turn.md"):
            assert TemplateResolver(search_folders(*roots)).load(name) is None
            assert f"a template `{DEFAULT_TEMPLATE}` exists" in caplog.text
            caplog.clear()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b" \n", "is empty"),
        (b"x" * (MAX_BYTES + 1), "bytes"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a\x00b", "not text"),
    ],
)
def test_an_unusable_template_is_a_warning(
    roots: tuple[Path, Path], caplog: pytest.LogCaptureFixture, data: bytes, message: str
) -> None:
    (roots[0] / TEMPLATES_FOLDER / "t.md").write_bytes(data)
    with caplog.at_level(logging.WARNING):
        assert TemplateResolver(search_folders(*roots)).load("t.md") is None
    assert message in caplog.text


@pytest.mark.parametrize("name", ["../t.md", "/etc/t.md", "a/t.md"])
def test_a_template_is_never_read_from_outside_its_folders(
    roots: tuple[Path, Path], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    (roots[0] / TEMPLATES_FOLDER.parent / "t.md").write_text("outside")
    with caplog.at_level(logging.WARNING):
        assert TemplateResolver(search_folders(*roots)).load(name) is None
    assert "without folders" in caplog.text
