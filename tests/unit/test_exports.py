"""Exports, written and read again by other programs' rules."""

import csv
import json
from pathlib import Path

import pytest
from odd_session import ANSWER, MS, SECRET_ANSWER, SECRET_PROMPT, odd_events, odd_timeline

from profiler import events as ev
from profiler.errors import SessionExists, UsageError
from profiler.reporting.exports import FORMATS, export
from profiler.reporting.exports.html import script_json
from profiler.reporting.exports.privacy import clean, names_in
from profiler.reporting.exports.tables import COLUMNS, _cell, harmless
from profiler.reporting.report import report
from profiler.session.reader import SessionReader
from profiler.session.store import SessionWriter
from profiler.session.trace import read_trace
from profiler.timeline import Timeline


def strict(path: Path) -> object:
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(name))


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# -- every token ------------------------------------------------------------------------------


def test_csv_reads_back_every_value(tmp_path: Path) -> None:
    export(odd_timeline(), tmp_path / "t.csv", "csv")
    rows = read_csv(tmp_path / "t.csv")
    assert [row["request"] for row in rows] == ["w1"] + ["r1"] * 6
    answer = rows[1:]
    assert [row["label"] for row in answer] == ["Repeat,\n1"] * 6
    assert [float(row["t_ms"]) for row in answer] == [50.0, 60.0, 80.0, 110.0, 150.0, 200.0]
    assert [row["gap_ms"] for row in answer] == ["", "10.0", "20.0", "30.0", "40.0", "50.0"]
    assert [float(row["forward_ms"]) for row in answer] == [40.0, 8.0, 15.0, 25.0, 30.0, 45.0]
    assert [int(row["kv_len"]) for row in answer] == [17, 18, 19, 20, 21, 22]
    assert [row["token_ids"] for row in answer] == ["11", "12", "13", "14", "15", "16"]
    # The redraw from 105 to 108 ms lies in the second step, 100 to 110.
    assert [row["disturbed"] for row in answer] == ["0", "1", "0", "0", "0", "0"]
    assert [row["warmup"] for row in rows] == ["1"] + ["0"] * 6
    # What a spreadsheet would take for a formula has an apostrophe, the rest is as it was.
    assert [row["text"] for row in answer] == [
        "'=1+1",
        "a,b",
        'say "hi"\r\n',
        "</script>\u2028",
        "世界 🙂",
        "'@x",
    ]


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\tx", "\rx"])
def test_cells_that_a_spreadsheet_would_run_are_quoted(text: str) -> None:
    assert harmless(text) == "'" + text
    assert harmless("a" + text) == "a" + text


def test_a_negative_number_stays_a_number() -> None:
    """Only text is quoted: -1.5 in a column of floats is a number."""
    assert _cell(-1.5) == "-1.5"
    assert _cell("-1.5") == "'-1.5"
    assert _cell(None) == ""
    assert _cell(True) == 1


def test_parquet_holds_what_the_csv_holds(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export(odd_timeline(), tmp_path / "t.parquet", "parquet")
    table = parquet.read_table(tmp_path / "t.parquet")
    assert table.column_names == [column.name for column in COLUMNS]
    rows = table.to_pylist()
    assert [row["gap_ms"] for row in rows] == [None, None, 10.0, 20.0, 30.0, 40.0, 50.0]
    assert [row["text"] for row in rows] == ["", *ANSWER]
    assert rows[0]["warmup"] is True
    assert rows[0]["forward_ms"] is None


def test_several_tokens_a_step_are_one_row(tmp_path: Path) -> None:
    timeline = Timeline()
    for event in (
        ev.RunStart(1, 0),
        ev.RequestStart(1, 1, "r1", 0, 4, 8),
        ev.make_steps(1, 0, [MS, 2 * MS, 3 * MS], [1, 0, 3], [5, 5, 8], [7, 8, 9, 10]),
        ev.RequestEnd(1, 4 * MS, "ok", "length"),
    ):
        timeline.apply(event)
    export(timeline, tmp_path / "t.csv", "csv")
    rows = read_csv(tmp_path / "t.csv")
    assert [(row["token"], row["k"], row["token_ids"]) for row in rows] == [
        ("1", "1", "7"),
        ("4", "3", "8 9 10"),
    ]
    assert rows[1]["gap_ms"] == "2.0"


# -- documents --------------------------------------------------------------------------------


def test_json_is_the_report(tmp_path: Path) -> None:
    export(odd_timeline(), tmp_path / "t.json", "json", name="n")
    assert strict(tmp_path / "t.json") == report(odd_timeline(), session_name="n")


def test_markdown_is_text_whatever_the_names_are(tmp_path: Path) -> None:
    export(odd_timeline(), tmp_path / "t.md", "markdown", name="a|b `c` <i> @team\n# no")
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0] == "# a\\|b \\`c\\` &lt;i&gt; @\u200bteam \\# no"
    assert "<b>" not in text and "<script" not in text
    assert sum(line.startswith("#") for line in lines) == 2
    assert "| ITL (ms) | 30.00 | 48.00 | 49.60 | 50.00 | 5 |" in lines


def test_html_is_escaped_and_asks_for_nothing(tmp_path: Path) -> None:
    export(odd_timeline(), tmp_path / "t.html", "html", name="<img src=x onerror=alert(1)>")
    text = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert "<img src=x" not in text
    assert "<script>alert(1)" not in text
    assert "default-src 'none'" in text
    assert text.count("<script") == 4 - 1  # the data, plotly, ours
    start = text.index('id="data">') + len('id="data">')
    data = json.loads(text[start : text.index("</script>", start)])
    itl = next(f for f in data.values() if f["layout"]["yaxis"]["title"]["text"] == "ITL (ms)")
    series = next(trace for trace in itl["data"] if trace["name"].startswith("2 · Repeat"))
    assert series["x"] == [2, 3, 4, 5, 6]
    assert series["y"] == [10, 20, 30, 40, 50]


def test_json_inside_a_script_cannot_end_it() -> None:
    text = script_json({"a": "</script><!--\u2028&"})
    assert "<" not in text and ">" not in text and "&" not in text and "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!--\u2028&"}


def test_many_tokens_are_thinned_with_their_spikes(tmp_path: Path) -> None:
    import numpy as np

    from profiler.reporting.exports.page_data import thin

    y = np.full(100_000, 10.0)
    y[77_777] = 99.0
    y[12_345] = 1.0
    x, kept = thin(np.arange(100_000.0), y, 2000)
    assert len(x) <= 2100
    assert kept.max() == 99.0 and kept.min() == 1.0
    assert (np.diff(x) > 0).all()


# -- privacy, targets -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "dscope"])
def test_private_exports_tell_neither_who_nor_what(tmp_path: Path, name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    timeline = odd_timeline([SECRET_ANSWER] * 6)
    target = tmp_path / f"t{FORMATS[name].suffix}"
    export(timeline, target, name, name="jane's session", private=True)
    text = target.read_bytes().decode("utf-8", "replace")
    for secret in (SECRET_PROMPT, SECRET_ANSWER, "jane", "janes-laptop"):
        assert secret not in text, (name, secret)


def test_without_private_the_answer_is_there(tmp_path: Path) -> None:
    export(odd_timeline([SECRET_ANSWER] * 6), tmp_path / "t.csv", "csv")
    assert SECRET_ANSWER in (tmp_path / "t.csv").read_text(encoding="utf-8")


def test_a_private_trace_is_still_a_trace(tmp_path: Path) -> None:
    export(odd_timeline(), tmp_path / "t.jsonl", "jsonl", private=True)
    assert len(read_trace(tmp_path / "t.jsonl").events) > 5


def test_a_private_copy_of_the_session_itself(tmp_path: Path) -> None:
    source, target = tmp_path / "jane's run.dscope", tmp_path / "shared.dscope"
    with SessionWriter.create(source, {"hostname": "anna-pc", "os": "Linux"}, name="jane's run") as writer:
        writer.write(odd_events([SECRET_ANSWER] * 6))
        writer.write([ev.Note(1, "as anna-pc said, /home/jane.doe/x")])
    export(Timeline(), target, "dscope", private=True, source=source)
    data = target.read_bytes()
    for secret in (SECRET_PROMPT, SECRET_ANSWER, "jane", "janes-laptop", "anna-pc"):
        assert secret.encode() not in data, secret
    with SessionReader.open(target) as reader:
        (request,) = [r for r in reader.timeline().iter_requests() if r.end_status == "ok" and not r.warmup]
        assert request.k.tolist() == [1] * 6
        assert request.text == ""
        # The figures are those of the whole session.
        assert report(reader.timeline())["runs"][0]["metrics"] == report(odd_timeline())["runs"][0]["metrics"]
    assert SECRET_ANSWER.encode() in source.read_bytes()


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("C:\\Users\\John Smith\\m.gguf", "~\\m.gguf"),
        ("/home/bo/m: no such file", "~/m: no such file"),
        ("host anna-pc user bob", "host (left out) user (left out)"),
        ("the bobsled", "the bobsled"),
    ],
)
def test_names_that_the_session_tells_are_left_out(text: str, cleaned: str) -> None:
    names = names_in([{"user": "bob", "hostname": "anna-pc"}])
    assert clean(text, names) == cleaned


def test_nothing_is_replaced_unless_asked(tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    target.write_text("mine")
    with pytest.raises(SessionExists):
        export(odd_timeline(), target, "csv")
    assert target.read_text() == "mine"
    export(odd_timeline(), target, "csv", overwrite=True)
    assert target.read_text(encoding="utf-8").startswith("run,request,")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_odd_requests_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--format pdf is not known; choose one of: html, markdown"):
        export(odd_timeline(), tmp_path / "t", "pdf")
    with pytest.raises(UsageError, match="The session has no run 7; it has 1"):
        export(odd_timeline(), tmp_path / "t", "csv", run=7)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "dscope"])
def test_an_empty_session_can_be_exported(tmp_path: Path, name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    target = tmp_path / f"t{FORMATS[name].suffix}"
    export(Timeline(), target, name)
    assert target.exists()
