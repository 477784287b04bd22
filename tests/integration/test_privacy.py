"""A session recorded without text tells neither prompt nor answer, by any way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli import dscope

from profiler.session.reader import SessionReader

PROMPT = "a-planted-prompt-8841"


@pytest.mark.parametrize("model", ["synthetic:ttft_ms=5,itl_ms=1", "preset:nano"])
def test_a_session_without_text(tmp_path: Path, home: Path, model: str) -> None:
    out = tmp_path / "x.dscope"
    options = (
        "--prompt",
        PROMPT,
        "--output-tokens",
        "12",
        "--repeats",
        "1",
        "--no-keep-text",
        "--no-reference",
    )
    recorded = dscope("record", "--model", model, *options, "--out", out)
    assert recorded.returncode == 0, recorded.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert PROMPT.encode() not in path.read_bytes(), path
    with SessionReader.open(out) as reader:
        timeline = reader.timeline()
        run = timeline.runs[1]
        assert run.config["prompt"] == "(not kept)"
        for request in run.requests:
            # How many tokens came is known, which ones is not.
            assert int(np.sum(request.k)) == 12
            assert len(request.ids) == 0
            assert request.text == ""
    assert '"output_tokens": 12' in dscope("report", out, "--json").stdout
