"""`turnetl config show`: every setting with its source."""

from tests.cli.planted_folder import PlantedFolder


def test_every_setting_is_shown_with_its_source_and_without_secrets(
    planted: PlantedFolder, key: str
) -> None:
    planted.write_config(
        llm={"base_url": f"https://user:{key}@gate.example/v1?token={key}", "api_key": key},
        graph=f"bolt://neo4j:{key}@graph.example:7687",
        embedder={"base_url": f"https://{key}@vectors.example/v1"},
        noise={"disable": ["repeat"]},
    )
    planted.run("trust")
    environment = {"TURNETL_PREFETCH": "3", "NEO4J_PASSWORD": key, "TURNETL_LLM__MODELS": "small=m"}
    arguments = ("config", "show", "--lake", planted.path / "lake")
    result = planted.run(*arguments, "--json", **environment)
    settings = {setting.pop("name"): setting for setting in result.json["settings"]}
    folder = {"source": "folder", "origin": str(planted.config)}
    mask = "********"
    assert settings["lake"] == {
        "value": str(planted.path / "lake"),
        "source": "option",
        "origin": None,
    }
    assert settings["prefetch"] == _of_variable(3, "TURNETL_PREFETCH")
    assert settings["graph_password"] == _of_variable(mask, "NEO4J_PASSWORD")
    assert settings["llm.models.small"] == _of_variable("m", "TURNETL_LLM__MODELS")
    assert settings["llm.api_key"] == {"value": mask, **folder}
    url = f"https://user:{mask}@gate.example/v1?token={mask}"
    assert settings["llm.base_url"] == {"value": url, **folder}
    assert settings["embedder.base_url"] == {
        "value": f"https://{mask}@vectors.example/v1",
        **folder,
    }
    assert settings["graph"] == {"value": f"bolt://neo4j:{mask}@graph.example:7687", **folder}
    assert settings["noise.disable"] == {"value": ["repeat"], **folder}
    assert settings["jobs"] == {"value": None, "source": "default", "origin": None}
    assert result.json["ignored"] is None
    table = planted.run(*arguments, **environment)
    assert (table.exit_code, result.exit_code) == (0, 0)
    assert key not in table.stdout + result.stdout
    planted.write_config(prefetch=7)
    ignored = planted.run("config", "show", "--json").json
    assert "`turnetl trust`" in ignored["ignored"]
    planted.run("trust", "--revoke")
    user = planted.home / ".graphiti" / "graphiti.config.json"
    user.parent.mkdir()
    user.write_text('{"turnetl": {"prefetch": 5}}')
    shown = planted.run("config", "show", "--json").json["settings"]
    assert {"name": "prefetch", "value": 5, "source": "user", "origin": str(user)} in shown


def _of_variable(value: object, name: str) -> dict[str, object]:
    return {"value": value, "source": "environment", "origin": name}
