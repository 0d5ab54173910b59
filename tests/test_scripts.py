"""scripts/specdesk, scripts/test and what is behind them, on machines that are made up.

Each test has a checkout of its own, and a PATH with the few tools the scripts use and a stand-in for Python.
The stand-in runs the real interpreter for scripts/install.py and for the probe, and only plays at making an
environment: nothing is installed or fetched. What pip would do is in the file `pip` beside it; a test may put
commands before that with `Machine.pip_first`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
TOOLS = ("sh", "dirname", "readlink", "cksum", "uname", "id", "mkdir", "cp", "cat", "chmod", "touch", "rm")

PYTHON = """#!/bin/sh
case $1 in
    -c) exec "{real}" -c "{pretend}
$2" ;;
    -m)
        echo "venv" >>"{stubs}/calls"
        mkdir -p "$3/bin"
        touch "$3/pyvenv.cfg"
        cp "{stubs}/pip" "$3/bin/python" ;;
    *) exec "{real}" "$@" ;;
esac
"""

PIP = """#!/bin/sh
echo "$*" >>"{stubs}/calls"
venv=$(dirname "$0")/..
[ ! -r "{stubs}/first" ] || . "{stubs}/first"
case $* in
    "-m pip wheel"*)
        touch "$venv/specdesk/wheels/llama_cpp_python-1-py3-none-any.whl" ;;
    "-m pip install --no-index"*)
        mkdir -p "$venv/lib/python3/site-packages/llama_cpp_python-1.dist-info" ;;
    "-m pip install --editable"*)
        cp "{stubs}/command" "$venv/bin/specdesk"
        cp "{stubs}/command" "$venv/bin/pytest" ;;
esac
"""

COMMAND = """#!/bin/sh
for argument; do echo "[$argument]"; done
pwd
exit ${STUB_EXIT:-0}
"""


def write(path: Path, text: str) -> None:
    """Writes an executable."""
    path.write_text(text)
    path.chmod(0o755)


class Machine:
    """A checkout and the programs that its scripts can find."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a checkout"
        self.bin = folder / "bin"
        self.stubs = folder / "stubs"
        self.elsewhere = folder / "elsewhere"
        for made in (self.root, self.bin, self.stubs, self.elsewhere):
            made.mkdir()
        shutil.copytree(REPOSITORY / "scripts", self.root / "scripts")
        (self.root / "pyproject.toml").write_text('[project]\ndependencies = ["llama-cpp-python>=1"]\n')
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found, tool
            (self.bin / tool).symlink_to(found)
        for stub in ("cc", "c++", "xcode-select", "apt-get"):
            write(self.bin / stub, "#!/bin/sh\n")
        write(self.stubs / "pip", PIP.format(stubs=self.stubs))
        write(self.stubs / "command", COMMAND)
        self.python("python3.11")

    def python(self, name: str, pretend: str = "") -> None:
        """Puts a Python on PATH that answers questions about itself as if `pretend` were true."""
        own = f"import sys; sys.executable = sys._base_executable = '{self.bin / name}'\n{pretend}"
        write(self.bin / name, PYTHON.format(real=sys.executable, stubs=self.stubs, pretend=own))

    def pip_first(self, commands: str) -> None:
        """Shell commands that pip runs before it does its part; $* has its arguments."""
        (self.stubs / "first").write_text(commands)

    def change_project(self) -> None:
        """Edits pyproject.toml."""
        project = self.root / "pyproject.toml"
        project.write_text(project.read_text() + "# changed\n")

    def start(self, *words: str | Path, **variables: str) -> subprocess.Popen[str]:
        """Starts one of the scripts from another folder."""
        return subprocess.Popen(
            words,
            cwd=self.elsewhere,
            env={"PATH": str(self.bin), "HOME": str(self.elsewhere), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, script: str = "specdesk", **variables: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a script."""
        process = self.start(self.root / "scripts" / script, *arguments, **variables)
        out, err = process.communicate()
        return process.returncode, out, err

    def refusal(self, **variables: str) -> str:
        """The one line of a start that fails before it begins."""
        code, out, err = self.run(**variables)
        assert code == 1
        assert out == ""
        assert err.startswith("specdesk: ")
        assert err.count("\n") == 1
        return err

    def calls(self) -> list[str]:
        """What was asked of venv and pip since the last time, without paths."""
        log = self.stubs / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line.replace(f"{self.root}/.venv/specdesk/", "") for line in lines]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


ALL = [
    "venv",
    "-m pip install pip>=25.1",
    "-m pip wheel --no-deps --wheel-dir wheels llama-cpp-python>=1",
    "-m pip install --no-index --no-deps --find-links wheels llama-cpp-python>=1",
    "-m pip install --editable .",
    "-c import llama_cpp",
]


class TestStarts:
    def test_the_first_installs_and_then_runs_the_command(self, machine: Machine) -> None:
        code, out, err = machine.run("run", "two words", "--json", STUB_EXIT="7")
        assert code == 7
        assert out == f"[run]\n[two words]\n[--json]\n{machine.elsewhere}\n"
        assert machine.calls() == ALL
        assert all(line.startswith("specdesk: ") for line in err.splitlines())
        assert "making .venv" in err
        assert "llama-cpp-python" in err

    def test_the_second_needs_neither_python_nor_compiler_and_is_silent(self, machine: Machine) -> None:
        machine.run()
        machine.calls()
        for gone in ("python3.11", "cc", "c++"):
            (machine.bin / gone).unlink()
        code, out, err = machine.run("run", "two words", STUB_EXIT="3")
        assert (code, out, err) == (3, f"[run]\n[two words]\n{machine.elsewhere}\n", "")
        assert machine.calls() == []

    def test_a_python_of_the_environment_knows_from_the_first_start_on_where_it_is(self, machine: Machine) -> None:
        """Bug: the start that installed named it without its folder, and it took what it found on PATH for itself."""
        python = machine.root / ".venv" / "bin" / "python3"
        machine.pip_first(f'[ -L "{python}" ] || ln -s "{Path(sys.executable).resolve()}" "{python}"\n')
        (machine.bin / "ln").symlink_to(shutil.which("ln") or "ln")
        for _ in ("installs", "finds all there"):
            ask = ("runtime", "python3", "-S", "-c", "import sys; print(sys.executable)")
            code, out, err = machine.run(*ask, script="in-venv")
            assert (code, out) == (0, f"{python}\n"), err

    def test_through_symlinks(self, machine: Machine) -> None:
        inner = machine.elsewhere / "inner"
        inner.symlink_to(machine.root / "scripts" / "specdesk")
        outer = machine.elsewhere / "outer"
        outer.symlink_to("inner")
        process = machine.start(outer, "models")
        assert process.communicate()[0].startswith("[models]")
        assert (machine.root / ".venv").is_dir()

    def test_the_suite_runs_at_the_root_with_its_group(self, machine: Machine) -> None:
        code, out, _ = machine.run("-k", "one or two", script="test")
        assert code == 0
        assert out.endswith(f"[-k]\n[one or two]\n{machine.root}\n")
        assert "-m pip install --editable . --group test" in machine.calls()

    def test_the_command_after_the_suite_keeps_the_group(self, machine: Machine) -> None:
        machine.run(script="test")
        machine.calls()
        machine.run()
        assert machine.calls() == []
        machine.change_project()
        machine.run()
        assert "-m pip install --editable . --group test" in machine.calls()

    def test_the_suite_after_the_command_adds_its_group_and_needs_no_compiler(self, machine: Machine) -> None:
        machine.run()
        machine.calls()
        (machine.bin / "cc").unlink()
        code, _, _ = machine.run(script="test")
        assert code == 0
        assert machine.calls() == [ALL[3], "-m pip install --editable . --group test", ALL[5]]

    @pytest.mark.timeout(30)
    def test_two_at_once_take_turns(self, machine: Machine) -> None:
        started, go = machine.stubs / "started", machine.stubs / "go"
        os.mkfifo(started)
        os.mkfifo(go)
        machine.pip_first(f'case $* in *wheel\\ *) echo >"{started}"; read _ <"{go}" ;; esac\n')
        script = machine.root / "scripts" / "specdesk"
        one = machine.start(script, "one")
        started.read_text()
        two = machine.start(script, "two")
        assert two.stderr
        assert two.stderr.readline() == "specdesk: another start is installing into .venv; waiting for it\n"
        go.write_text("\n")
        assert one.communicate()[0].startswith("[one]")
        assert two.communicate()[0].startswith("[two]")
        assert machine.calls() == ALL


class TestSecondLibrary:
    """The extra `ik` of pyproject.toml: installed where there is a wheel, and gone without where there is none."""

    REQUIREMENT = "ik-llama-cpp-python==1; sys_platform == 'linux'"

    @pytest.fixture
    def machine(self, machine: Machine) -> Machine:
        project = machine.root / "pyproject.toml"
        project.write_text(f'{project.read_text()}[project.optional-dependencies]\nik = ["{self.REQUIREMENT}"]\n')
        return machine

    def test_its_wheel_is_installed_and_never_compiled(self, machine: Machine) -> None:
        code, _, err = machine.run(STUB_EXIT="7")
        assert code == 7
        assert machine.calls() == [*ALL, f"-m pip install --only-binary :all: --no-deps {self.REQUIREMENT}"]
        assert "without it" not in err

    def test_without_a_wheel_all_else_is_as_ever(self, machine: Machine) -> None:
        machine.pip_first("case $* in *--only-binary*) exit 1 ;; esac\n")
        code, out, err = machine.run("run", STUB_EXIT="7")
        assert code == 7
        assert out.startswith("[run]")
        assert "specdesk: no ready ik_llama.cpp for this system; going on without it\n" in err
        assert machine.run()[2] == ""


class TestRefusals:
    """One line on stderr that names what to install, nothing on stdout, exit code 1."""

    def test_no_python(self, machine: Machine) -> None:
        (machine.bin / "python3.11").unlink()
        assert "needs Python 3.11 or newer, found none; install it" in machine.refusal()

    def test_an_old_python(self, machine: Machine) -> None:
        (machine.bin / "python3.11").unlink()
        machine.python("python3", "sys.version_info = (3, 9, 1)")
        line = machine.refusal()
        assert "needs Python 3.11 or newer, found 3.9" in line
        assert "SPECDESK_PYTHON" in line

    def test_an_old_python_before_a_good_one_is_passed_over(self, machine: Machine) -> None:
        (machine.bin / "python3.11").unlink()
        machine.python("python3", "sys.version_info = (2, 7, 18)")
        machine.python("python")
        assert machine.run()[0] == 0

    def test_a_named_python_is_not_replaced_by_another(self, machine: Machine) -> None:
        machine.python("python3.9", "sys.version_info = (3, 9, 1)")
        assert "SPECDESK_PYTHON=python3.9 is 3.9" in machine.refusal(SPECDESK_PYTHON="python3.9")
        assert "SPECDESK_PYTHON=/no/such is no Python" in machine.refusal(SPECDESK_PYTHON="/no/such")

    def test_no_venv_module(self, machine: Machine) -> None:
        machine.python("python3.11", "sys.version_info = (3, 11, 2)\nsys.modules['ensurepip'] = None")
        line = machine.refusal()
        assert "Python 3.11 has no venv module" in line
        if sys.platform == "linux":
            assert "apt install python3.11-venv" in line

    @pytest.mark.skipif(sys.platform == "darwin", reason="the hint there is xcode-select --install")
    @pytest.mark.parametrize(
        ("manager", "package"), [("apt-get", "build-essential"), ("dnf", "gcc-c++"), ("pacman", "base-devel")]
    )
    @pytest.mark.parametrize(("gone", "language"), [("cc", "C"), ("c++", "C++")])
    def test_no_compiler(self, machine: Machine, manager: str, package: str, gone: str, language: str) -> None:
        (machine.bin / gone).unlink()
        (machine.bin / "apt-get").unlink()
        write(machine.bin / manager, "#!/bin/sh\n")
        line = machine.refusal()
        assert f"no {language} compiler found" in line
        assert package in line
        assert machine.calls() == []

    def test_a_compiler_named_by_the_environment_counts(self, machine: Machine) -> None:
        (machine.bin / "cc").rename(machine.bin / "our-cc")
        assert "no C compiler" in machine.refusal(CC="not-there -m64")
        assert machine.run(CC="our-cc -m64")[0] == 0

    def test_no_compiler_is_asked_for_where_pip_may_not_compile(self, machine: Machine) -> None:
        (machine.bin / "cc").unlink()
        assert machine.run(PIP_ONLY_BINARY="llama-cpp-python")[0] == 0

    def test_an_environment_made_by_hand_is_left_alone(self, machine: Machine) -> None:
        kept = machine.root / ".venv" / "bin" / "python"
        kept.parent.mkdir(parents=True)
        kept.touch()
        assert "is not ours" in machine.refusal()
        assert kept.exists()
        assert machine.run(SPECDESK_REBUILD="1")[0] == 0


class TestFailures:
    @pytest.mark.parametrize(
        ("output", "said"),
        [
            (
                "/src/ggml.c:1:1: fatal error: immintrin.h: No such file\nERROR: Failed building wheel",
                "/src/ggml.c:1:1: fatal error: immintrin.h: No such file",
            ),
            (
                "  CMake Error at CMakeLists.txt:8 (message):\n\n    No CUDA toolset found.\nerror: failed",
                "CMake Error at CMakeLists.txt:8 (message): No CUDA toolset found.",
            ),
            (
                "Retrying: Failed to establish a new connection\nERROR: No matching distribution found",
                "no connection to the package index",
            ),
            ("ERROR: No space left on device\nnotice: a new release of pip", "No space left on device"),
            ("odd", "odd"),
            ("", "it said nothing"),
        ],
    )
    def test_a_compile_that_fails_says_why_in_one_line(self, machine: Machine, output: str, said: str) -> None:
        machine.pip_first(f"case $* in *wheel\\ *) cat <<'END'\n{output}\nEND\nexit 1 ;; esac\n")
        code, out, err = machine.run()
        assert code == 1
        assert out == ""
        log = machine.root / ".venv" / "install.log"
        assert err.splitlines()[-1] == (
            f"specdesk: installing llama-cpp-python failed: {said}; everything it said is in {log}"
        )
        assert output in log.read_text()

    def test_a_failed_update_leaves_what_worked(self, machine: Machine) -> None:
        machine.run()
        project = machine.root / "pyproject.toml"
        before = project.read_text()
        machine.change_project()
        machine.pip_first("case $* in *editable*) echo ERROR: offline; exit 1 ;; esac\n")
        assert machine.run()[0] == 1
        project.write_text(before)
        machine.calls()
        assert machine.run("still")[1].startswith("[still]")
        assert machine.calls() == []

    @pytest.mark.timeout(30)
    @pytest.mark.parametrize(("pip_step", "redone"), [("wheel", ALL), ("--editable", ALL[:2] + ALL[3:])])
    def test_an_interrupted_install_ends_what_it_started_and_is_made_again(
        self, machine: Machine, pip_step: str, redone: list[str]
    ) -> None:
        self.interrupt(machine, pip_step)
        code, _, err = machine.run()
        assert code == 0
        assert "the last install did not finish" in err
        assert machine.calls() == redone

    @pytest.mark.timeout(30)
    def test_an_interrupted_update_is_not_taken_for_what_was_before(self, machine: Machine) -> None:
        machine.run()
        project = machine.root / "pyproject.toml"
        before = project.read_text()
        machine.change_project()
        self.interrupt(machine, "--editable")
        project.write_text(before)
        assert "the last install did not finish" in machine.run()[2]

    @staticmethod
    def interrupt(machine: Machine, pip_step: str) -> None:
        """Starts specdesk, ends it by a signal while pip is at that step, and forgets the calls so far."""
        started, never = machine.stubs / "started", machine.stubs / "never"
        os.mkfifo(started)
        os.mkfifo(never)
        machine.pip_first(f'case $* in *{pip_step}\\ *) echo $$ >"{started}"; read _ <"{never}" ;; esac\n')
        process = machine.start(machine.root / "scripts" / "specdesk")
        pip = int(started.read_text())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
        assert process.returncode == 128 + signal.SIGTERM
        assert out == ""
        assert err.endswith("specdesk: interrupted; the next start makes .venv again\n")
        with pytest.raises(ProcessLookupError):
            os.kill(pip, 0)
        machine.pip_first("")
        machine.calls()


class TestChanges:
    def test_a_changed_project_is_installed_again_and_nothing_is_compiled(self, machine: Machine) -> None:
        machine.run()
        machine.calls()
        machine.change_project()
        machine.run()
        assert machine.calls() == ALL[3:]

    def test_a_python_that_vanished(self, machine: Machine) -> None:
        machine.run()
        machine.calls()
        (machine.root / ".venv" / "bin" / "python").unlink()
        _, out, err = machine.run("now")
        assert out.startswith("[now]")
        assert "its Python is gone" in err
        assert machine.calls() == ALL[:2] + ALL[3:]

    def test_a_checkout_that_moved(self, machine: Machine) -> None:
        machine.run()
        machine.calls()
        machine.root = machine.root.rename(machine.root.with_name("moved"))
        _, out, err = machine.run("now")
        assert out.startswith("[now]")
        assert "the checkout was moved" in err
        assert machine.calls() == ALL[:2] + ALL[3:]

    def test_another_python_is_asked_for(self, machine: Machine) -> None:
        machine.run()
        machine.python("other")
        machine.calls()
        machine.run(SPECDESK_PYTHON="other")
        assert machine.calls()[0] == "venv"
        machine.run(SPECDESK_PYTHON="other")
        machine.run()
        assert machine.calls() == []

    def test_other_build_options_are_noticed_and_a_rebuild_uses_them(self, machine: Machine) -> None:
        machine.run()
        machine.calls()
        code, out, err = machine.run("run", CMAKE_ARGS="-DGGML_CUDA=on")
        assert code == 0
        assert out.startswith("[run]")
        assert "SPECDESK_REBUILD=1 compiles it again" in err
        assert machine.calls() == []
        machine.run(CMAKE_ARGS="-DGGML_CUDA=on", SPECDESK_REBUILD="1")
        assert machine.calls()[2] == (
            "-m pip wheel --no-deps --no-cache-dir --no-binary llama-cpp-python --wheel-dir wheels llama-cpp-python>=1"
        )
        assert machine.run(CMAKE_ARGS="-DGGML_CUDA=on")[2] == ""

    def test_build_options_are_remembered(self, machine: Machine) -> None:
        machine.run(CMAKE_ARGS="-DGGML_CUDA=on")
        machine.calls()
        machine.root = machine.root.rename(machine.root.with_name("moved"))
        machine.run()
        assert machine.calls() == ALL[:2] + ALL[3:]
        assert machine.run(CMAKE_ARGS="-DGGML_CUDA=on")[2] == ""
