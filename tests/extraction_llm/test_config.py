"""How extraction is steered: the config's four ways to say it, and where templates are found."""

import json
import logging
from pathlib import Path

import pytest
from pydantic import ValidationError

from turnetl.extraction.config import DEFAULT_TEMPLATE, ExtractionConfig
from turnetl.extraction.templates import LARGEST, PLACE, TemplateResolver, built_in, folders

INLINE = (
    "Focus on extracting: 1) Error patterns 2) File modifications 3) Tool usage sequences. "
    "Ignore verbose output."
)


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A project and a home, each with an empty folder of templates."""
    project, home = tmp_path / "project", tmp_path / "home"
    for place in (project, home):
        (place / PLACE).mkdir(parents=True)
    return project, home


def config(text: str) -> ExtractionConfig:
    return ExtractionConfig.model_validate(json.loads(text)["extraction"])


@pytest.mark.parametrize(
    ("text", "enabled"),
    [
        (
            '{"extraction": {"preprocessing_prompt": "default-session-turn.md"}}',
            True,
        ),
        ('{"extraction": {"preprocessing_prompt": null}}', False),
        ('{"extraction": {"preprocessing_prompt": false}}', False),
        (
            '{"extraction": {"preprocessing_prompt": "own.md", "preprocessing_mode": "append"}}',
            True,
        ),
        (json.dumps({"extraction": {"preprocessing_prompt": INLINE}}), True),
    ],
)
def test_a_config_says_whether_there_is_preprocessing(text: str, enabled: bool) -> None:
    assert config(text).is_enabled() is enabled


def test_no_config_is_the_default_template_before_the_hints() -> None:
    default = ExtractionConfig()
    assert default.preprocessing_prompt == DEFAULT_TEMPLATE
    assert default.preprocessing_mode == "prepend"


def test_the_default_template_is_there_and_says_what_matters() -> None:
    told = ExtractionConfig().resolve_prompt(TemplateResolver([built_in()]))
    assert told is not None
    for word in ("File", "Tool", "Error", "Decision", "Concept", "Package", "Command", "uuids"):
        assert word in told
    assert len(told) < 4000


def test_an_installed_package_has_its_templates_inside_whatever_stands_beside_it(
    tmp_path: Path,
) -> None:
    package = tmp_path / "turnetl"
    (package / "_templates").mkdir(parents=True)
    (tmp_path / "templates").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert built_in(package) == package / "_templates"


def test_a_checkout_has_its_templates_beside_the_package(tmp_path: Path) -> None:
    (tmp_path / "turnetl").mkdir()
    (tmp_path / "templates").mkdir()
    assert built_in(tmp_path / "turnetl") == tmp_path / "templates"


def test_none_and_false_give_no_instructions(places: tuple[Path, Path]) -> None:
    templates = TemplateResolver(folders(*places))
    for nothing in (None, False):
        assert ExtractionConfig(preprocessing_prompt=nothing).resolve_prompt(templates) is None


def test_true_names_no_template(places: tuple[Path, Path]) -> None:
    templates = TemplateResolver(folders(*places))
    assert ExtractionConfig(preprocessing_prompt=True).resolve_prompt(templates) is None


def test_any_other_string_is_the_instructions(places: tuple[Path, Path]) -> None:
    templates = TemplateResolver(folders(*places))
    assert ExtractionConfig(preprocessing_prompt=INLINE).resolve_prompt(templates) == INLINE


def test_the_project_wins_over_the_person_and_the_person_over_the_built_in(
    places: tuple[Path, Path],
) -> None:
    project, home = places
    templates = TemplateResolver(folders(project, home))
    built = templates.load(DEFAULT_TEMPLATE)
    (home / PLACE / DEFAULT_TEMPLATE).write_text("the person's")
    assert templates.load(DEFAULT_TEMPLATE) == "the person's"
    (project / PLACE / DEFAULT_TEMPLATE).write_text("the project's\n")
    assert templates.load(DEFAULT_TEMPLATE) == "the project's"
    assert built not in (None, "the person's")


def test_a_template_that_is_not_there_is_a_warning_and_no_preprocessing(
    places: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    asked = ExtractionConfig(preprocessing_prompt="my-custom-extraction.md")
    with caplog.at_level(logging.WARNING):
        assert asked.resolve_prompt(TemplateResolver(folders(*places))) is None
    assert "my-custom-extraction.md" in caplog.text
    assert "no preprocessing" in caplog.text


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b" \n", "is empty"),
        (b"x" * (LARGEST + 1), "bytes"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a\x00b", "not text"),
    ],
)
def test_a_template_that_cannot_be_used_is_a_warning(
    places: tuple[Path, Path], caplog: pytest.LogCaptureFixture, data: bytes, says: str
) -> None:
    (places[0] / PLACE / "t.md").write_bytes(data)
    with caplog.at_level(logging.WARNING):
        assert TemplateResolver(folders(*places)).load("t.md") is None
    assert says in caplog.text


@pytest.mark.parametrize("name", ["../t.md", "/etc/t.md", "a/t.md"])
def test_a_template_is_never_looked_for_outside_its_folders(
    places: tuple[Path, Path], name: str
) -> None:
    (places[0] / PLACE.parent / "t.md").write_text("outside")
    assert TemplateResolver(folders(*places)).load(name) is None


def test_a_name_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValidationError):
        ExtractionConfig.model_validate({"preprocessing_promt": "x"})
    with pytest.raises(ValidationError):
        ExtractionConfig.model_validate({"preprocessing_mode": "around"})


@pytest.mark.parametrize(
    ("mode", "expected"), [("prepend", "told\n\nhints"), ("append", "hints\n\ntold")]
)
def test_the_mode_is_the_place_relative_to_hints(mode: str, expected: str) -> None:
    asked = ExtractionConfig.model_validate({"preprocessing_mode": mode})
    assert asked.join("told", "hints") == expected
    assert asked.join(None, "hints") == "hints"
