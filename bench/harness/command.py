# SPDX-License-Identifier: Apache-2.0
"""What bench/local, bench/publish, bench/remote and bench/index have in common as commands."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from .targets import Check
from .tools import BenchError


def parse_arguments(description: str, disk: str, rounds: int, scale: str = "") -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=Path, required=True, help="build folder of the project")
    parser.add_argument("--data", type=Path, required=True, help=f"datasets are made here once ({disk})")
    parser.add_argument("--python", default=sys.executable, help="one that has signal_dataset")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--quick", action="store_true", help="small data, one round; speed is not judged")
    if scale:
        parser.add_argument("--no-scale", action="store_true", help=f"leave out the million {scale}")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.rounds = 1
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    args.data.mkdir(parents=True, exist_ok=True)
    args.data = args.data.resolve()
    return args


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def verdict(checks: list[Check], quick: bool) -> int:
    """The exit code."""
    missed = [c for c in checks if not c.met and not (quick and c.is_speed)]
    if missed:
        say(f"{len(missed)} of {len(checks)} targets MISSED")
    return 1 if missed else 0


def run_main(main: Callable[[], int]) -> None:
    # A terminated run still has to clean up behind itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    try:
        sys.exit(main())
    except BenchError as exc:
        say(str(exc))
        sys.exit(3)
