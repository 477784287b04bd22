"""All pages, small and large, dark and light, at 100 and 150 % text: no text is cut.

A text size of 150 % scales everything, so that a window of 1280 x 800 px has room for
853 x 533 of the design's pixels: that is what is laid out here.
"""

from pathlib import Path

import pytest
from clipping import bad_words, cut_texts, overlapping_texts
from compare_sessions import gaps, run_events, write_session
from pytestqt.qtbot import QtBot
from window_parts import bench

from profiler.analysis.selection import TokenRange

SIZES = {"1280x800": (1280, 800), "1920x1080": (1920, 1080), "1280x800 at 150 %": (853, 533)}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("page", ["profile", "compare", "sessions"])
def test_no_text_of_a_page_is_cut(qtbot: QtBot, tmp_path: Path, page: str, size: tuple[int, int]) -> None:
    with bench(qtbot, tmp_path) as b:
        b.window.setMinimumSize(0, 0)
        b.window.resize(*size)
        b.window.show_page(page)
        b.settle(lambda: not b.background.busy)
        qtbot.wait(10)  # posted layouts
        assert (b.window.width(), b.window.height()) == size
        assert cut_texts(b.window) == []
        assert overlapping_texts(b.window) == []


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize(("mode", "gpu"), [("dark", False), ("light", True)])
def test_no_text_of_a_finished_run_is_cut(
    qtbot: QtBot, tmp_path: Path, size: tuple[int, int], mode: str, gpu: bool
) -> None:
    with bench(qtbot, tmp_path, mode) as b:
        b.window.setMinimumSize(0, 0)
        b.window.resize(*size)
        b.window.start()
        b.settle(lambda: b.client.verbs.count("run"))
        b.client.whole_run(gpu=gpu)
        b.settle(lambda: not b.controller.active and b.controller.values_final)
        # One line of figures wherever eight of them have room side by side.
        assert b.page.kpis.lines == (2 if size[0] < 1280 else 1)
        for tokens in (None, TokenRange(40, 101)):
            if tokens is not None:
                b.page.links.selection.settle(tokens)
            for at in (None, 3, 60, 128):
                b.page.token_latency.hovered.emit(at)
                qtbot.wait(10)  # posted layouts
                assert cut_texts(b.window) == []
                assert overlapping_texts(b.window) == []
                assert bad_words(b.window) == [], (tokens, at)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_no_text_of_a_failed_run_is_cut(qtbot: QtBot, tmp_path: Path, size: tuple[int, int]) -> None:
    with bench(qtbot, tmp_path) as b:
        b.window.setMinimumSize(0, 0)
        b.window.resize(*size)
        b.window.start()
        b.settle(lambda: b.client.verbs.count("run"))
        b.client.loading()
        b.client.begin()
        b.client.request(warmup=True)
        b.client.request(status="failed", tokens=20)
        b.client.finish("failed", "CUDA ran out of memory while the cache grew.")
        b.settle(lambda: not b.controller.active)
        qtbot.wait(10)
        assert cut_texts(b.window) == []
        assert overlapping_texts(b.window) == []
        assert bad_words(b.window) == []


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_no_text_of_pages_with_sessions_is_cut(
    qtbot: QtBot, tmp_path: Path, home: Path, size: tuple[int, int]
) -> None:
    library = home / "sessions"
    library.mkdir(parents=True)
    paths = [
        write_session(library / f"{name}.dscope", run_events(1, gaps(6, 60, 13.0 * factor, seed)), name=name)
        for seed, (name, factor) in enumerate(
            (("before", 1.0), ("after", 1.06), ("a name that is long", 0.97))
        )
    ]
    with bench(qtbot, tmp_path) as b:
        b.window.setMinimumSize(0, 0)
        b.window.resize(*size)
        b.window.show_page("sessions")
        page = b.window.pages.page("sessions")
        b.settle(lambda: not b.background.busy and len(page.model.entries) == 3)
        qtbot.wait(10)
        assert (b.window.width(), b.window.height()) == size
        assert (cut_texts(b.window), overlapping_texts(b.window), bad_words(b.window)) == ([], [], [])

        b.window.compare(paths)
        compare = b.window.pages.page("compare")
        b.settle(lambda: not b.background.busy and compare.differences.table.rowCount() > 8)
        qtbot.wait(10)
        assert (b.window.width(), b.window.height()) == size
        assert (cut_texts(b.window), overlapping_texts(b.window), bad_words(b.window)) == ([], [], [])
