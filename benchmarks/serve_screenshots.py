"""Screenshots of the pages of `turnetl serve` over the sample archives, for docs/serve.md.

    python -m benchmarks.serve_screenshots [--folder docs/images] [--browser chromium]

Colours are reduced, so that an image takes a third.
"""

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.cli.command import ROOT, SAMPLES, turnetl_process
from tests.web.serving_process import serving_process

_SHOW_AS = """([folder, shown]) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    walker.currentNode.data = walker.currentNode.data.replaceAll(folder, shown);
  }
}"""
COLOURS = 24
MOST_BYTES = 60_000


@dataclass(frozen=True)
class Shot:
    """A page in a window."""

    address: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"


SEARCH = "search?q=why+do+the+checkout+tests+fail"
SHOTS = {
    "overview": Shot("./", 1280, 1000),
    "project": Shot("project?group=bookshop", 1280, 900, "dark"),
    "search": Shot(f"{SEARCH}&group=bookshop", 1000, 900),
    "turn": Shot("turn?id=66185fa7", 1000, 1100),
    "phone": Shot(SEARCH, 360, 800, "dark"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pages-") as name:
        home = Path(name)
        shutil.copytree(SAMPLES, home / "archives")
        assert turnetl_process("backfill", "archives", folder=home).exit_code == 0
        with serving_process(folder=home) as serving, sync_playwright() as playwright:
            program = shutil.which(options.browser)
            browser = playwright.chromium.launch(executable_path=program)
            for shot_name, shot in SHOTS.items():
                image = options.folder / f"serve-{shot_name}.png"
                take(browser, serving.url, shot, image, home)
                assert image.stat().st_size <= MOST_BYTES, image
                print(f"{image.name}: {image.stat().st_size:,} bytes")
            browser.close()


def take(browser: Browser, url: str, shot: Shot, image: Path, home: Path) -> None:
    """Write the image of a page, as somebody sees it who has opened the printed address.

    No image shows a path of this machine.
    """
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme
    )
    page = context.new_page()
    page.goto(url)
    page.goto(page.url + shot.address)
    page.evaluate(_SHOW_AS, [str(home), "/home/dev"])
    shown = Image.open(BytesIO(page.screenshot())).convert("RGB")
    shown.quantize(COLOURS, dither=Image.Dither.NONE).save(image, optimize=True)
    context.close()


if __name__ == "__main__":
    main()
