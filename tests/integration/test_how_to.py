# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/how-to, run as they stand there, one after the other."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from conftest import HERE, SDSFS, is_mounted, needs_fuse, run, sdsfs

HOW_TO = HERE.parent.parent / "docs/how-to/publish-annotations.md"
pytestmark = needs_fuse


def script_of(page: str, where: Path) -> str:
    """The page's blocks of commands and programs as one script that stops at the first failure. Programs that import
    what is not installed here are left out."""
    steps = ["set -eu -o pipefail"]
    for i, (language, text) in enumerate(re.findall(r"^```(sh|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)):
        if language == "python" and not all(map(find_spec, re.findall(r"^import (\w+)", text, re.MULTILINE))):
            continue
        if language == "python":
            (where / f"block-{i}.py").write_text(text)
            text = f"python3 {shlex.quote(str(where / f'block-{i}.py'))}\n"
        steps.append(text)
    return "\n".join(steps)


def test_a_service(tmp_path):
    (tmp_path / "tests").symlink_to(HERE.parent)
    path = f"{Path(SDSFS).resolve().parent}:{os.environ['PATH']}"
    script = script_of((HOW_TO.parent / "service.md").read_text(), tmp_path)
    try:
        done = run("bash", "-c", script, cwd=tmp_path, env={**os.environ, "PATH": path, "STATE_DIRECTORY": str(tmp_path / "state")})
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        told = done.stdout.decode()
        assert "  records      48 in 2 shards, 640.0 KiB stored\n" in told
        assert f"log = warning  # {tmp_path}/captures.conf:5\n" in told
        assert f"\nmem_cache = 128M  # {tmp_path}/captures.conf:4\n" in told
        assert not is_mounted(tmp_path / "captures")
    finally:
        if is_mounted(tmp_path / "captures"):
            sdsfs("umount", tmp_path / "captures")


def test_publishing_annotations(tmp_path):
    (tmp_path / "tests").symlink_to(HERE.parent)
    point = tmp_path / "captures"
    path = f"{Path(SDSFS).resolve().parent}:{os.environ['PATH']}"
    script = script_of(HOW_TO.read_text(), tmp_path)
    assert script.count("sdsfs annotate") == 5 and "block-" in script
    try:
        done = run("bash", "-c", script, cwd=tmp_path, env={**os.environ, "PATH": path, "STATE_DIRECTORY": str(tmp_path / "state")})
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        assert not is_mounted(point)
    finally:
        if is_mounted(point):
            sdsfs("umount", point)
    root = tmp_path / "captures.sds"
    published = {"energy", "merged-v1", "merged-v2", "review-v1", "review-v2", "review-v3", "review-v4"}
    assert set(sdsfs("ls", root, "annotations/sets").stdout.decode().split()) == published
    assert sdsfs("verify", "--records", root).returncode == 0
    row = json.loads(sdsfs("cat", root, "records/000047/annotations/merged-v2/annotation.json").stdout)
    assert row["values"] == {"label": "chirp"}
    left = [path.parent.name for path in (tmp_path / "state").rglob("rows.jsonl")]
    assert left == ["energy"]  # the drafts that were put away are gone


def test_finding_records(tmp_path):
    (tmp_path / "tests").symlink_to(HERE.parent)
    point = tmp_path / "captures"
    path = f"{Path(SDSFS).resolve().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = script_of((HOW_TO.parent / "search.md").read_text(), tmp_path)
    assert script.count("sdsfs query") == 5 and "block-" in script
    try:
        environment = {**os.environ, "PATH": path, "CACHE_DIRECTORY": str(tmp_path / "cache"), "STATE_DIRECTORY": str(tmp_path / "state")}
        done = run("bash", "-c", script, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        assert not done.stderr and not is_mounted(point)
    finally:
        if is_mounted(point):
            sdsfs("umount", point)
    text = done.stdout.decode()
    assert "000002" in text and "harbour" in text and "capture-0003" in text and "250000" in text
    assert len((tmp_path / "ordinals").read_text().split()) == 28
    assert (tmp_path / "samples.npy").stat().st_size == 8320
