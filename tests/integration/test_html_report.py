"""The exported page in a real browser: it draws, and neither complains nor asks the network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from odd_session import odd_timeline

from profiler.reporting.exports import export

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here (Debian: apt-get install chromium)")
def test_the_page_draws_without_a_word_on_the_console(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    export(odd_timeline(), page, "html", name="<script>alert(1)</script>")
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={tmp_path / 'profile'}",
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
    # A request of any kind would break the page's policy, and breaking it is a console error.
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert console == []
    assert done.stdout.count('class="main-svg"') >= 3, done.stderr[-2000:]
    assert "<title>&lt;script&gt;alert(1)" in done.stdout
    assert re.findall(r'(?:src|href)="(https?:[^"]*)"', done.stdout.split("<script")[0]) == []
