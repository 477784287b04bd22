"""A second start hands its file to the window that is open."""

import uuid
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalSocket

from app.second_start import SecondStarts, hand_over, server_name


@pytest.fixture
def name() -> str:
    return f"decodescope-test-{uuid.uuid4().hex[:12]}"


def _ask(qtbot, name: str, message: bytes) -> bytes:
    """What the listening window answers; both ends live in this thread."""
    socket = QLocalSocket()
    socket.connectToServer(name)
    assert socket.waitForConnected(1000)
    socket.write(message)
    socket.flush()
    qtbot.waitUntil(
        lambda: socket.canReadLine() or socket.state() is QLocalSocket.LocalSocketState.UnconnectedState
    )
    answer = bytes(socket.readLine().data())
    socket.abort()
    return answer


def test_the_open_window_takes_the_file(qtbot, name: str) -> None:
    taken: list[Path | None] = []
    server = SecondStarts(name, taken.append)
    assert server.listening
    assert _ask(qtbot, name, b'{"open": "/tmp/a b.dscope"}\n') == b"ok\n"
    assert _ask(qtbot, name, b'{"open": null}\n') == b"ok\n"
    assert taken == [Path("/tmp/a b.dscope"), None]
    server.close()


@pytest.mark.parametrize("message", [b"nonsense\n", b"[]\n", b'{"close": 1}\n', b"\xff\xfe\n"])
def test_nonsense_on_the_socket_is_hung_up_on(qtbot, name: str, message: bytes) -> None:
    taken: list[Path | None] = []
    server = SecondStarts(name, taken.append)
    assert _ask(qtbot, name, message) == b""
    assert taken == []
    server.close()


def test_without_a_window_the_start_goes_on(qtbot, name: str) -> None:
    assert not hand_over(name, None)


def test_only_the_first_window_listens(qtbot, name: str) -> None:
    first = SecondStarts(name, lambda _: None)
    second = SecondStarts(name, lambda _: None)
    assert first.listening
    assert not second.listening
    second.close()
    first.close()


def test_the_name_is_one_a_home(tmp_path: Path) -> None:
    assert server_name(tmp_path) == server_name(tmp_path)
    assert server_name(tmp_path) != server_name(tmp_path / "other")
    assert len(server_name(tmp_path)) < 40
