"""The web page in a browser: does an operator see what is wrong, on a phone as on a wide screen?

``AIRPACE_SCREENSHOTS=folder`` keeps the pictures.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from page_fixtures import FIXTURES, FOLDER

WEB = Path(__file__).parents[2] / "crates/airpace-web/web"
HTTP = Path(__file__).parents[2] / "crates/airpace-web/src/http.rs"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
WIDTHS = [400, 1300, 2000]
CHROMIUM = shutil.which("chromium")
#: What the page says first in each situation.
VERDICTS = {
    "slow-station": "Slow station: garden-camera",
    "backhaul": "Backhaul bottleneck: anna-laptop, tv and phone",
    "sensor-lost": "Sensor lost: anna-laptop and phone",
}
#: Served beside the page: tells the test how far the page, or a part of it, is wider than its window.
PROBE = """setInterval(() => {
  const page = document.documentElement;
  const edge = document.querySelector("main").getBoundingClientRect().right;
  const parts = [...document.querySelectorAll("tbody th, td, figure, li, .cause, button")];
  const furthest = Math.max(...parts.map((part) => part.getBoundingClientRect().right));
  page.dataset.overflow = Math.max(0, page.scrollWidth - page.clientWidth, Math.ceil(furthest - edge));
}, 200);"""


def policy() -> str:
    """The policy that the daemon sends."""
    text = re.search(r'const POLICY: &str = "(.*?)";', HTTP.read_text(encoding="utf-8"), re.DOTALL)
    assert text
    return re.sub(r"\\\n\s*", "", text[1])


class Handler(BaseHTTPRequestHandler):
    situation: dict[str, Any]

    def do_GET(self) -> None:
        body, content_type = self.answer()
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Security-Policy", policy())
        self.end_headers()
        self.wfile.write(body)

    def answer(self) -> tuple[bytes, str]:
        if self.path.startswith("/api/"):
            return json.dumps(self.situation[self.path.removeprefix("/api/")]).encode(), "application/json"
        if self.path == "/probe.js":
            return PROBE.encode(), "text/javascript"
        path = WEB / (self.path.lstrip("/") or "index.html")
        body = path.read_bytes()
        if path.name == "index.html":
            body = body.replace(b"</head>", b'<script src="/probe.js"></script></head>')
        return body, TYPES[path.suffix]

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module", params=list(FIXTURES))
def situation(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Serves the page in a situation; yields its name and the page's address."""
    content = json.loads((FOLDER / f"{request.param}.json").read_text(encoding="utf-8"))
    handler = type("Handler", (Handler,), {"situation": content})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield request.param, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def browse(address: str, width: int, *options: str) -> tuple[str, str]:
    """Opens the page in Chromium; returns its document and what the browser has logged."""
    assert CHROMIUM
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--window-size={width},1500",
            "--virtual-time-budget=6000",
            "--enable-logging=stderr",
            *options,
            address,
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
        return run.stdout, run.stderr


def test_the_fixtures_are_those_that_the_script_makes() -> None:
    for name, make in FIXTURES.items():
        stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        assert stored == json.loads(json.dumps(make())), "run python python/tests/page_fixtures.py"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_says_first_what_is_wrong(situation: tuple[str, str], width: int) -> None:
    if CHROMIUM is None:
        warnings.warn("SKIPPED, NOTHING WAS TESTED: sudo apt-get install chromium", stacklevel=1)
        pytest.skip("chromium is not installed")
    name, address = situation
    document, log = browse(address, width, "--dump-dom")
    first = re.search(r'<ul id="verdict".*?<strong>(.*?)</strong>', document, re.DOTALL)
    assert first and VERDICTS[name] in first[1], document
    cause = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["status"]["aps"][0]["stations"]
    limited = next(one for one in cause if one["limited_by"] == name)
    assert limited["reason"] in document
    assert 'data-overflow="0"' in document, "the page is wider than the window"
    complaints = [line for line in log.splitlines() if "CONSOLE" in line]
    assert not complaints, complaints
    folder = os.environ.get("AIRPACE_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for scheme in ["light"] if width == 400 else ["light", "dark"]:
            picture = Path(folder) / f"{name}-{width}-{scheme}.png"
            dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
            browse(address, width, f"--screenshot={picture}", *dark)
