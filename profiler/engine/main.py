"""The engine as a process of its own: what the window starts.

Commands come as JSON on one pipe, events go out on another through a bounded publisher. When
the window is gone (end of file), the run is stopped, the file closed, and the process ends.

The window holds `engine_main` to start it, and none of what it needs: that is imported inside.
"""

from __future__ import annotations

import json
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from profiler import events as ev
from profiler.worker.interrupts import ignore_interrupt


def engine_main(commands: Connection, messages: Connection, library: str | None) -> None:
    """Entry of the process. `commands` is read and `messages` written by this process alone."""
    ignore_interrupt()
    from profiler.engine.core import Engine
    from profiler.engine.publisher import Publisher

    publisher = Publisher(messages.send_bytes)
    engine = Engine(publish=publisher.publish, library=Path(library) if library else None)
    connected = True
    try:
        while not engine.finished:
            watch = [commands] if connected else []
            # While a model runs every wake-up costs it something; what comes wakes us anyway.
            for _ in engine.poll(0.25 if engine.state == "running" else 0.05, watch):
                try:
                    command = json.loads(commands.recv_bytes())
                except (EOFError, OSError):
                    connected = False
                    engine.parent_gone()
                    break
                if command["verb"] == "redraw":
                    engine.redraws(command["intervals"])
                else:
                    engine.command(command["id"], command["verb"], command.get("args", {}))
            if publisher.wants_resync():
                publisher.resume(engine.resync())
    except Exception as error:  # noqa: BLE001 - the last words of the process: told, then it ends
        publisher.publish(
            [
                ev.Failure(
                    "engine",
                    engine.now_ns(),
                    f"The engine failed ({type(error).__name__}: {error}). What was recorded is kept.",
                    traceback.format_exc(),
                )
            ]
        )
        engine.abandon(f"the engine failed: {type(error).__name__}")
    finally:
        engine.close()
        publisher.close()
    # A thread that a driver call holds must not keep the process.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(1.0)
