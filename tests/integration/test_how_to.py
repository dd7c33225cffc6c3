# SPDX-License-Identifier: Apache-2.0
"""The commands of the pages, run as they stand there, one after the other; and where their links lead."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import HERE, SAMPLE, SDSFS, is_mounted, mount_lines, needs_fuse, needs_root, run, sdsfs
from pages import DOCS, IN_A_BUCKET, blocks_of, check_console, commands_of, environment, printed_by
from test_user import user

__all__ = ["user"]

HOW_TO = HERE.parent.parent / "docs/how-to/publish-annotations.md"
pytestmark = needs_fuse


def script_of(page: str, where: Path) -> str:
    """The page's blocks of commands and programs as one script that stops at the first failure. Programs that import
    what is not installed here are left out; one that begins with "# NAME.py" is kept under that name, for others to import."""
    steps = ["set -eu -o pipefail"]
    for i, (language, text) in enumerate(re.findall(r"^```(sh|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)):
        if language == "python" and not all(map(find_spec, re.findall(r"^import (\w+)", text, re.MULTILINE))):
            continue
        if language == "python":
            named = re.match(r"# (\w+\.py)\n", text)
            program = where / (named[1] if named else f"block-{i}.py")
            program.write_text(text)
            text = f"python3 {shlex.quote(str(program))}\n"
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


@pytest.fixture
def clone(tmp_path):
    """A directory with what a clone of the repository has of use to pages. What they mount is unmounted."""
    (tmp_path / "tests").symlink_to(HERE.parent)
    yield tmp_path
    left = [line.split()[1] for line in mount_lines() if f" {tmp_path}/" in line]
    for point in left:
        sdsfs("umount", point)
    assert not left, "the page left its mount behind"


def test_the_readme(clone):
    check_console((DOCS.parent / "README.md").read_text(), clone)


def test_the_tutorial(clone):
    """From a disk; test_remote.py has the end of it, which is from a bucket."""
    page, _ = (DOCS / "tutorial.md").read_text().split(IN_A_BUCKET)
    check_console(page, clone)
    row = json.loads(sdsfs("cat", clone / "captures.sds", "records/000047/annotations/energy/annotation.json").stdout)
    assert row["values"]["rms"] > 0
    assert sdsfs("verify", "--records", clone / "damaged.sds").returncode == 1


def test_pages_about_a_mount(mounted):
    """Short ones, that begin in a mount or beside it."""
    (announce,) = blocks_of((DOCS / "tree.md").read_text(), "sh")
    (look,) = blocks_of((DOCS / "troubleshooting.md").read_text(), "sh")
    (mounted.parent / "captures").symlink_to(mounted)
    for text, where in ((announce, mounted), (look, mounted.parent)):
        done = run("bash", "-ec", text, cwd=where, env=environment(mounted.parent))
        assert done.returncode == 0 and not done.stderr, done.stderr
    assert b"  errors       0\n" in done.stdout


def literal_blocks(page: str) -> str:
    """The commands of a manual page's examples."""
    examples = (DOCS.parent / "man" / page).read_text().split(".Sh EXAMPLES\n")[1].split("\n.Sh ")[0]
    blocks = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", examples, re.MULTILINE | re.DOTALL)
    return "\n".join(f"```console\n{block}```" for block in blocks)


def test_examples_of_the_manual(clone):
    shutil.copytree(SAMPLE, clone / "captures.sds")
    (clone / "captures").mkdir()
    (clone / "out").mkdir()
    told = commands_of(literal_blocks("sdsfs.1").replace("/mnt/captures", "captures").replace(" /tmp\n", " out\n"))
    real = dict(zip([command for command, _ in told], printed_by([command for command, _ in told], clone), strict=True))
    assert list(real.values())[:4] == ["", "(2, 768)\n", "", "sound: 0 problems, 0 warnings\n"]
    assert (clone / "out/000042/samples.npy").stat().st_size == 128 + 2 * 768 * 8 and len(real) == 6


def test_examples_of_the_tree(mounted):
    told = [command for command, _ in commands_of(literal_blocks("sdsfs-tree.5"))]
    attributes, failures = printed_by(told, mounted)
    assert 'user.sds.shape="[2,512]"' in attributes and failures == ""


# What has commands of Debian's package, and of systemd, is lived through in tests/package.
RUN = {"README.md", "tutorial.md", "tree.md", "troubleshooting.md", "views.md", "containers.md", "loaders.md", "publish-annotations.md", "search.md", "service.md"}
PAGES = [DOCS.parent / "README.md", *DOCS.rglob("*.md"), *(DOCS.parent / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "bench/README.md"))]


def test_no_page_has_commands_that_nobody_runs():
    assert {page.name for page in PAGES if blocks_of(page.read_text(), "sh", "console", "python")} == RUN | {"install.md"}


def anchors_of(page: str) -> set[str]:
    """What headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if link.startswith(("https://", "http://")):
                continue
            path, _, anchor = link.partition("#")
            there = (page.parent / path).resolve() if path else page
            assert there.exists(), f"{page.name}: {link}"
            assert not anchor or anchor in anchors_of(there.read_text()), f"{page.name}: {link}"


def test_the_architecture_names_what_is_there():
    """Every folder of the sources, and files only that there are."""
    page, source = (DOCS / "architecture.md").read_text(), DOCS.parent / "src"
    for folder in (path.relative_to(source) for path in source.rglob("*") if path.is_dir()):
        assert f"`{folder}/`" in page, f"{folder} is not in the table"
    there = [f"/{path.relative_to(source)}" for path in source.rglob("*.[ch]")]
    for name in re.findall(r"`([\w/*.-]+\.[ch])`", page):
        assert any(fnmatch(path, f"*/{name}") for path in there), f"there is no {name}"


def test_lessons_name_tests_that_there_are():
    page = (DOCS / "peer-lessons.md").read_text()
    sources = "\n".join(path.read_text() for path in (*HERE.glob("*.py"), *(HERE.parent / "unit").rglob("*.c")))
    named = set(re.findall(r"`(\w+)`", page.split("|---|---|---|\n")[1].replace(", ", " ")))
    tests = {name for name in named if name.startswith("test_") or name.count("_") > 2}
    assert len(tests) > 50 and [name for name in tests if not re.search(rf"\b{name}\(", sources)] == []
    for name in re.findall(r"unit ((?:`\w+`(?:, )?)+)", page):
        for unit in re.findall(r"\w+", name):
            assert list((HERE.parent / "unit").rglob(f"test_{unit}.c")), unit


def test_loaders(clone):
    script = script_of((DOCS / "how-to/loaders.md").read_text(), clone)
    assert script.count("block-") >= 3 and "records.py" in script
    done = run("bash", "-c", script, cwd=clone, env=environment(clone), timeout=300)
    assert done.returncode == 0 and not done.stderr, done.stderr
    told = done.stdout.decode().splitlines()
    assert told[0] == "28 (2, 512) complex64"
    assert told[1].startswith("epoch 0: 48 records") and told[1].split(": ")[1] == told[2].split(": ")[1]
    assert told[3] == "(2, 512) (2, 64) True"


# --- containers -----------------------------------------------------------------------------------


def test_containers_without_a_mount(user):
    """What the page says is possible without privileges, done by nobody, where there is no device."""
    text = (DOCS / "how-to/containers.md").read_text()
    section = text.split("## Without a mount\n")[1].split("\n## ")[0]
    script = "set -eu\ncd \"$(dirname \"$SDSFS\")\"\nPATH=$PWD:$PATH CACHE_DIRECTORY=$PWD/cache; export PATH CACHE_DIRECTORY\n"
    script += "mv sample.sds captures.sds\n" + "".join(blocks_of(section, "sh"))
    done = user.run(script, as_root="chmod 600 /dev/fuse" if os.geteuid() == 0 else "")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert (user.home / "record/samples.npy").stat().st_size == 8320
    assert done.stdout.decode().splitlines()[-3:] == ["records/000028", "records/000029", "records/000030"]


@needs_root
def test_containers(clone):
    """Namespaces stand in for containers, in a mount namespace that ends with whatever was left in it."""
    if run("unshare", "--user", "--map-root-user", "--mount", "true").returncode != 0:
        pytest.skip("user namespaces are not allowed here")
    script = script_of((DOCS / "how-to/containers.md").read_text(), clone)
    assert script.count("unshare") == 2 and "block-" in script
    done = run("unshare", "--mount", "bash", "-c", script, cwd=clone, env=environment(clone))
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert (clone / "header").read_bytes()[:6] == b"\x93NUMPY"
    told = done.stdout.decode()
    assert "\n000047\n" in told and told.endswith("48 records\n")


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
def test_docker_knows_its_options():
    told = run("docker", "run", "--help").stdout.decode()
    for block in blocks_of((DOCS / "how-to/containers.md").read_text(), "console"):
        for line in block.splitlines():
            if not line.startswith("$ docker "):
                continue
            words = shlex.split(line[2:])
            assert words[:2] == ["docker", "run"]
            for word in words[2 : words.index("IMAGE")]:
                assert not word.startswith("-") or re.search(rf"(^|\s){word}\s", told), word
