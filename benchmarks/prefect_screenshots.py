"""Screenshots of a run in Prefect's user interface, for docs/prefect.md.

    python -m benchmarks.prefect_screenshots [--folder docs/images] [--browser chromium]

The nightly deployment runs with a real server and worker over the sample archives, with a local
model that sometimes responds with what cannot be used, so that a turn is quarantined. Then Chromium
shows the pages. No page shows a path or the name of this machine.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks import prefect_server, provider
from benchmarks.prefect_server import LocalPrefect
from tests.servers.prefect_server import ROOT

WIDTH = 1200
MOST_BYTES = 150_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        provider.running(responders="benchmarks.responders") as model,
        prefect_server.running(Path(folder), ui=True, **_model(model.base_url("openai"))) as server,
    ):
        run = run_nightly(server)
        for name, (path, height) in pages(server, run).items():
            image = options.folder / f"prefect-{name}.png"
            take(options.browser, server.ui + path, height, image)
            assert image.stat().st_size <= MOST_BYTES, image
            print(f"{image.name}: {image.stat().st_size:,} bytes")


def run_nightly(server: LocalPrefect) -> str:
    """Deploy, run the nightly deployment once, and return the id of the run."""
    shutil.copytree(ROOT / "data" / "archives", server.home / ".claude" / "projects")
    server.output("turnetl", "prefect", "setup")
    server.output("prefect", "--no-prompt", "deploy", "--all")
    with server.worker():
        server.output("prefect", "deployment", "run", "nightly/nightly", "--watch")
    ended = {"flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}
    [run] = read(server, "flow_runs", ended)
    return str(run["id"])


def pages(server: LocalPrefect, run: str) -> dict[str, tuple[str, int]]:
    """Return the path and the height in pixels of each page by the name of its image."""
    of_run = {"artifacts": {"flow_run_id": {"any_": [run]}}}
    artifacts = {one["key"]: one["id"] for one in read(server, "artifacts", of_run)}
    return {
        "run": (f"/runs/flow-run/{run}", 500),
        "artifacts": ("/artifacts", 680),
        "report": (f"/artifacts/artifact/{artifacts['report']}", 900),
    }


def take(browser: str, url: str, height: int, image: Path) -> None:
    """Take a screenshot of a page as soon as it has loaded."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser,
                "--headless=new",
                # Chromium refuses to be root with its sandbox; the page is of this machine.
                "--no-sandbox",
                "--hide-scrollbars",
                "--blink-settings=preferredColorScheme=1",
                "--virtual-time-budget=60000",
                f"--window-size={WIDTH},{height}",
                f"--user-data-dir={profile}",
                f"--screenshot={image}",
                url,
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )


def read(server: LocalPrefect, kind: str, selected: dict[str, Any]) -> list[dict[str, Any]]:
    """Return objects of the server's API."""
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{server.url}/{kind}/filter",
        data=json.dumps(selected).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
        found: list[dict[str, Any]] = json.load(response)
    return found


def _model(base_url: str) -> dict[str, str]:
    """Return the settings of the local model, under the name of one that has a price."""
    return {
        "TURNETL_LLM__PROVIDER": "openai",
        "TURNETL_LLM__BASE_URL": base_url,
        "TURNETL_LLM__MODEL": "gpt-5-mini",
        "TURNETL_LLM__API_KEY": "no-key-is-needed-here",
    }


if __name__ == "__main__":
    main()
