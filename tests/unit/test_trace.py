"""Traces in and out: what is read, what is refused and with which words, and that nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiler import events as ev
from profiler.errors import SessionError, SessionExists, TraceError
from profiler.session.reader import SessionReader
from profiler.session.trace import TraceFile, import_trace, read_trace, trace_lines, write_trace
from profiler.timeline import Timeline

REQUEST = '{"type":"request","id":"r1","t_ns":0,"prompt_tokens":16}'
STEP = '{"type":"step","id":"r1","t_ns":100,"k":1}'
END = '{"type":"end","id":"r1","t_ns":200,"status":"ok"}'

FULL = """\
{"type":"run","name":"one","model":"demo","config":{"repeats":3}}
{"type":"request","id":"r1","t_ns":0,"prompt_tokens":16,"max_new_tokens":4,"streamed":true,"warmup":false,"batch_id":"b1"}
{"type":"span","id":"r1","name":"prefill","t_ns":1000,"end_ns":2000}
{"type":"step","id":"r1","t_ns":5000,"k":1,"kv_len":17,"token_ids":[5],"disturbed":false}
{"type":"text","id":"r1","text":"a"}
{"type":"step","id":"r1","t_ns":6000,"k":2,"kv_len":19,"token_ids":[6,7],"disturbed":true}
{"type":"text","id":"r1","text":"世 "}
{"type":"end","id":"r1","t_ns":7000,"status":"ok","stop_reason":"length"}
{"type":"request","id":"r2","t_ns":0,"prompt_tokens":null,"max_new_tokens":null,"streamed":false,"warmup":true,"batch_id":null}
{"type":"step","id":"r2","t_ns":9000,"k":0,"kv_len":null,"disturbed":false}
{"type":"text","id":"r2","text":"x"}
{"type":"text","id":"r2","text":""}
{"type":"end","id":"r2","t_ns":9500,"status":"cancelled","stop_reason":null}
{"type":"run","name":"two","model":"","config":{}}
{"type":"request","id":"r3","t_ns":20000,"prompt_tokens":1,"max_new_tokens":9,"streamed":true,"warmup":false,"batch_id":null}
{"type":"sample","t_ns":5,"source":"gpu0","values":{"power_w":250.5,"busy":null}}
{"type":"sample","t_ns":6,"source":"gpu0","values":{"power_w":251.5,"busy":3.0}}
{"type":"sample","t_ns":6,"source":"host","values":{"cpu_pct":12.5}}
"""


def trace(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def timeline_of(file: TraceFile) -> Timeline:
    timeline = Timeline()
    timeline.apply_all(file.events)
    return timeline


def test_the_smallest_trace(tmp_path: Path) -> None:
    file = read_trace(trace(tmp_path, REQUEST, STEP, END))
    assert file.warnings == []
    timeline = timeline_of(file)
    (run,) = timeline.runs.values()
    assert (run.no, run.name, run.model, run.config) == (1, "", "", {})
    assert (run.status, run.t_ns, run.end_ns) == ("finished", 0, 200)
    (request,) = run.requests
    assert (request.id, request.t0_ns, request.prompt_tokens, request.max_new_tokens) == ("r1", 0, 16, None)
    assert (request.streamed, request.warmup, request.batch_id) == (True, False, None)
    assert (request.t_ns.tolist(), request.k.tolist(), request.kv_len.tolist()) == ([100], [1], [17])
    assert (request.end_ns, request.end_status, request.stop_reason) == (200, "ok", None)


def test_kv_len_is_prompt_and_produced_unless_told(tmp_path: Path) -> None:
    file = read_trace(
        trace(
            tmp_path,
            REQUEST,
            '{"type":"step","id":"r1","t_ns":1,"k":3}',
            '{"type":"step","id":"r1","t_ns":2,"k":0}',
            '{"type":"step","id":"r1","t_ns":3,"k":1,"kv_len":99}',
            '{"type":"step","id":"r1","t_ns":4,"k":1,"kv_len":null}',
            '{"type":"step","id":"r1","t_ns":5,"k":1}',
            '{"type":"request","id":"r2","t_ns":0}',
            '{"type":"step","id":"r2","t_ns":5,"k":1}',
        )
    )
    timeline = timeline_of(file)
    assert timeline.requests[1].kv_len.tolist() == [19, 19, 99, ev.UNKNOWN, 22]
    assert timeline.requests[2].kv_len.tolist() == [ev.UNKNOWN]


def test_interleaved_lines_and_numbers_by_first_appearance(tmp_path: Path) -> None:
    file = read_trace(
        trace(
            tmp_path,
            '{"type":"request","id":"b","t_ns":0}',
            '{"type":"request","id":"a","t_ns":1}',
            '{"type":"step","id":"a","t_ns":10,"k":1}',
            '{"type":"step","id":"b","t_ns":11,"k":1}',
            '{"type":"sample","t_ns":30,"source":"host","values":{"x":2}}',
            '{"type":"step","id":"a","t_ns":12,"k":1}',
            '{"type":"end","id":"b","t_ns":13,"status":"ok"}',
            '{"type":"step","id":"a","t_ns":9,"k":1}',
            '{"type":"sample","t_ns":20,"source":"host","values":{"x":1}}',
            '{"type":"sample","t_ns":20,"source":"host","values":{"y":5}}',
        )
    )
    timeline = timeline_of(file)
    assert [(request.no, request.id) for request in timeline.iter_requests()] == [(1, "b"), (2, "a")]
    assert timeline.requests[1].t_ns.tolist() == [11]
    assert timeline.requests[2].t_ns.tolist() == [10, 12, 9]
    assert timeline.requests[2].end_status is None
    assert timeline.runs[1].status == "finished"
    host = timeline.samples["host"]
    assert host.t_ns.tolist() == [20, 30]
    np.testing.assert_equal(host.values("x"), [1, 2])
    np.testing.assert_equal(host.values("y"), [5, np.nan])


def test_run_lines_start_runs(tmp_path: Path) -> None:
    path = trace(
        tmp_path, REQUEST, '{"type":"run"}', REQUEST.replace("r1", "r2"), END.replace("r1", "r2"), STEP
    )
    timeline = timeline_of(read_trace(path))
    assert [[request.id for request in run.requests] for run in timeline.runs.values()] == [["r1"], ["r2"]]
    assert timeline.requests[1].t_ns.tolist() == [100]
    assert [run.end_ns for run in timeline.runs.values()] == [100, 200]


def test_blank_lines_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    text = f"\ufeff{REQUEST}\r\n\r\n   \r\n{STEP}\r\n" + '{"type":"text","id":"r1","text":"a\u2028b"}'
    path.write_bytes(text.encode())
    timeline = timeline_of(read_trace(path))
    assert timeline.requests[1].pieces == ["a\u2028b"]
    assert len(timeline.requests[1]) == 1


def test_unknown_keys_are_left_out_and_told_once(tmp_path: Path) -> None:
    lines = [STEP[:-1] + f',"speed":{i}}}' for i in range(3)]
    file = read_trace(trace(tmp_path, REQUEST[:-1] + ',"user":"x"}', *lines))
    assert file.warnings == ["Unknown keys were left out: user (request), speed (step)."]


def test_ids_that_do_not_fit_are_left_out_and_told(tmp_path: Path) -> None:
    file = read_trace(
        trace(tmp_path, REQUEST, STEP[:-1] + ',"token_ids":[1,2]}', STEP[:-1] + ',"token_ids":[3]}')
    )
    assert timeline_of(file).requests[1].ids.tolist() == []
    assert len(file.warnings) == 1
    assert "token ids of 1 requests were left out" in file.warnings[0]


REFUSED = {
    "not json": ([REQUEST, STEP, '{"type":"step","id":"r1",'], 3, "not JSON"),
    "no object": ([REQUEST, "[1]"], 2, "no JSON object"),
    "a number": (["7"], 1, "no JSON object"),
    "nan": ([REQUEST, '{"type":"sample","t_ns":1,"source":"x","values":{"a":NaN}}'], 2, "not JSON"),
    "infinity": (
        [REQUEST, '{"type":"sample","t_ns":1,"source":"x","values":{"a":-Infinity}}'],
        2,
        "not JSON",
    ),
    "1e999": ([REQUEST, '{"type":"sample","t_ns":1,"source":"x","values":{"a":1e999}}'], 2, "not JSON"),
    "too deep": ([REQUEST, "[" * 100_000], 2, "not JSON"),
    "unknown type": (['{"type":"token"}'], 1, "the type 'token' is not known"),
    "type is no text": (['{"type":["run"]}'], 1, "is not known"),
    "no type": (['{"id":"r1"}'], 1, "there is no type"),
    "step before request": ([STEP, REQUEST], 1, "a step of 'r1' comes before the line of its request"),
    "span before request": (
        ['{"type":"span","id":"r1","name":"x","t_ns":0,"end_ns":1}'],
        1,
        "a span of 'r1' comes before",
    ),
    "text before request": (['{"type":"text","id":"r1","text":"x"}'], 1, "a text of 'r1' comes before"),
    "end before request": ([END], 1, "an end of 'r1' comes before"),
    "second request": ([REQUEST, STEP, REQUEST], 3, "has a line already"),
    "second request in another run": ([REQUEST, '{"type":"run"}', REQUEST], 3, "has a line already"),
    "second end": ([REQUEST, END, END], 3, "has an end already"),
    "step after end": ([REQUEST, END, STEP], 3, "a step of 'r1' comes after its end"),
    "negative k": ([REQUEST, STEP.replace('"k":1', '"k":-1')], 2, "k must be an integer of 0 or more"),
    "k a fraction": ([REQUEST, STEP.replace('"k":1', '"k":1.5')], 2, "k must be an integer"),
    "k a float": ([REQUEST, STEP.replace('"k":1', '"k":1.0')], 2, "k must be an integer"),
    "k true": ([REQUEST, STEP.replace('"k":1', '"k":true')], 2, "k must be an integer"),
    "k null": ([REQUEST, STEP.replace('"k":1', '"k":null')], 2, "k must be an integer"),
    "k text": ([REQUEST, STEP.replace('"k":1', '"k":"1"')], 2, "k must be an integer"),
    "k huge": ([REQUEST, STEP.replace('"k":1', '"k":2147483648')], 2, "k is too large"),
    "no k": ([REQUEST, STEP.replace(',"k":1', "")], 2, "a step needs k"),
    "too many tokens": ([REQUEST, STEP.replace('"k":1', '"k":2147483647')], 2, "more tokens than"),
    "no time": ([REQUEST, STEP.replace('"t_ns":100,', "")], 2, "t_ns must be an integer of 64 bits"),
    "time a float": ([REQUEST.replace('"t_ns":0', '"t_ns":0.0')], 1, "t_ns must be an integer of 64 bits"),
    "time true": ([REQUEST.replace('"t_ns":0', '"t_ns":true')], 1, "t_ns must be an integer of 64 bits"),
    "time too large": ([REQUEST, STEP.replace("100", "9223372036854775808")], 2, "integer of 64 bits"),
    "time too small": ([REQUEST, STEP.replace("100", "-9223372036854775809")], 2, "integer of 64 bits"),
    "end without time": ([REQUEST, END.replace('"t_ns":200,', "")], 2, "t_ns must be"),
    "span without end": (
        [REQUEST, '{"type":"span","id":"r1","name":"x","t_ns":0}'],
        2,
        "end_ns must be an integer",
    ),
    "sample time": ([REQUEST, '{"type":"sample","t_ns":"5","source":"x","values":{}}'], 2, "t_ns must be"),
    "no id": ([REQUEST.replace('"id":"r1",', "")], 1, "the id of this request line must be given"),
    "id a number": ([REQUEST.replace('"r1"', "1")], 1, "the id of this request line must be given"),
    "no status": ([REQUEST, END.replace(',"status":"ok"', "")], 2, "an end needs a status"),
    "odd status": ([REQUEST, END.replace("ok", "failed")], 2, "an end needs a status"),
    "status a list": ([REQUEST, END.replace('"ok"', '["ok"]')], 2, "an end needs a status"),
    "warmup a number": ([REQUEST[:-1] + ',"warmup":1}'], 1, "warmup must be true or false"),
    "prompt negative": ([REQUEST.replace("16", "-1")], 1, "prompt_tokens must be an integer of 0 or more"),
    "config a list": (['{"type":"run","config":[]}'], 1, "config must be a JSON object"),
    "value a text": (
        [REQUEST, '{"type":"sample","t_ns":5,"source":"x","values":{"a":"1"}}'],
        2,
        "the value 'a' of a sample must be a number or null",
    ),
    "ids no list": ([REQUEST, STEP[:-1] + ',"token_ids":5}'], 2, "token_ids must be a list of integers"),
    "ids true": ([REQUEST, STEP[:-1] + ',"token_ids":[true]}'], 2, "token_ids must be a list of integers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    lines, number, words = REFUSED[name]
    with pytest.raises(TraceError) as caught:
        import_trace(trace(tmp_path, *lines), tmp_path / "out.dscope")
    assert caught.value.line == number
    assert str(caught.value).startswith(f"line {number}: ")
    assert words in caught.value.message
    assert caught.value.exit_code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["t.jsonl"]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(REQUEST.encode() + b'\n{"type":"text","id":"r1","text":"\xff"}\n')
    with pytest.raises(TraceError, match="line 2: this is not text in UTF-8"):
        read_trace(path)


@pytest.mark.parametrize(
    "lines", [[], [""], ['{"type":"run"}'], ['{"type":"sample","t_ns":1,"source":"x","values":{}}']]
)
def test_a_file_without_a_request(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(TraceError, match="has no request"):
        read_trace(trace(tmp_path, *lines))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace(tmp_path / "none.jsonl")
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace(tmp_path)


def test_the_ends_of_sixty_four_bits(tmp_path: Path) -> None:
    low, high = -(2**63), 2**63 - 1
    path = trace(
        tmp_path,
        f'{{"type":"request","id":"r1","t_ns":{high}}}',
        f'{{"type":"step","id":"r1","t_ns":{low},"k":1}}',
        f'{{"type":"end","id":"r1","t_ns":{high},"status":"error"}}',
    )
    import_trace(path, tmp_path / "out.dscope")
    with SessionReader.open(tmp_path / "out.dscope") as reader:
        request = reader.timeline().requests[1]
        assert (request.t0_ns, request.t_ns.tolist(), request.end_ns) == (high, [low], high)


def export(path: Path, out: Path) -> None:
    with SessionReader.open(path) as reader:
        write_trace(reader.timeline(), out)


def test_import_and_export_give_the_same_lines(tmp_path: Path) -> None:
    source = tmp_path / "full.jsonl"
    source.write_text(FULL, encoding="utf-8")
    file = import_trace(source, tmp_path / "a.dscope", name="full")
    assert file.warnings == []
    export(tmp_path / "a.dscope", tmp_path / "b.jsonl")
    assert (tmp_path / "b.jsonl").read_text(encoding="utf-8") == FULL
    with SessionReader.open(tmp_path / "a.dscope") as reader:
        assert reader.name == "full"
        assert reader.facts["imported_from"] == "full.jsonl"
        assert not reader.ended_unexpectedly
        assert reader.timeline().requests[1].pieces == ["a", "世 "]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.dscope", "b.jsonl", "full.jsonl"]


def test_ids_that_repeat_in_another_run_are_made_unique() -> None:
    timeline = Timeline()
    timeline.apply_all(
        [
            ev.RunStart(1, 0),
            ev.RequestStart(1, 1, "r1", 0),
            ev.RunStart(2, 5),
            ev.RequestStart(2, 2, "r1", 5),
            ev.RequestEnd(2, 6, "ok"),
        ]
    )
    ids = [json.loads(line).get("id") for line in trace_lines(timeline)]
    assert ids == [None, "r1", None, "2/r1", "2/r1"]


def test_disturbed_comes_from_intervals_too() -> None:
    timeline = Timeline()
    timeline.apply_all(
        [
            ev.RunStart(1, 0),
            ev.RequestStart(1, 1, "r1", 0),
            ev.make_steps(1, 0, [100, 200, 300]),
            ev.Interval("redraw", 150, 160),
        ]
    )
    steps = [json.loads(line) for line in trace_lines(timeline) if '"step"' in line]
    assert [step["disturbed"] for step in steps] == [False, True, False]


def test_a_number_of_tokens_that_is_not_known_cannot_be_exported(tmp_path: Path) -> None:
    timeline = Timeline()
    timeline.apply_all(
        [ev.RunStart(1, 0), ev.RequestStart(1, 1, "r1", 0), ev.make_steps(1, 0, [5], [ev.UNKNOWN])]
    )
    with pytest.raises(TraceError, match="number of tokens is not known"):
        write_trace(timeline, tmp_path / "t.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_neither_way_replaces_a_file(tmp_path: Path) -> None:
    source = trace(tmp_path, REQUEST, STEP, END)
    taken = tmp_path / "taken.dscope"
    taken.write_text("mine")
    with pytest.raises(SessionExists):
        import_trace(source, taken)
    with pytest.raises(SessionError, match="create it first"):
        import_trace(source, tmp_path / "missing" / "a.dscope")
    with pytest.raises(SessionExists):
        write_trace(Timeline(), taken)
    assert taken.read_text() == "mine"
    import_trace(source, taken, overwrite=True)
    with SessionReader.open(taken) as reader:
        assert len(reader.timeline().requests) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t.jsonl", "taken.dscope"]


_TIMES = st.integers(-(2**63), 2**63 - 1)
_TEXT = st.text(st.characters(), max_size=5)


@st.composite
def _requests(draw: st.DrawFn) -> list[str]:
    """The lines of some requests, in any order that keeps the order within each."""
    queues: list[list[dict[str, object]]] = []
    for number in range(draw(st.integers(1, 4))):
        id_ = f"{number}{draw(_TEXT)}"
        own: list[dict[str, object]] = [
            {
                "type": "request",
                "id": id_,
                "t_ns": draw(_TIMES),
                "prompt_tokens": draw(st.none() | st.integers(0, 9)),
            }
        ]
        with_ids = draw(st.booleans())
        for _ in range(draw(st.integers(0, 5))):
            k = draw(st.integers(0, 3))
            step: dict[str, object] = {"type": "step", "id": id_, "t_ns": draw(_TIMES), "k": k}
            if with_ids:
                step["token_ids"] = draw(st.lists(st.integers(0, 2**31 - 1), min_size=k, max_size=k))
            own.append(step)
            if draw(st.booleans()):
                own.append({"type": "text", "id": id_, "text": draw(_TEXT)})
        if draw(st.booleans()):
            status = draw(st.sampled_from(ev.END_STATUSES))
            own.append({"type": "end", "id": id_, "t_ns": draw(_TIMES), "status": status})
        queues.append(own)
    lines = []
    while any(queues):
        queue = draw(st.sampled_from([queue for queue in queues if queue]))
        lines.append(json.dumps(queue.pop(0)))
    return lines


@given(lines=_requests())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_export_import_export_gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("trace")
    source = trace(folder, *lines)
    first = list(trace_lines(timeline_of(read_trace(source))))
    import_trace(source, folder / "a.dscope")
    export(folder / "a.dscope", folder / "b.jsonl")
    import_trace(folder / "b.jsonl", folder / "c.dscope")
    export(folder / "c.dscope", folder / "d.jsonl")
    assert (folder / "b.jsonl").read_bytes() == (folder / "d.jsonl").read_bytes()
    assert (folder / "b.jsonl").read_text(encoding="utf-8").split("\n")[:-1] == first
    given_steps = [json.loads(line) for line in lines if '"type": "step"' in line]
    told = [json.loads(line) for line in first if '"type":"step"' in line]
    key = lambda step: (step["id"], step["t_ns"], step["k"])  # noqa: E731
    assert sorted(map(key, given_steps)) == sorted(map(key, told))
