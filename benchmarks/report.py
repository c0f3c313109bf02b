"""The report of 10,000 turns: seconds to build, bytes, and first paint in Chromium.

    python -m benchmarks.report [--turns 10000] [--folder FOLDER] [--browser chromium]
    python -m benchmarks.report --images docs/images

The lake and graph are those of `benchmarks.large_lake`; a folder that is named keeps them. The
report is written by the command, as a process, and opened in a headless Chromium with a new
profile: what is printed is the median of three first contentful paints. Exits with 1 if that takes
more than a second. `--images` makes the screenshots of the documentation instead, of the samples.
"""

import argparse
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.cost import at_most
from benchmarks.large_lake import fill, run
from tests import real_archives

RUNS = 3
FIRST_PAINT = 1.0
"""Seconds."""
MOST_BYTES = 150_000
"""Of a screenshot."""
_PROBE = """
<script>
new PerformanceObserver(list => {
  const paint = list.getEntries().find(one => one.name === "first-contentful-paint");
  if (paint) document.documentElement.dataset.paint = paint.startTime;
}).observe({ type: "paint", buffered: true });
</script>
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--images", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        if options.images is not None:
            images(options.browser, folder, options.images)
            return 0
        return measure(options.browser, folder, options.turns)


def measure(browser: str, folder: Path, turns: int) -> int:
    fill(folder, turns)
    page = folder / "report.html"
    command = ("report", "--output", str(page), "--lake", str(folder / "lake"), "--json")
    before = cpu_of_children()
    seconds, written = zip(*(run(command, folder) for _ in range(RUNS)), strict=True)
    cpu = (cpu_of_children() - before) / RUNS
    wall = statistics.median(seconds)
    print(f"{written[0]['turns']:,} turns: {wall:.2f} s to build, {cpu:.2f} s of CPU")
    print(f"{written[0]['bytes']:,} bytes")
    paints = [first_paint(browser, page, folder) for _ in range(RUNS)]
    print("first paints:", *(f"{one:.2f}" for one in paints), "s")
    passed = at_most("s to first paint", statistics.median(paints), FIRST_PAINT)
    return 0 if passed else 1


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def first_paint(browser: str, page: Path, folder: Path) -> float:
    """Return the seconds until the browser showed something of the page."""
    # The page allows no script: the copy that is measured has another policy, and a probe.
    probed = folder / "probed.html"
    policy = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
    text = policy.sub(lambda _: _PROBE, page.read_text("utf-8"), count=1)
    probed.write_text(text, "utf-8")
    dumped = _chromium(browser, "--virtual-time-budget=5000", "--dump-dom", probed.as_uri())
    found = re.search(r'data-paint="([\d.]+)"', dumped)
    if found is None:
        sys.exit("the browser reported no paint")
    return float(found[1]) / 1000


def images(browser: str, folder: Path, target: Path) -> None:
    """Write the screenshots: wide and light, narrow and dark."""
    page, lake = folder / "report.html", folder / "lake"
    run(("backfill", str(real_archives.SAMPLES), "--lake", str(lake), "--json"), folder)
    run(("report", "--output", str(page), "--lake", str(lake), "--json"), folder)
    # No page shows a path of this machine.
    shown = page.read_text("utf-8").replace(str(folder), "/home/dev/.turnetl")
    page.write_text(shown, "utf-8")
    takes = {"report": (1200, 1000, False), "report-dark": (500, 900, True)}
    for name, (width, height, is_dark) in takes.items():
        image = target / f"{name}.png"
        dark = ("--blink-settings=preferredColorScheme=0",) if is_dark else ()
        size = (f"--window-size={width},{height}", f"--screenshot={image.resolve()}")
        _chromium(browser, "--hide-scrollbars", *dark, *size, page.as_uri())
        assert image.stat().st_size <= MOST_BYTES, image
        print(f"{image.name}: {image.stat().st_size:,} bytes")


def _chromium(browser: str, *options: str) -> str:
    with tempfile.TemporaryDirectory() as profile:
        common = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}")
        return subprocess.run(
            [browser, *common, *options], capture_output=True, check=True, text=True
        ).stdout


if __name__ == "__main__":
    sys.exit(main())
