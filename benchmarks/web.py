"""Measure the page of nmt export --web in Chromium, beside nmt translate.

    (cd tests/web && npm ci)
    python benchmarks/web.py PAGE BUNDLE --text FILE [--limit N] [--repeats N]

PAGE and BUNDLE are exports of one run in one precision. The page is served on the loopback and gets
the lines of FILE all at once, which it translates one by one; nmt gets them one by one, with one
thread. All times are wall times: loading from the start of the navigation until the page is ready,
translating from the first line to the last. Each repeat has a new browser.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from machine import machine

import nmt_cli

ROOT = Path(__file__).parent.parent


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def in_browser(url: str, lines: list[str]) -> tuple[float, float, list[str]]:
    """Seconds of loading and of translating, and the translations."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    packages = ROOT / "tests" / "web" / "node_modules"
    if not (browser and packages.is_dir()):
        sys.exit("needs Chromium and the packages of tests/web (cd tests/web && npm ci)")
    script = Path(__file__).with_name("web_page.mjs")
    command = ["node", str(script), str(packages.parent / "package.json"), browser, url]
    done = subprocess.run(
        command, input="\n".join(lines), check=True, stdout=subprocess.PIPE, text=True
    )
    answer = json.loads(done.stdout)
    return answer["loading"], answer["translating"], answer["text"].split("\n")


def by_nmt(bundle: Path, lines: list[str]) -> tuple[float, int, list[str]]:
    """Seconds of translating, tokens and translations."""
    with nmt_cli.open(bundle, threads=1) as model:
        list(model.translate(lines[:1]))
        began = time.perf_counter()
        translations = [next(model.translate([line])) for line in lines]
        return (
            time.perf_counter() - began,
            sum(len(translation.tokens) for translation in translations),
            [translation.text for translation in translations],
        )


def shown(values: list[float], digits: int = 1) -> str:
    """The median, with the smallest and largest value."""
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} ({least:.{digits}f}-{most:.{digits}f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines = options.text.read_text(encoding="utf-8").split("\n")
    lines = [line for line in lines if line.strip()][: options.limit]
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(options.page)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    loading, speeds, ratios, same = list[float](), list[float](), list[float](), 0
    for _ in range(options.repeats):
        seconds, tokens, expected = by_nmt(options.bundle, lines)
        load, translating, translations = in_browser(
            f"http://127.0.0.1:{server.server_port}/", lines
        )
        loading.append(load)
        speeds.append(tokens / translating)
        ratios.append(seconds / translating)
        same = sum(map(str.__eq__, translations, expected))
    server.shutdown()
    size = sum(path.stat().st_size for path in options.page.rglob("*") if path.is_file())
    print(machine())
    print(f"files, MB: {size / 1e6:.1f}")
    print(f"loading, s: {shown(loading)}")
    print(f"tokens a second: {shown(speeds, 0)}")
    print(f"speed relative to nmt translate, one line at a time: {shown(ratios, 2)}")
    print(f"lines translated as by nmt translate: {same} of {len(lines)}")


if __name__ == "__main__":
    main()
