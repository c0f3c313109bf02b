"""No `.env` file that somebody else may have written gets into the environment."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANTED = "HTTPS_PROXY=http://planted.example\nPLANTED_NAME=planted\n"
SHOW = "\nimport os, sys\nassert 'graphiti_core' in sys.modules\nprint(os.environ.get('{}'))\n"
PROGRAMS = {
    "model": "import turnetl.llm.graphiti",
    "recipes": "import turnetl.graph.search",
    "graph": "import turnetl.graph.mirror.convert",
    "extractor": "import turnetl.extraction.llm.extract",
    "Graphiti after turnetl": "import turnetl, graphiti_core",
    "flow": "import flows.backfill, turnetl.llm.graphiti",
    "command": (
        "import sys\nfrom turnetl.cli import main\nsys.argv[1:] = ['model', 'check']\n"
        "try: main()\n"
        "except SystemExit: pass"
    ),
}


def run(program: str, folder: Path, *, as_file: bool) -> str:
    """Run a program in a folder whose virtual environment holds Graphiti; return its last line."""
    packages = folder / "venv"
    packages.mkdir()
    graphiti = find_spec("graphiti_core")
    assert graphiti is not None
    assert graphiti.origin is not None
    (packages / "graphiti_core").symlink_to(Path(graphiti.origin).parent)
    script = packages / "program.py"
    script.write_text(program)
    started = [str(script)] if as_file else ["-c", program]
    done = subprocess.run(
        [sys.executable, *started],
        env={
            "HOME": str(folder),
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)]),
            # Nobody listens there.
            "TURNETL_LLM__PROVIDER": "openai-compatible",
            "TURNETL_LLM__BASE_URL": "http://127.0.0.1:1/v1",
            "TURNETL_LLM__MODEL": "m",
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_env_file_of_the_working_directory_is_loaded(name: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(PLANTED)
    program = PROGRAMS[name] + SHOW.format("PLANTED_NAME")
    assert run(program, tmp_path, as_file=name != "model") == "None"


@pytest.mark.full
@pytest.mark.parametrize("as_file", [True, False], ids=["file", "argument"])
def test_graphiti_alone_loads_the_file(tmp_path: Path, *, as_file: bool) -> None:
    """The tests above would find it."""
    (tmp_path / ".env").write_text(PLANTED)
    program = "import graphiti_core" + SHOW.format("PLANTED_NAME")
    assert run(program, tmp_path, as_file=as_file) == "planted"


@pytest.mark.full
def test_a_program_may_load_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own.env").write_text("OWN_NAME=own\n")
    program = (
        "import turnetl, dotenv\nimport turnetl.llm.graphiti\n"
        "assert dotenv.load_dotenv('own.env')" + SHOW.format("OWN_NAME")
    )
    assert run(program, tmp_path, as_file=True) == "own"


@pytest.mark.full
def test_the_users_switch_stays_as_it_was() -> None:
    program = "import os, turnetl.llm.graphiti; print(os.environ['PYTHON_DOTENV_DISABLED'])"
    for own in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "PYTHON_DOTENV_DISABLED": own},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == own
