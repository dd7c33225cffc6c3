# SPDX-License-Identifier: Apache-2.0
"""Completion: what a user gets who types a line and presses the tab key."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import HERE, wait_until

FILES = HERE.parent.parent / "contrib/completion"


@pytest.fixture
def where(tmp_path):
    """Some directories and a file to be named."""
    for name in ("captures.sds", "cached/blocks", "mnt"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "capture.txt").touch()
    (tmp_path / "mnt.conf").touch()
    return tmp_path


class Terminal:
    """An interactive shell on a terminal of its own."""

    def __init__(self, argv: list[str], where: Path) -> None:
        self.leader, follower = pty.openpty()
        plain = {"PATH": os.environ["PATH"], "HOME": str(where), "TERM": "dumb", "PS1": "READY> ", "INPUTRC": "/dev/null", "ZDOTDIR": str(where)}
        self.process = subprocess.Popen(argv, cwd=where, env=plain, stdin=follower, stdout=follower, stderr=follower, start_new_session=True)
        os.close(follower)
        self.seen = ""

    def until(self, pattern: str) -> str:
        """What was printed up to there."""
        end = time.monotonic() + 20
        while not (found := re.search(pattern, self.seen, re.DOTALL)):
            ready, _, _ = select.select([self.leader], [], [], max(end - time.monotonic(), 0))
            assert ready, f"{pattern!r} is not in {self.seen!r}"
            self.seen += os.read(self.leader, 4096).decode()
        told, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return told

    def type(self, text: str) -> None:
        os.write(self.leader, text.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        os.close(self.leader)


@pytest.fixture
def bash(where):
    terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], where)
    terminal.type(f"bind 'set enable-bracketed-paste off'; source {FILES}/sdsfs.bash; PS1='READ''Y> '\n")
    terminal.until("READY> ")
    yield terminal
    terminal.close()


def completed(bash: Terminal, line: str) -> str:
    """The line after the tab key: it is shown by a command that is put in front of it."""
    bash.type(f"{line}\t\x05' >/dev/null; printf '<%s>\\n' \"$_\"\x01echo '\n")
    told = bash.until(r"\n<[^\n]*>\r?\n.*READY> ")
    return re.search(r"\n<([^\n]*)>\r?\n", told)[1]


@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("sdsfs umo", "sdsfs umount "),
        ("sdsfs verify --rec", "sdsfs verify --records "),
        ("sdsfs mount -o log=de", "sdsfs mount -o log=debug"),
        ("sdsfs mount -o log_f", "sdsfs mount -o log_format="),
        ("sdsfs mount -o log_format=j", "sdsfs mount -o log_format=json"),
        ("sdsfs mount -o ro,log=w", "sdsfs mount -o ro,log=warning"),
        ("sdsfs mount -o log=debug,mem", "sdsfs mount -o log=debug,mem_cache="),
        ("sdsfs mount -o endpoint=http://host:9000,path", "sdsfs mount -o endpoint=http://host:9000,path_style"),
        ("sdsfs mount -o tolerate=", "sdsfs mount -o tolerate=annotations"),
        ("sdsfs mount -o views=s", "sdsfs mount -o views=sigmf"),
        ("sdsfs mount -o external=n", "sdsfs mount -o external=none"),
        ("sdsfs mount -o allow_other=y", "sdsfs mount -o allow_other=yes"),
        ("sdsfs mount -o mem_cache=5", "sdsfs mount -o mem_cache=5"),
        ("sdsfs mount -o cache_dir=cac", "sdsfs mount -o cache_dir=cached/"),
        ("sdsfs mount -o ro,cache_dir=cached/", "sdsfs mount -o ro,cache_dir=cached/blocks/"),
        ("sdsfs mount -o config=mnt.", "sdsfs mount -o config=mnt.conf"),
        ("sdsfs mount --config mnt.", "sdsfs mount --config mnt.conf "),
        ("sdsfs mount cap", "sdsfs mount captures.sds/"),
        ("sdsfs umount m", "sdsfs umount mnt/"),
        ("sdsfs status m", "sdsfs status mnt/"),
        ("sdsfs shard capture.", "sdsfs shard capture.txt "),
        ("sdsfs annotate captures.sds x --shard cap", "sdsfs annotate captures.sds x --shard cap"),
    ],
)
def test_bash(bash, typed, whole):
    assert completed(bash, typed) == whole


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sdsfs umo", {"umount"}),
        ("sdsfs mount -o log=", {"log=error", "log=warning", "log=info", "log=debug"}),
        ("sdsfs mount -o tol", {"tolerate=", "tolerate=annotations"}),
        ("sdsfs mount -o ro,views=", {"ro,views=", "ro,views=npy", "ro,views=sigmf", "ro,views=bin"}),
        ("sdsfs umount m", {"mnt/"}),
        ("sdsfs shard capture.", {"capture.txt"}),
        ("sdsfs mount --config m", {"mnt/", "mnt.conf"}),
    ],
)
def test_fish(where, typed, offered):
    script = f"source {FILES}/sdsfs.fish; complete -C '{typed}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], cwd=where, env={**os.environ, "HOME": str(where)}, capture_output=True, text=True)
    got = {line.split("\t")[0] for line in done.stdout.splitlines()}
    assert got - {"log="} == offered, done


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("sdsfs umo", "sdsfs umount "),
        ("sdsfs mount -o log=de", "sdsfs mount -o log=debug,"),
        ("sdsfs mount -o ro,tol", "sdsfs mount -o ro,tolerate="),
        ("sdsfs mount -o cache_dir=cac", "sdsfs mount -o cache_dir=cached/"),
        ("sdsfs umount m", "sdsfs umount mnt/"),
        ("sdsfs shard capture.", "sdsfs shard capture.txt "),
    ],
)
def test_zsh(where, typed, whole):
    shutil.copy(FILES / "sdsfs.zsh", where / "_sdsfs")
    # What stands in the line is written to a file by a key of its own.
    (where / ".zshrc").write_text(
        f"fpath=({where} $fpath); autoload -U compinit; compinit -D -u\n"
        f"show() {{ print -rn -- $BUFFER >{where}/line.new; mv {where}/line.new {where}/line }}\n"
        "zle -N show; bindkey '^X' show; PS1='READY> '\n"
    )
    terminal = Terminal(["zsh", "-d", "-i"], where)
    try:
        terminal.until("READY> ")
        terminal.type(f"{typed}\t\x18")
        assert wait_until(lambda: (where / "line").exists(), 20), terminal.seen
        assert (where / "line").read_text() == whole
    finally:
        terminal.close()
