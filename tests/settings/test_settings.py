import json
from pathlib import Path

import pytest

from turnetl.errors import BadUsage
from turnetl.settings import Settings, read_settings


def settings(
    environment: dict[str, str] | None = None, config: Path | None = None, **given: object
) -> Settings:
    return read_settings(environment or {}, config=config, folders=(), arguments=given)


def test_without_anything_said_the_graph_is_a_file_in_the_lake() -> None:
    assert settings(lake="/x/lake").graph_url == "ladybug:///x/lake/graph.lbug"


def test_the_command_line_wins_over_the_environment_and_that_over_the_config(
    tmp_path: Path,
) -> None:
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"turnetl": {"graph": "bolt://c", "lake": "c", "prefetch": 3}}))
    read_back = settings(
        {"TURNETL_GRAPH": "bolt://e", "TURNETL_LAKE": "e"}, config, graph="bolt://g"
    )
    assert (read_back.graph, str(read_back.lake), read_back.prefetch) == ("bolt://g", "e", 3)


def test_nested_names_are_joined_with_two_underscores() -> None:
    environment = {"TURNETL_LLM__PROVIDER": "openai", "TURNETL_LLM__MODEL": "m"}
    assert settings(environment).llm.model == "m"
    assert settings(environment).extractor_name == "llm"


def test_without_a_model_the_structural_extractor_is_taken() -> None:
    assert settings().extractor_name == "structural"


def test_an_unknown_name_in_the_environment_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadUsage, match=r"TURNETL_GRPAH.*known are lake, graph"):
        settings({"TURNETL_GRPAH": "bolt://x"})


def test_a_value_that_makes_no_sense_names_its_variable_and_not_the_value() -> None:
    with pytest.raises(BadUsage, match="TURNETL_PREFETCH") as refused:
        settings({"TURNETL_PREFETCH": "minus-one"})
    assert "minus-one" not in str(refused.value)


def test_secrets_are_never_printed(tmp_path: Path) -> None:
    canary = f"canary-{tmp_path.name}"
    said = {"TURNETL_GRAPH_PASSWORD": canary, "TURNETL_LLM__API_KEY": canary}
    assert canary not in repr(settings(said))


def test_the_variables_of_other_graphiti_programs_stand_in() -> None:
    password = settings({"NEO4J_PASSWORD": "theirs"}).graph_password
    assert password is not None
    assert password.get_secret_value() == "theirs"
    ours = settings({"NEO4J_PASSWORD": "theirs", "TURNETL_GRAPH_PASSWORD": "ours"}).graph_password
    assert ours is not None
    assert ours.get_secret_value() == "ours"


def test_a_config_of_graphiti_keeps_its_other_sections(tmp_path: Path) -> None:
    config = tmp_path / "graphiti.config.json"
    config.write_text(
        json.dumps({"database": {"x": 1}, "extraction": {"preprocessing_prompt": None}})
    )
    found = read_settings({}, config=None, folders=(tmp_path,), arguments={})
    assert found.extraction.preprocessing_prompt is None


def test_a_config_that_does_not_exist_or_is_no_json_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="does not exist"):
        settings(config=tmp_path / "none.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(BadUsage, match=r"broken\.json"):
        settings(config=broken)


def test_silence_is_some_minutes_and_no_age_of_the_world() -> None:
    assert settings({"TURNETL_QUIET_MINUTES": "0.5"}).quiet_minutes == 0.5
    for wrong in ("-1", "nan", "inf", "1e12"):
        with pytest.raises(BadUsage, match="TURNETL_QUIET_MINUTES"):
            settings({"TURNETL_QUIET_MINUTES": wrong})


def test_a_map_of_groups_may_lie_at_home() -> None:
    assert settings(group_map="~/groups.toml").group_map == Path.home() / "groups.toml"
    assert settings().group_map is None


def test_jobs_are_counted_from_one() -> None:
    assert (settings().jobs, settings({"TURNETL_JOBS": "3"}).jobs) == (None, 3)
    with pytest.raises(BadUsage, match="TURNETL_JOBS"):
        settings({"TURNETL_JOBS": "0"})


def test_names_of_noise_rules_are_a_list_or_words_with_commas(tmp_path: Path) -> None:
    config = tmp_path / "c.json"
    config.write_text(json.dumps({"turnetl": {"noise": {"keep": ["repeat"], "drop": ["a", "b"]}}}))
    assert settings(config=config).noise.keep == ("repeat",)
    environment = {"TURNETL_NOISE__KEEP": "repeat, copy,"}
    assert settings(environment, config).noise.keep == ("repeat", "copy")
    assert settings(environment, config).noise.drop == ("a", "b")
    with pytest.raises(BadUsage, match="TURNETL_NOISE__KEEP"):
        settings(noise={"keep": [7]})


def test_what_is_said_of_noise_for_one_run_wins_over_the_same_name_before() -> None:
    before = settings({"TURNETL_NOISE__KEEP": "copy,repeat", "TURNETL_NOISE__DROP": "x"}).noise
    now = before.merged(("x",), ("copy",), None)
    assert (now.keep, now.drop) == (("repeat", "x"), ("copy",))
    assert before.merged((), (), None) == before


def test_a_file_of_rules_may_lie_at_home() -> None:
    said = settings({"TURNETL_NOISE__RULES": "~/noise.toml"})
    assert said.noise.rules == Path.home() / "noise.toml"
    assert said.noise.merged((), (), Path("~/other.toml")).rules == Path.home() / "other.toml"


@pytest.mark.parametrize(("said", "means"), [("1", True), ("true", True), ("0", False)])
def test_personal_data_is_cut_out_if_asked_for(said: str, means: bool) -> None:
    assert settings().redact_pii is False
    assert settings({"TURNETL_REDACT_PII": said}).redact_pii is means


@pytest.mark.parametrize(
    ("variable", "known"),
    [
        ("TURNETL_NOISE__KEP", "known are noise.keep, noise.drop, noise.rules"),
        ("TURNETL_LLM__KEY", "known are llm.provider, "),
        ("TURNETL_EXTRACTION__MODE", "known are extraction.preprocessing_prompt, "),
    ],
)
def test_an_unknown_name_in_a_section_is_refused_with_those_of_the_section(
    variable: str, known: str
) -> None:
    with pytest.raises(BadUsage, match=variable) as refused:
        settings({variable: "x"})
    assert known in str(refused.value)
    assert " lake" not in str(refused.value)
