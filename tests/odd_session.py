"""A small session with everything in it that a writer of files can trip over."""

from __future__ import annotations

from profiler import events as ev
from profiler.timeline import Timeline

MS = 1_000_000
NAME = 'Run "A", <b>bold</b>\n=SUM(1,2) </script><script>alert(1)</script>'
ANSWER = ["=1+1", "a,b", 'say "hi"\r\n', "</script>\u2028", "世界 🙂", "@x"]
SECRET_PROMPT = "the-secret-prompt-7391"
SECRET_ANSWER = "the-secret-answer-5520"


def odd_events(answer: list[str] | None = None) -> list[ev.Event]:
    """One run: a warm-up, an answer of six steps (gap 10, 20, 30, 40, 50 ms), one that failed."""
    pieces = ANSWER if answer is None else answer
    stamps = [100 * MS, 110 * MS, 130 * MS, 160 * MS, 200 * MS, 250 * MS]
    return [
        ev.RunStart(
            1,
            0,
            NAME,
            "/home/jane.doe/models/m",
            {"model": "/home/jane.doe/models/m", "prompt": SECRET_PROMPT, "output_tokens": 6, "name": NAME},
            {"hostname": "janes-laptop", "software": {"torch": "2.13"}},
        ),
        ev.RequestStart(1, 1, "w1", 10 * MS, 16, 1, warmup=True, label="Warm-up 1"),
        ev.make_steps(1, 0, [20 * MS], [1], [17], [5]),
        ev.RequestEnd(1, 21 * MS, "ok", "length"),
        ev.RequestStart(2, 1, "r1", 50 * MS, 16, 6, label="Repeat,\n1"),
        ev.Span(1, "tokenize", 50 * MS, 52 * MS, 2),
        ev.Span(1, "prefill", 52 * MS, 99 * MS, 2),
        ev.make_steps(2, 0, stamps, [1] * 6, [17, 18, 19, 20, 21, 22], [11, 12, 13, 14, 15, 16]),
        ev.Text(2, pieces),
        ev.Busy(2, 0, [40_000, 8_000, 15_000, 25_000, 30_000, 45_000]),
        ev.RequestEnd(2, 251 * MS, "ok", "length"),
        ev.RequestStart(3, 1, "r2", 200 * MS, 16, 6, label="Repeat 2"),
        ev.RequestEnd(3, 210 * MS, "error", "error", "could not open /home/jane.doe/x"),
        ev.Sample(60 * MS, "gpu0", {"power_w": 250.5, "memory_busy_pct": None}, 400),
        ev.Sample(160 * MS, "gpu0", {"power_w": 251.5, "memory_busy_pct": 30.0}, 400),
        ev.Interval("redraw", 105 * MS, 108 * MS),
        ev.Failure("run", 210 * MS, "could not open /home/jane.doe/x", None, None, 4),
        ev.RunEnd(1, 260 * MS, "finished"),
    ]


def odd_timeline(answer: list[str] | None = None) -> Timeline:
    timeline = Timeline()
    for event in odd_events(answer):
        timeline.apply(event)
    return timeline
