"""Settings from arguments, environment, config file and defaults."""

import json
from pathlib import Path

import pytest

from turnetl.base.errors import BadUsage
from turnetl.settings import Settings, explain, load_settings, read_settings
from turnetl.trust.folder_trust import FolderTrust
from turnetl.trust.project_files import read_project


def settings(
    environment: dict[str, str] | None = None, config: Path | None = None, **arguments: object
) -> Settings:
    loaded = read_settings(
        environment or {}, config=config, home=Path("/nowhere"), arguments=arguments
    )
    return loaded.settings


def write_config(folder: Path, **sections: object) -> Path:
    path = folder / "graphiti.config.json"
    path.write_text(json.dumps(sections))
    return path


def test_arguments_win_over_the_environment_and_that_over_the_config_file(tmp_path: Path) -> None:
    config = write_config(tmp_path, turnetl={"graph": "bolt://c", "lake": "c", "prefetch": 3})
    environment = {"TURNETL_GRAPH": "bolt://e", "TURNETL_LAKE": "e"}
    merged = settings(environment, config, graph="bolt://g", jobs=None)
    assert (merged.graph, str(merged.lake), merged.prefetch) == ("bolt://g", "e", 3)


def test_sections_are_merged_name_by_name(tmp_path: Path) -> None:
    config = write_config(tmp_path, turnetl={"llm": {"model": "c", "effort": "low"}})
    llm = settings({"TURNETL_LLM__MODEL": "e"}, config).llm
    assert (llm.model, llm.effort) == ("e", "low")


def test_two_underscores_separate_a_section_from_a_name() -> None:
    environment = {"TURNETL_LLM__PROVIDER": "openai", "TURNETL_LLM__MODEL": "m"}
    assert settings(environment).llm.model == "m"


def test_an_empty_variable_counts_as_not_set() -> None:
    assert settings({"TURNETL_GRAPH": "", "TURNETL_LLM__MODEL": ""}) == settings()


def test_variables_of_the_tests_and_of_other_programs_are_ignored() -> None:
    assert settings({"TURNETL_TEST_NEO4J_URL": "x", "TURNET": "x", "GRAPH": "x"}) == settings()


@pytest.mark.parametrize(
    ("variable", "known"),
    [
        ("TURNETL_GRPAH", "known are lake, graph"),
        ("TURNETL_GRAPH__URL", "known are lake, graph"),
        ("TURNETL_NOISE__DISABEL", "known are noise.disable, noise.enable, noise.rules"),
        ("TURNETL_LLM__KEY", "known are llm.provider, "),
        ("TURNETL_BUDGET__CENTS", "known are budget.tokens, budget.usd"),
        ("TURNETL_EXTRACTION__MODE", "known are extraction.preprocessing_prompt, "),
    ],
)
def test_an_unknown_variable_is_rejected_with_the_names_of_its_section(
    variable: str, known: str
) -> None:
    with pytest.raises(BadUsage, match=f"`{variable}`") as raised:
        settings({variable: "secret-value"})
    assert known in str(raised.value)
    assert "secret-value" not in str(raised.value)
    assert (" lake" in str(raised.value)) == ("known are lake" in known)


@pytest.mark.parametrize(
    "section", [{"grpah": "x"}, {"LAKE": "x"}, {"llm": {"key": "x"}}, {"llm": "x"}]
)
def test_an_unknown_name_in_the_config_file_is_rejected_with_the_path_of_the_file(
    section: dict[str, object], tmp_path: Path
) -> None:
    config = write_config(tmp_path, turnetl=section)
    with pytest.raises(BadUsage, match=r"graphiti\.config\.json`: (unknown )?setting"):
        settings(config=config)


def test_an_invalid_value_is_attributed_to_the_source_that_wins(tmp_path: Path) -> None:
    config = write_config(tmp_path, turnetl={"prefetch": 0})
    with pytest.raises(BadUsage, match=r"graphiti\.config\.json`: setting `prefetch`"):
        settings(config=config)
    with pytest.raises(BadUsage, match=r"^setting `prefetch` \(environment `TURNETL_PREFETCH`\)"):
        settings({"TURNETL_PREFETCH": "0"}, config)


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("PREFETCH", "many", "must be a whole number"),
        ("PREFETCH", "0", "must be at least 1"),
        ("CLOSE_AFTER_MINUTES", "soon", "must be a number"),
        ("CLOSE_AFTER_MINUTES", "9999999", "must be at most 5,270,400"),
        ("LEASE_SECONDS", "0", "must be more than 0"),
        ("LEASE_SECONDS", "3601", "must be at most 3,600"),
        ("JOURNAL", "perhaps", "must be `true` or `false`"),
        ("EXTRACTOR", "magic", "must be `structural`, `llm` or `hybrid`"),
    ],
)
def test_an_invalid_value_is_refused_with_what_it_must_be(
    variable: str, value: str, expected: str
) -> None:
    with pytest.raises(BadUsage) as raised:
        settings({f"TURNETL_{variable}": value})
    assert str(raised.value).endswith(f"(environment `TURNETL_{variable}`): {expected}")


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"prefetch": 1.5}, "a whole number"),
        ({"graph": 7}, "a text"),
        ({"lake": 7}, "a path"),
        ({"llm": "x"}, "an object"),
        ({"llm": {"models": 7}}, "an object"),
        ({"noise": {"disable": 7}}, "a list"),
    ],
)
def test_a_value_of_another_type_in_the_config_file_is_refused_with_the_type(
    section: dict[str, object], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(BadUsage, match=f"must be {expected}$"):
        settings(config=write_config(tmp_path, turnetl=section))


def test_an_invalid_argument_is_refused_without_the_environment() -> None:
    with pytest.raises(BadUsage, match=r"^setting `jobs`: must be at least 1$"):
        settings({"TURNETL_JOBS": "3"}, jobs=0)


def test_an_invalid_value_is_never_printed() -> None:
    with pytest.raises(BadUsage, match="TURNETL_PREFETCH") as raised:
        settings({"TURNETL_PREFETCH": "minus-one"})
    assert "minus-one" not in str(raised.value)


@pytest.mark.parametrize("name", ["GRAPH", "LLM__BASE_URL", "EMBEDDER__BASE_URL"])
@pytest.mark.parametrize("end", ["\uff0f@h", "[@h", "]@h", "@h:99999", "@h:port"])
def test_a_url_that_cannot_be_split_is_refused_without_its_password(name: str, end: str) -> None:
    scheme = "bolt" if name == "GRAPH" else "https"
    with pytest.raises(BadUsage, match=f"TURNETL_{name}.*must be a valid URL") as raised:
        settings({f"TURNETL_{name}": f"{scheme}://user:canary{end}"})
    chain = (raised.value, raised.value.__cause__, raised.value.__context__)
    assert not any("canary" in str(error) for error in chain)


def test_the_path_of_a_graph_may_have_brackets() -> None:
    url = "ladybug:///home/kim/[shop]/graph.lbug"
    assert settings({"TURNETL_GRAPH": url}).graph == url


def test_an_error_in_a_section_names_the_setting_and_not_its_type() -> None:
    with pytest.raises(BadUsage, match=r"setting `llm\.base_url` \(environment"):
        settings({"TURNETL_LLM__BASE_URL": "x"})


def test_a_section_and_a_name_in_it_cannot_both_be_set() -> None:
    both = {"TURNETL_LLM__MODELS": "a=small", "TURNETL_LLM__MODELS__B": "tiny"}
    with pytest.raises(BadUsage, match="both `TURNETL_LLM__MODELS` and `TURNETL_LLM__MODELS__B`"):
        settings(both)


def test_secrets_are_never_printed(tmp_path: Path) -> None:
    canary = f"canary-{tmp_path.name}"
    secrets = {
        "TURNETL_GRAPH_PASSWORD": canary,
        "TURNETL_LLM__API_KEY": canary,
        "TURNETL_EMBEDDER__API_KEY": canary,
    }
    urls = {
        "TURNETL_GRAPH": f"neo4j+s://me:{canary}@host",
        "TURNETL_LLM__BASE_URL": f"https://{canary}@host/v1?key={canary}#{canary}",
        "TURNETL_EMBEDDER__BASE_URL": f"https://host/v1?{canary}",
    }
    loaded = read_settings(secrets | urls, config=None, home=Path("/nowhere"), arguments={})
    assert canary not in str(explain(loaded))
    assert canary not in repr(loaded.settings)
    assert canary not in str(loaded.settings)


def test_the_variables_of_other_graphiti_programs_are_a_fallback() -> None:
    environment = {"NEO4J_USER": "theirs", "NEO4J_PASSWORD": "theirs"}
    fallback = settings(environment)
    assert fallback.graph_user == "theirs"
    assert fallback.graph_password is not None
    assert fallback.graph_password.get_secret_value() == "theirs"
    own = settings(environment | {"TURNETL_GRAPH_PASSWORD": "own"}).graph_password
    assert own is not None
    assert own.get_secret_value() == "own"


@pytest.mark.parametrize("word", ["none", "NULL", "false", "off"])
def test_none_in_the_environment_is_null_where_the_config_file_may_have_null(word: str) -> None:
    environment = {
        "TURNETL_EXTRACTION__PREPROCESSING_PROMPT": word,
        "TURNETL_EXTRACTION__ONTOLOGY": word,
        "TURNETL_EXTRACTION__KINDS__CODE_HEAVY": word,
        "TURNETL_EXTRACTION__GROUPS__SHOP__PREPROCESSING_PROMPT": word,
        "TURNETL_EXTRACTION__GROUPS__SHOP__KINDS__ORDINARY": word,
    }
    extraction = settings(environment).extraction
    assert (extraction.preprocessing_prompt, extraction.ontology) == (None, None)
    assert extraction.kinds == {"code_heavy": None}
    assert extraction.groups["shop"].preprocessing_prompt is None
    assert extraction.groups["shop"].kinds == {"ordinary": None}
    assert settings({"TURNETL_LLM__MODEL": "none"}).llm.model == "none"


def test_names_of_noise_rules_are_a_list_or_separated_by_commas(tmp_path: Path) -> None:
    config = write_config(
        tmp_path, turnetl={"noise": {"disable": ["repeat"], "enable": ["a", "b"]}}
    )
    assert settings(config=config).noise.disable == ("repeat",)
    environment = {"TURNETL_NOISE__DISABLE": "repeat, copy,"}
    assert settings(environment, config).noise.disable == ("repeat", "copy")
    assert settings(environment, config).noise.enable == ("a", "b")
    with pytest.raises(BadUsage, match=r"`noise\.disable\.0`: must be a text"):
        settings(noise={"disable": [7]})


def user_config(home: Path, **sections: object) -> None:
    """Write the config file of the user."""
    (home / ".graphiti").mkdir(parents=True)
    write_config(home / ".graphiti", **sections)


def loaded(folder: Path, home: Path, *, is_trusted: bool) -> Settings:
    """Load the settings in a working directory."""
    files = read_project(folder, home)
    trust = FolderTrust(files, files.digests if is_trusted else None)
    return read_settings({}, config=None, home=home, folder=trust, arguments={}).settings


def test_other_sections_of_the_config_file_are_ignored(tmp_path: Path) -> None:
    config = write_config(tmp_path, database={"x": 1}, extraction={"preprocessing_prompt": None})
    assert settings(config=config).extraction.preprocessing_prompt is None


def test_the_config_file_of_a_trusted_working_directory_replaces_that_of_the_user(
    tmp_path: Path,
) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    folder.mkdir()
    user_config(home, turnetl={"lake": "user", "prefetch": 3})
    write_config(folder, turnetl={"lake": "folder"})
    trusted = loaded(folder, home, is_trusted=True)
    assert (str(trusted.lake), trusted.prefetch) == ("folder", 16)
    ignored = loaded(folder, home, is_trusted=False)
    assert (str(ignored.lake), ignored.prefetch) == ("user", 3)


@pytest.mark.parametrize("text", ["{", "", "[1]", '{"turnetl": 1}', '{"turnetl": {"a": NaN}}'])
def test_a_config_file_that_is_not_the_expected_json_is_rejected(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(BadUsage, match=r"broken\.json"):
        settings(config=path)


def test_a_config_file_that_does_not_exist_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="does not exist"):
        settings(config=tmp_path / "none.json")


def test_the_constructor_reads_neither_the_environment_nor_a_config_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_config(tmp_path / "home", turnetl={"prefetch": 3})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNETL_CONTEXT_TURNS", "7")
    assert (Settings().prefetch, Settings().context_turns) == (16, 3)
    loaded = load_settings()
    assert (loaded.prefetch, loaded.context_turns) == (3, 7)


def test_the_default_lake_is_that_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, data = tmp_path / "home", tmp_path / "data"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    for variable in ("", "relative/path"):
        monkeypatch.setenv("XDG_DATA_HOME", variable)
        assert Settings().lake == load_settings().lake == home / ".turnetl" / "lake"
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    assert Settings().lake == load_settings().lake == data / "turnetl" / "lake"
    assert load_settings().graph_url == f"ladybug://{data / 'turnetl' / 'lake' / 'graph.lbug'}"


def test_an_argument_the_environment_and_the_config_file_win_over_the_default_lake(
    tmp_path: Path,
) -> None:
    config = write_config(tmp_path, turnetl={"lake": "of-config"})
    data = {"XDG_DATA_HOME": str(tmp_path)}

    def lake(environment: dict[str, str], **arguments: str) -> str:
        return str(settings(data | environment, config, **arguments).lake)

    assert lake({}) == "of-config"
    assert lake({"TURNETL_LAKE": "of-environment"}) == "of-environment"
    assert lake({"TURNETL_LAKE": "e"}, lake="a") == "a"


def test_no_test_writes_to_the_lake_of_the_developer(default_lake: Path) -> None:
    assert load_settings().lake == default_lake
    assert not default_lake.is_relative_to(Path.home())


@pytest.mark.parametrize("setting", ["GROUP_MAP", "NOISE__RULES"])
@pytest.mark.parametrize("url", ["s3://bucket/lake", "gs://b", "az://b/x", "file:///x", "s3:/b"])
def test_a_url_is_rejected_where_a_path_is_expected(setting: str, url: str) -> None:
    scheme = url.partition(":")[0]
    with pytest.raises(BadUsage, match=f"must be a path on this machine, and `{scheme}://`"):
        settings({f"TURNETL_{setting}": url})


@pytest.mark.parametrize("url", ["file:///x", "https://host/x", "hdfs://x", "ftp:/x"])
def test_a_lake_with_an_unknown_scheme_is_rejected(url: str) -> None:
    for given in (url, Path(url)):
        with pytest.raises(BadUsage, match="or a URL with `s3://`, `gs://`, `az://`, and not with"):
            settings(lake=given)


def test_a_lake_that_is_no_bucket_is_rejected_without_its_password() -> None:
    with pytest.raises(BadUsage, match="must be `s3://bucket/prefix`") as refused:
        settings(lake="s3://key:secret@bucket/x")
    assert "secret" not in str(refused.value)


def test_the_local_files_of_a_lake_in_an_object_store_have_a_folder(default_lake: Path) -> None:
    for given in ("s3://bucket/a/lake/", Path("s3://bucket/a/lake")):
        chosen = settings(lake=given)
        assert chosen.lake == default_lake.parent / "objects" / "s3" / "bucket" / "a" / "lake"
        assert chosen.lake_name == str(chosen.lake_url) == "s3://bucket/a/lake"
        assert chosen.graph_url == f"ladybug://{chosen.lake / 'graph.lbug'}"
    assert Settings(lake="gs://b").lake_name == "gs://b"  # type: ignore[arg-type]  # as JSON has it
    copied = chosen.model_copy(update={"lake": Path("/x")})
    assert (copied.lake_url, copied.lake_name) == (None, "/x")
    assert chosen.model_copy(update={"graph": "bolt://h"}).lake_name == "s3://bucket/a/lake"


def test_a_relative_path_with_a_colon_is_no_url() -> None:
    assert settings(lake="file:x").lake == Path("file:x")
    assert settings(lake="/x/s3:/lake").lake == Path("/x/s3:/lake")
    assert settings(lake="C:/lake").lake == Path("C:/lake")
