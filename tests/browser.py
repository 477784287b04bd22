"""A headless Chromium that tells what a page drew, said on the console, and asked the network for."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NO_BROWSER = "no Chromium here (Debian: apt-get install chromium)"
NETWORK = ("http:", "https:", "ws:", "wss:", "ftp:")
NOBODY = "not an origin"
"""How Chromium calls the initiator of its own requests (updates, clock, accounts)."""


@dataclass(frozen=True)
class Visit:
    """What came of a page. `requested`: addresses that the page itself asked the network for."""

    dom: str
    console: list[str]
    requested: list[str]
    log: str


def visit(page: Path, folder: Path) -> Visit:
    """Open `page` (a file) in a Chromium of its own, whose profile and net log lie in `folder`."""
    assert BROWSER is not None
    net_log = folder / "net-log.json"
    done = subprocess.run(
        [
            BROWSER,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-default-apps",
            "--disable-domain-reliability",
            "--disable-extensions",
            "--disable-sync",
            "--no-default-browser-check",
            "--no-first-run",
            "--no-pings",
            # What it still wants for itself finds no address.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={net_log}",
            "--net-log-capture-mode=Everything",
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    requested = page_requests(json.loads(net_log.read_text(encoding="utf-8", errors="replace")))
    return Visit(done.stdout, console, requested, done.stderr)


def page_requests(net_log: dict[str, Any]) -> list[str]:
    """Addresses of the net log's requests that begin a job for a page and leave this machine's files."""
    start = net_log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    assert net_log["events"], "the net log is empty: nothing was looked at"
    jobs = [event.get("params", {}) for event in net_log["events"] if event["type"] == start]
    return [
        job["url"]
        for job in jobs
        if job.get("url", "").lower().startswith(NETWORK) and job.get("initiator", "") != NOBODY
    ]
