# SPDX-License-Identifier: Apache-2.0
"""Pages whose `console` blocks show commands with what they print: run, and compared with the page."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from conftest import HERE, SDSFS, run

DOCS = HERE.parent.parent / "docs"
IN_A_BUCKET = "\n## The same from a bucket\n"  # of the tutorial
MARK = "--- the next command ---"


def blocks_of(page: str, *languages: str) -> list[str]:
    return re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def is_whole(command: str) -> bool:
    """False while a quotation mark is open: the command goes on in the next line."""
    try:
        shlex.split(command)
        return True
    except ValueError:
        return False


def commands_of(page: str) -> list[tuple[str, str]]:
    """The commands of the page's console blocks, each with what it prints."""
    found = []
    for line in "".join(blocks_of(page, "console")).splitlines(keepends=True):
        if found and not is_whole(found[-1][0]):
            found[-1][0] += line
        elif line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += line
    return [(command, printed) for command, printed in found]


def environment(where: Path, **more: str) -> dict[str, str]:
    """With the program and this Python in the path, and its directories below `where`."""
    path = f"{Path(SDSFS).resolve().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {"PATH": path, "STATE_DIRECTORY": str(where / "state"), "CACHE_DIRECTORY": str(where / "cache")}
    return {**os.environ, **own, **more}


def printed_by(commands: list[str], where: Path, **more: str) -> list[str]:
    """What each command prints, on both outputs, all of them in one shell."""
    script = "exec 2>&1\n" + "".join(f"{command}\necho '{MARK}'\n" for command in commands)
    done = run("bash", "-c", script, cwd=where, env=environment(where, **more), timeout=120)
    return done.stdout.decode().split(f"{MARK}\n")[: len(commands)]


def as_shown(command: str, printed: str) -> str:
    """What is printed as it would be on a terminal, less what differs with user and time."""
    if command.startswith("ls ") and " -l " not in command:  # columns
        return "\n".join(" ".join(part.split()) for part in printed.split("\n\n")) + "\n"
    printed = re.sub(r"^([-dl][-rwx]{9} \d+) +\S+ +\S+( +\d+) \S+ +\d+ +[\d:]+ ", r"\1\2 ", printed, flags=re.MULTILINE)
    return re.sub(r"^bash: line \d+: ", "bash: ", printed, flags=re.MULTILINE)


def check_console(page: str, where: Path, **more: str) -> None:
    """Every command prints what the page shows; `...` there stands for anything."""
    told = commands_of(page)
    assert told
    real = printed_by([command for command, _ in told], where, **more)
    for (command, shown), printed in zip(told, real, strict=True):
        pattern = ".*".join(map(re.escape, as_shown(command, shown).split("...")))
        assert re.fullmatch(pattern, as_shown(command, printed), re.DOTALL), f"$ {command}{printed}(the page has)\n{shown}"
