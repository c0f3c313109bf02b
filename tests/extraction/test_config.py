"""The `extraction` section of a config: its four kinds of prompt setting, overrides, errors."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from turnetl import settings
from turnetl.base.errors import BadUsage
from turnetl.extraction.config import DEFAULT_TEMPLATE, ExtractionConfig, join_prompt
from turnetl.extraction.templates import TEMPLATES_FOLDER, TemplateResolver, search_folders

INLINE = (
    "Focus on extracting: 1) Error patterns 2) File modifications 3) Tool usage sequences. "
    "Ignore verbose output."
)


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """A project and a home, each with an empty template folder."""
    project, home = tmp_path / "project", tmp_path / "home"
    for root in (project, home):
        (root / TEMPLATES_FOLDER).mkdir(parents=True)
    return project, home


LONG_INSTRUCTIONS = f"{'Look at every file and say what it is for. ' * 9}Above all README.md"
DEFAULT = """{"extraction": {
    "preprocessing_prompt": "default-session-turn.md", "preprocessing_mode": "prepend"}}"""
DISABLED = '{"extraction": {"preprocessing_prompt": null}}'
CUSTOM = """{"extraction": {
    "preprocessing_prompt": "my-custom-extraction.md", "preprocessing_mode": "prepend"}}"""
INLINE_CONFIG = json.dumps(
    {"extraction": {"preprocessing_prompt": INLINE, "preprocessing_mode": "prepend"}}
)


def config(text: str) -> ExtractionConfig:
    return ExtractionConfig.model_validate(json.loads(text)["extraction"])


@pytest.fixture
def read_from(tmp_path: Path) -> Callable[[str], ExtractionConfig]:
    """Return a function that reads the settings from a config file with the given text."""
    path = tmp_path / "graphiti.config.json"

    def read(text: str) -> ExtractionConfig:
        path.write_text(text)
        loaded = settings.read_settings({}, config=path, home=tmp_path, arguments={})
        return loaded.settings.extraction

    return read


@pytest.mark.parametrize(
    ("text", "enabled", "prompt"),
    [
        (DEFAULT, True, DEFAULT_TEMPLATE),
        (DISABLED, False, None),
        ('{"extraction": {"preprocessing_prompt": false}}', False, False),
        (CUSTOM, True, "my-custom-extraction.md"),
        (INLINE_CONFIG, True, INLINE),
    ],
)
def test_a_config_file_enables_preprocessing_and_sets_its_prompt(
    text: str,
    enabled: bool,
    prompt: str | None,
    read_from: Callable[[str], ExtractionConfig],
) -> None:
    parsed = read_from(text)
    assert parsed == config(text)
    assert parsed.is_enabled() is enabled
    assert parsed.preprocessing_prompt == prompt
    assert parsed.preprocessing_mode == "prepend"


def test_each_kind_of_setting_resolves_to_its_instructions(
    read_from: Callable[[str], ExtractionConfig], roots: tuple[Path, Path]
) -> None:
    project, home = roots
    (home / TEMPLATES_FOLDER / "my-custom-extraction.md").write_text("Look for reviews.\n")
    templates = TemplateResolver(search_folders(project, home))
    prompts = [
        read_from(text).resolve_prompt(templates) for text in (DISABLED, CUSTOM, INLINE_CONFIG)
    ]
    assert prompts == [None, "Look for reviews.", INLINE]
    assert read_from(DEFAULT).resolve_prompt(templates) == templates.read(DEFAULT_TEMPLATE).prompt


def test_a_config_file_without_the_section_is_the_default(
    read_from: Callable[[str], ExtractionConfig],
) -> None:
    assert read_from("{}") == ExtractionConfig() == config(DEFAULT)


def test_no_config_is_the_default_template_before_the_hints() -> None:
    default = ExtractionConfig()
    assert default.preprocessing_prompt == DEFAULT_TEMPLATE
    assert default.preprocessing_mode == "prepend"


def test_none_and_false_mean_no_instructions(roots: tuple[Path, Path]) -> None:
    templates = TemplateResolver(search_folders(*roots))
    for disabled in (None, False):
        assert ExtractionConfig(preprocessing_prompt=disabled).resolve_prompt(templates) is None


def test_true_is_preprocessing_without_instructions(roots: tuple[Path, Path]) -> None:
    templates = TemplateResolver(search_folders(*roots))
    parsed = config('{"extraction": {"preprocessing_prompt": true}}')
    assert parsed.is_enabled()
    assert parsed.resolve_prompt(templates) is None


def test_any_other_string_is_the_instructions(roots: tuple[Path, Path]) -> None:
    templates = TemplateResolver(search_folders(*roots))
    assert ExtractionConfig(preprocessing_prompt=INLINE).resolve_prompt(templates) == INLINE


def test_a_missing_template_is_a_warning_and_disables_preprocessing(
    roots: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    config = ExtractionConfig(preprocessing_prompt="my-custom-extraction.md")
    with caplog.at_level(logging.WARNING):
        assert config.resolve_prompt(TemplateResolver(search_folders(*roots))) is None
    assert "my-custom-extraction.md" in caplog.text
    assert "no preprocessing" in caplog.text


def test_instructions_that_end_in_md_are_a_warning_that_says_so(
    roots: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    config = ExtractionConfig(preprocessing_prompt=LONG_INSTRUCTIONS)
    with caplog.at_level(logging.WARNING):
        assert config.resolve_prompt(TemplateResolver(search_folders(*roots))) is None
    assert "instructions that end in `.md` are read as a template's name" in caplog.text
    assert LONG_INSTRUCTIONS not in caplog.text


@pytest.mark.parametrize(
    ("section", "fragments"),
    [
        ({"preprocessing_promt": "x"}, ["`extraction.preprocessing_promt`", "preprocessing_mode"]),
        ({"groups": {"shop": {"prompt": "x"}}}, ["`extraction.groups.shop.prompt`", "known are"]),
        ({"groups": {"My Shop": {}}}, ["`My Shop`", "`my_shop`"]),
        ({"kinds": {"eror_heavy": "x"}}, ["`eror_heavy` is not a kind of turn", "error_heavy,"]),
        ({"kinds": {"error_heavy": 7}}, ["extraction.kinds.error_heavy", "name of a template"]),
        ({"preprocessing_prompt": ["x.md"]}, ["name of a template (`name.md`)"]),
        ({"preprocessing_mode": "around"}, ["`prepend`", "`append`"]),
        ({"reflexion": 4}, ["extraction.reflexion", "3"]),
        ({"reflexion": True}, ["a number from 0 to 3"]),
        ({"groups": {"shop": {"reflexion": -1}}}, ["extraction.groups.shop.reflexion", "0"]),
        ({"ontology": 7}, ["extraction.ontology"]),
    ],
)
def test_an_invalid_config_is_rejected_with_one_sentence(
    section: dict[str, object], fragments: list[str], read_from: Callable[[str], ExtractionConfig]
) -> None:
    with pytest.raises(BadUsage) as raised:
        read_from(json.dumps({"extraction": section}))
    message = str(raised.value)
    missing = [part for part in ("graphiti.config.json", *fragments) if part not in message]
    assert missing == []
    assert "\n" not in str(raised.value)


def test_an_error_in_the_environment_does_not_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "graphiti.config.json"
    path.write_text('{"extraction": {"reflexion": 9, "preprocessing_mode": "append"}}')
    with pytest.raises(BadUsage, match="reflexion") as raised:
        settings.read_settings(
            {"TURNETL_EXTRACTION__REFLEXION": "8"}, config=path, home=tmp_path, arguments={}
        )
    assert str(path) not in str(raised.value)


OVERRIDES = ExtractionConfig.model_validate(
    {
        "preprocessing_prompt": "all.md",
        "reflexion": 1,
        "kinds": {"error_heavy": "errors.md", "code_heavy": None},
        "groups": {
            "shop": {"preprocessing_prompt": "shop.md", "kinds": {"error_heavy": "shop-errors.md"}},
            "quiet": {"preprocessing_prompt": None, "reflexion": 0, "preprocessing_mode": "append"},
            "same": {"reflexion": 3},
        },
    }
)


@pytest.mark.parametrize(
    ("group", "kind", "prompt"),
    [
        ("other", "ordinary", "all.md"),
        ("other", "", "all.md"),
        ("other", "error_heavy", "errors.md"),
        ("other", "code_heavy", None),
        ("shop", "ordinary", "shop.md"),
        ("shop", "code_heavy", "shop.md"),
        ("shop", "error_heavy", "shop-errors.md"),
        ("quiet", "error_heavy", None),
        ("same", "error_heavy", "errors.md"),
        ("same", "ordinary", "all.md"),
    ],
)
def test_a_kind_in_a_group_wins_then_the_group_then_the_kind_then_the_default(
    group: str, kind: str, prompt: str | None
) -> None:
    assert OVERRIDES.prompt_for(group, kind) == prompt


def test_a_group_may_override_mode_and_reflexion() -> None:
    found = {
        name: (OVERRIDES.mode_for(name), OVERRIDES.reflexion_for(name)) for name in OVERRIDES.groups
    }
    assert found == {"shop": ("prepend", 1), "quiet": ("append", 0), "same": ("prepend", 3)}
    assert (OVERRIDES.mode_for("other"), OVERRIDES.reflexion_for("other")) == ("prepend", 1)


@pytest.mark.parametrize("prompt", ["run.md", "Inline instructions.", None, False])
def test_the_prompt_of_a_run_overrides_all_others(prompt: str | None) -> None:
    run = OVERRIDES.with_prompt(prompt)
    for group in ("other", *OVERRIDES.groups):
        for kind in ("", "ordinary", "error_heavy", "code_heavy"):
            assert run.prompt_for(group, kind) == prompt
    assert (run.mode_for("quiet"), run.reflexion_for("same")) == ("append", 3)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("prepend", "instructions\n\nhints"), ("append", "hints\n\ninstructions")],
)
def test_the_mode_sets_the_order_of_instructions_and_hints(mode: str, expected: str) -> None:
    config = ExtractionConfig.model_validate({"preprocessing_mode": mode})
    assert join_prompt("instructions", "hints", config.preprocessing_mode) == expected
    assert (
        join_prompt(None, "hints", config.preprocessing_mode)
        == join_prompt("", "hints", config.preprocessing_mode)
        == "hints"
    )
    assert join_prompt("instructions", "", config.preprocessing_mode) == "instructions"
