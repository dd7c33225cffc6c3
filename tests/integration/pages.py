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


def check_console(page: str, where: Path, **more: str) -> None:
    """Every command prints what the page shows; `...` there stands for anything."""
    told = commands_of(page)
    real = printed_by([command for command, _ in told], where, **more)
    for (command, shown), printed in zip(told, real, strict=True):
        pattern = ".*".join(map(re.escape, shown.split("...")))
        assert re.fullmatch(pattern, printed, re.DOTALL), f"$ {command}{printed}(the page has)\n{shown}"
