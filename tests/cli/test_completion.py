"""Shell completion: the script knows each command, its options and their choices, and which files are meant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from children import WAIT
from tidelog.cli import COMMANDS, main

ASK = """
source completion.bash
for words in "$@"; do
    IFS='|' read -r -a COMP_WORDS <<< "$words"
    COMP_WORDS=("${COMP_WORDS[@]//-EMPTY-/}")
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    COMPREPLY=()
    _shtab_tidelog
    echo "${COMPREPLY[@]}"
done
"""


def test_bash_completes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Commands, their options, choices, commands of commands, and files of programs."""
    monkeypatch.chdir(tmp_path)
    for name in ("pump.tide", "pump.txt", "other.tide"):
        (tmp_path / name).touch()
    assert main(["completion", "bash"]) == 0
    (tmp_path / "completion.bash").write_text(capfd.readouterr().out)
    asked = {
        "tidelog|-EMPTY-": " ".join(COMMANDS),
        "tidelog|mat": "materialise",
        "tidelog|run|--emi": "--emit",
        "tidelog|run|--emit|-EMPTY-": "intervals final changes points",
        "tidelog|check|pu": "pump.tide",
        "tidelog|materialise|pump.tide|pump": "pump.tide pump.txt",
        "tidelog|tables|opt": "optimize",
    }
    done = subprocess.run(["bash", "-c", ASK, "bash", *asked], capture_output=True, text=True, check=True, timeout=WAIT)
    assert [sorted(line.split()) for line in done.stdout.splitlines()] == [sorted(text.split()) for text in asked.values()]


@pytest.mark.parametrize("shell", ["zsh", "fish", "tcsh"])
def test_other_shells_have_a_script(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Each names all commands."""
    assert main(["completion", shell]) == 0
    script = capfd.readouterr().out
    assert all(command in script for command in COMMANDS)


def test_what_is_missing_is_named() -> None:
    """The extra; and no other shell is known."""
    code = "import sys; sys.modules['shtab'] = None; from tidelog.cli import main; sys.exit(main(['completion', 'bash']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "install `tidelog[completion]`" in done.stderr
    assert main(["completion", "cmd"]) == 2
