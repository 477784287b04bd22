"""Help and About, and the report of a problem: what is in it, and what must never be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.about import about_text, show_about
from app.diagnostics import REMOVED, diagnostics_text, scrubbed, versions
from app.theme import LIGHT
from profiler import events as ev
from profiler.paths import log_dir

MACHINE = {
    "devices": [{"name": "cpu", "label": "cpu · Test CPU · 2 cores", "free_bytes": 8 << 30}],
    "gpu_reason": "No NVIDIA driver is installed.",
    "torch": "2.13.0+cpu",
    "usable_cpus": 2,
    "hardware": {"cpu": {"model": "Test CPU", "governor": "powersave"}, "memory": {"total_bytes": 16 << 30}},
    "software": {"packages": {"transformers": "5.24.0", "torch": "2.13.0"}},
}
SECRETS = {
    "HF_TOKEN": "hf_PlantedPlantedPlanted0001",
    "OPENAI_API_KEY": "sk-PlantedPlantedPlanted0002",
    "DATABASE_PASSWORD": "planted-horse-battery",
    "SHELL": "/bin/planted-shell",
}


def log(message: str, detail: str | None = None, t_ns: int = 0) -> ev.Log:
    return ev.Log("error", t_ns, "worker", message, detail)


class TestScrubbing:
    @pytest.mark.parametrize(
        ("text", "clean"),
        [
            ("nothing to hide, prompt_tokens=16", "nothing to hide, prompt_tokens=16"),
            ("TOKENIZERS_PARALLELISM=false", "TOKENIZERS_PARALLELISM=false"),
            ("OMP_NUM_THREADS=2", "OMP_NUM_THREADS=2"),
            ("got planted-horse-battery back", "got [removed] back"),
            ("HF_TOKEN is set", "[removed] is set"),
            ("OTHER_SECRET=abc def", "[removed] def"),
            ("MY_API_KEY: 'a b c' end", "[removed] end"),
            ("Authorization: Bearer abc.def", "Authorization: [removed]"),
            ("token hf_abcdefghijkl refused", "token [removed] refused"),
            ("https://me:word@host/x", "https://[removed]host/x"),
            ("open /home/tester/models/x.gguf", "open ~/models/x.gguf"),
            ("open /home/somebody/x and /Users/Some.Body/y", "open ~/x and ~/y"),
            (r"C:\Users\Somebody\models", r"~\models"),
            ("disk-something-long-enough", "disk-something-long-enough"),
        ],
    )
    def test_what_goes_and_what_stays(self, text: str, clean: str) -> None:
        assert scrubbed(text, SECRETS, home="/home/tester") == clean

    def test_only_the_home_itself_becomes_a_tilde(self) -> None:
        assert scrubbed("/rooted /root/x /root", {}, home="/root") == "/rooted ~/x ~"


class TestReport:
    def test_it_tells_versions_machine_and_log(self) -> None:
        text = diagnostics_text(
            MACHINE, [log("It broke.", "Traceback\n  line\nValueError: no")], {"OMP_NUM_THREADS": "2"}, "6.11"
        )
        for line in (
            "torch: 2.13.0+cpu",
            "transformers: 5.24.0",
            "Qt: 6.11",
            "Processor: Test CPU",
            "Governor: powersave",
            "Memory: 16.0 GiB",
            "Why no GPU: No NVIDIA driver is installed.",
            "Device: cpu · Test CPU · 2 cores",
            "OMP_NUM_THREADS=2",
            "    0.00 s error worker: It broke.",
            "           ValueError: no",
        ):
            assert line in text.splitlines()
        assert "  line" not in text.splitlines()

    def test_no_secret_and_no_home_is_in_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        home = str(Path.home())
        for name, value in SECRETS.items():
            monkeypatch.setenv(name, value)
        story = f"could not open {home}/models with {SECRETS['HF_TOKEN']} ({SECRETS['OPENAI_API_KEY']})"
        (log_dir() / "window.log").write_text(f"ERROR {story}\nHF_TOKEN={SECRETS['HF_TOKEN']}\n", "utf-8")
        text = diagnostics_text({**MACHINE, "driver": SECRETS["DATABASE_PASSWORD"]}, [log(story, story)])
        assert "Planted" not in text and "planted" not in text
        for name in SECRETS:
            assert name not in text
        assert f"{home}/" not in text
        assert text.count("could not open ~/models") == 3
        assert REMOVED in text

    def test_an_engine_that_told_nothing(self) -> None:
        text = diagnostics_text({}, [], {})
        assert "The engine has not told about the machine." in text
        assert versions({})["pyqtgraph"].startswith("0.14")

    def test_long_logs_show_their_end(self) -> None:
        entries = [log(f"line {number}", t_ns=number * 1_000_000_000) for number in range(100)]
        text = diagnostics_text({}, entries, {})
        assert "line 99" in text and "line 60" in text and "line 59" not in text

    def test_odd_machine_facts_do_no_harm(self) -> None:
        text = diagnostics_text({"hardware": None, "software": 5, "devices": ["x"], "torch": None}, [], {})
        assert text.startswith("Decodescope diagnostics")

    def test_torch_is_not_imported_for_its_version(self) -> None:
        code = (
            "import sys; from app.diagnostics import diagnostics_text; text = diagnostics_text({});"
            "assert 'torch: ' in text; assert not {'torch', 'transformers', 'PySide6'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


class TestDialog:
    def test_it_copies_the_report_and_says_so(self, qtbot: QtBot, home: Path) -> None:
        parent = QWidget()
        qtbot.addWidget(parent)
        parent.show()
        dialog = show_about(parent, MACHINE, [log("<b>It broke.</b>")], LIGHT)
        assert "left out" in dialog.told.text()
        dialog.copy_button.click()
        text = QGuiApplication.clipboard().text()
        assert "error worker: <b>It broke.</b>" in text and "torch: 2.13.0+cpu" in text
        assert "Copied" in dialog.told.text()
        assert "OFL-1.1" in dialog.licences.toPlainText()
        dialog.accept()

    def test_versions_and_places_as_text(self, home: Path) -> None:
        text = about_text(MACHINE)
        assert "torch 2.13.0+cpu" in text and "transformers 5.24.0" in text
        assert f"Recordings: {home / 'sessions'}" in text
