"""How extraction is steered: the config's four ways to say it, and where templates are found."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from turnetl import settings
from turnetl.errors import BadUsage
from turnetl.extraction.config import DEFAULT_TEMPLATE, ExtractionConfig, join
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


LONG = f"{'Look at every file and say what it is for. ' * 9}Above all README.md"
DEFAULT = """{"extraction": {
    "preprocessing_prompt": "default-session-turn.md", "preprocessing_mode": "prepend"}}"""
NOTHING = '{"extraction": {"preprocessing_prompt": null}}'
CUSTOM = """{"extraction": {
    "preprocessing_prompt": "my-custom-extraction.md", "preprocessing_mode": "prepend"}}"""
SAID = json.dumps({"extraction": {"preprocessing_prompt": INLINE, "preprocessing_mode": "prepend"}})


def config(text: str) -> ExtractionConfig:
    return ExtractionConfig.model_validate(json.loads(text)["extraction"])


@pytest.fixture
def read_from(tmp_path: Path) -> Callable[[str], ExtractionConfig]:
    """Reads the settings of a config file with that text."""
    path = tmp_path / "graphiti.config.json"

    def read(text: str) -> ExtractionConfig:
        path.write_text(text)
        return settings.read_settings({}, config=path, folders=(), arguments={}).extraction

    return read


@pytest.mark.parametrize(
    ("text", "enabled", "prompt"),
    [
        (DEFAULT, True, DEFAULT_TEMPLATE),
        (NOTHING, False, None),
        ('{"extraction": {"preprocessing_prompt": false}}', False, False),
        (CUSTOM, True, "my-custom-extraction.md"),
        (SAID, True, INLINE),
    ],
)
def test_a_config_file_says_whether_there_is_preprocessing_and_which(
    text: str,
    enabled: bool,
    prompt: str | None,
    read_from: Callable[[str], ExtractionConfig],
) -> None:
    read = read_from(text)
    assert read == config(text)
    assert read.is_enabled() is enabled
    assert read.preprocessing_prompt == prompt
    assert read.preprocessing_mode == "prepend"


def test_each_way_to_say_it_gives_its_instructions(
    read_from: Callable[[str], ExtractionConfig], places: tuple[Path, Path]
) -> None:
    project, home = places
    (home / PLACE / "my-custom-extraction.md").write_text("Look for reviews.\n")
    templates = TemplateResolver(folders(project, home))
    told = [read_from(text).resolve_prompt(templates) for text in (NOTHING, CUSTOM, SAID)]
    assert told == [None, "Look for reviews.", INLINE]
    assert read_from(DEFAULT).resolve_prompt(templates) == templates.load(DEFAULT_TEMPLATE)


def test_a_config_file_without_the_section_is_the_default(
    read_from: Callable[[str], ExtractionConfig],
) -> None:
    assert read_from("{}") == ExtractionConfig() == config(DEFAULT)


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


def test_true_is_preprocessing_with_nothing_said(places: tuple[Path, Path]) -> None:
    templates = TemplateResolver(folders(*places))
    true = config('{"extraction": {"preprocessing_prompt": true}}')
    assert true.is_enabled()
    assert true.resolve_prompt(templates) is None


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


def test_a_name_that_is_nearly_there_is_told(
    places: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for name in ("Default-Session-Turn.md", "default-sesion-turn.md"):
            assert TemplateResolver(folders(*places)).load(name) is None
            assert f"`{DEFAULT_TEMPLATE}` is there" in caplog.text
            caplog.clear()


def test_instructions_that_end_as_a_templates_name_does_are_told_so(
    places: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    asked = ExtractionConfig(preprocessing_prompt=LONG)
    with caplog.at_level(logging.WARNING):
        assert asked.resolve_prompt(TemplateResolver(folders(*places))) is None
    assert "instructions that end in `.md` are taken for a template's name" in caplog.text
    assert LONG not in caplog.text


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
    places: tuple[Path, Path], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    (places[0] / PLACE.parent / "t.md").write_text("outside")
    with caplog.at_level(logging.WARNING):
        assert TemplateResolver(folders(*places)).load(name) is None
    assert "named without folders" in caplog.text


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"preprocessing_promt": "x"}, ["`extraction.preprocessing_promt`", "preprocessing_mode"]),
        ({"groups": {"shop": {"prompt": "x"}}}, ["`extraction.groups.shop.prompt`", "known are"]),
        ({"groups": {"My Shop": {}}}, ["`My Shop`", "`my_shop`"]),
        ({"kinds": {"eror_heavy": "x"}}, ["`eror_heavy` is no kind of turn", "error_heavy,"]),
        ({"kinds": {"error_heavy": 7}}, ["extraction.kinds.error_heavy", "name of a template"]),
        ({"preprocessing_prompt": ["x.md"]}, ["name of a template (`name.md`)"]),
        ({"preprocessing_mode": "around"}, ["'prepend' or 'append'"]),
        ({"reflexion": 4}, ["extraction.reflexion", "3"]),
        ({"reflexion": True}, ["a number from 0 to 3"]),
        ({"groups": {"shop": {"reflexion": -1}}}, ["extraction.groups.shop.reflexion", "0"]),
        ({"ontology": 7}, ["extraction.ontology"]),
    ],
)
def test_what_a_config_file_cannot_say_is_refused_in_a_sentence(
    section: dict[str, object], says: list[str], read_from: Callable[[str], ExtractionConfig]
) -> None:
    with pytest.raises(BadUsage) as refused:
        read_from(json.dumps({"extraction": section}))
    said = str(refused.value)
    assert [part for part in ("graphiti.config.json", *says) if part not in said] == []
    assert "\n" not in str(refused.value)


def test_what_the_environment_says_wrongly_is_not_said_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "graphiti.config.json"
    path.write_text('{"extraction": {"reflexion": 9, "preprocessing_mode": "append"}}')
    with pytest.raises(BadUsage, match="reflexion") as refused:
        settings.read_settings(
            {"TURNETL_EXTRACTION__REFLEXION": "8"}, config=path, folders=(), arguments={}
        )
    assert str(path) not in str(refused.value)


LAYERED = ExtractionConfig.model_validate(
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
def test_a_kind_in_a_group_wins_then_the_group_then_the_kind_then_all(
    group: str, kind: str, prompt: str | None
) -> None:
    assert LAYERED.prompt_of(group, kind) == prompt


def test_a_group_may_have_its_own_mode_and_passes() -> None:
    found = {name: (LAYERED.mode_of(name), LAYERED.reflexion_of(name)) for name in LAYERED.groups}
    assert found == {"shop": ("prepend", 1), "quiet": ("append", 0), "same": ("prepend", 3)}
    assert (LAYERED.mode_of("other"), LAYERED.reflexion_of("other")) == ("prepend", 1)


@pytest.mark.parametrize("prompt", ["run.md", "Said once.", None, False])
def test_what_is_said_for_a_run_wins_over_all(prompt: str | None) -> None:
    run = LAYERED.for_run(prompt)
    for group in ("other", *LAYERED.groups):
        for kind in ("", "ordinary", "error_heavy", "code_heavy"):
            assert run.prompt_of(group, kind) == prompt
    assert (run.mode_of("quiet"), run.reflexion_of("same")) == ("append", 3)


@pytest.mark.parametrize(
    ("mode", "expected"), [("prepend", "told\n\nhints"), ("append", "hints\n\ntold")]
)
def test_the_mode_is_the_place_relative_to_hints(mode: str, expected: str) -> None:
    said = ExtractionConfig.model_validate({"preprocessing_mode": mode}).preprocessing_mode
    assert join("told", "hints", said) == expected
    assert join(None, "hints", said) == join("", "hints", said) == "hints"
    assert join("told", "", said) == "told"
