# SPDX-License-Identifier: Apache-2.0
"""The tables, and the same as JSON."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from statistics import median

from . import remote
from .publishing import Large, RowSet
from .scale import Scale
from .searching import QUESTIONS, Searching
from .targets import MIB, Check
from .throughput import READERS, Case, Series, expected_rate

COLUMNS = ("sdsfs", "floor", "decode", "reference", "plain")


def table(head: list[str], rows: list[list[str]]) -> str:
    """Columns as wide as they need; the first one to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: list[str]) -> str:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *map(line, rows)])


def cold_table(measured: dict[Case, Series]) -> str:
    rows = []
    for case, series in measured.items():
        rates = [f"{series.rate(name):,.0f}" for name in COLUMNS]
        rates.insert(3, f"{expected_rate(series):,.0f}")
        rows.append([case.label, f"{series.rate_bytes('sdsfs') / 1e6:,.0f}", *rates])
    return table(["records a second, cold", "MB/s", *COLUMNS[:3], "both", *COLUMNS[3:]], rows)


def random_table(measured: dict[Case, Series]) -> str:
    """What else was read at random; "null" is the null file system."""
    columns = {
        "warm": "warm",
        "warm, null": "floor warm",
        "plain": "plain",
        f"{READERS} readers": "readers",
        f"{READERS} readers, null": "floor readers",
        "np.load": "np.load",
    }
    rows = [
        [case.label, *(f"{series.rate(name):,.0f}" for name in columns.values())]
        for case, series in measured.items()
        if case.shuffled
    ]
    return table(["records a second", *columns], rows)


def iterate_table(measured: dict[Case, Series]) -> str:
    rows = [
        [case.label, *(f"{series.rate(name):,.0f}" for name in ("sdsfs", "iterate"))]
        for case, series in measured.items()
        if not case.shuffled
    ]
    return table(["records a second, cold", "sdsfs", "for record in dataset"], rows)


def scale_lines(scale: Scale) -> str:
    return "\n".join(
        [
            f"{scale.records:,} records:",
            f"  mount {median(scale.mount_seconds):.2f} s;"
            f" ls {median(scale.list_seconds):.2f} s,"
            f" of the null file system {median(scale.list_seconds_floor):.2f} s",
            f"  find printed {scale.found:,} names in {scale.find_seconds:,.0f} s",
            f"  memory: {scale.idle_bytes / MIB:.0f} MiB before, {scale.peak_bytes / MIB:.0f} MiB"
            f" at the peak, {scale.settled_bytes / MIB:.0f} MiB afterwards",
        ]
    )


def check_table(checks: list[Check], judge_speed: bool) -> str:
    def verdict(check: Check) -> str:
        if check.is_speed and not judge_speed:
            return "not judged"
        return "met" if check.met else "MISSED"

    columns = {"target": "what", "null": "null", "measured": "measured", "wanted": "wanted"}
    if not any(c.null for c in checks):
        del columns["null"]
    rows = [[*(getattr(c, name) for name in columns.values()), verdict(c)] for c in checks]
    return table([*columns, ""], rows)


def machine() -> str:
    return (
        f"{os.cpu_count()} CPUs, Linux {platform.release()},"
        f" load {', '.join(f'{value:.1f}' for value in os.getloadavg())}"
    )


def as_text(
    measured: dict[Case, Series], scale: Scale | None, checks: list[Check], judge_speed: bool
) -> str:
    parts = [machine(), cold_table(measured), iterate_table(measured), random_table(measured)]
    if scale is not None:
        parts.append(scale_lines(scale))
    parts.append(check_table(checks, judge_speed))
    return "\n\n".join(parts)


def as_json(measured: dict[Case, Series], scale: Scale | None, checks: list[Check]) -> str:
    return json.dumps(
        {
            "machine": machine(),
            "cases": {
                case.label: {
                    "records_per_s": {name: series.rate(name) for name in series.runs},
                    "seconds": {name: [r.seconds for r in runs] for name, runs in series.runs.items()},
                    "warm_requests": series.warm_requests,
                }
                for case, series in measured.items()
            },
            "scale": None if scale is None else asdict(scale),
            "targets": [asdict(check) for check in checks],
        },
        indent=2,
    )


def publishing_table(measured: dict[RowSet, Series]) -> str:
    rows = [
        [
            row_set.label,
            *(f"{series.rate(name):,.0f}" for name in ("sdsfs", "reference")),
            f"{series.ratio('sdsfs', 'reference'):.1f}",
        ]
        for row_set, series in measured.items()
    ]
    return table(["rows a second", "sdsfs", "reference", "ratio"], rows)


def large_table(large: list[Large]) -> str:
    rows = [
        [case.label, f"{case.seconds:.1f} s", f"{case.rows / case.seconds:,.0f}", f"{case.peak_bytes / MIB:.0f} MiB"]
        for case in large
    ]
    return table(["very many rows", "time", "rows a second", "memory at its peak"], rows)


def publishing_as_text(
    measured: dict[RowSet, Series], large: list[Large], checks: list[Check], judge_speed: bool
) -> str:
    parts = [machine(), publishing_table(measured)]
    if large:
        parts.append(large_table(large))
    parts.append(check_table(checks, judge_speed))
    return "\n\n".join(parts)


def publishing_as_json(measured: dict[RowSet, Series], large: list[Large], checks: list[Check]) -> str:
    return json.dumps(
        {
            "machine": machine(),
            "cases": {
                rows.label: {
                    "rows_per_s": {name: series.rate(name) for name in series.runs},
                    "seconds": {name: [r.seconds for r in runs] for name, runs in series.runs.items()},
                }
                for rows, series in measured.items()
            },
            "large": [asdict(case) for case in large],
            "targets": [asdict(check) for check in checks],
        },
        indent=2,
    )


REMOTE_PATTERNS = ("random", f"{remote.READERS} readers", "in order", "second pass", "remount", "open")


def remote_table(measured: remote.Measured, latency: int) -> str:
    head = [f"{latency} ms a request", "records/s", "requests a record", "bytes a byte", "requests"]
    rows = []
    for pattern in REMOTE_PATTERNS:
        for who in measured.candidates(latency, pattern):
            rate, requests, size, all_requests = (
                measured.median(latency, pattern, who, what)
                for what in ("rate", "requests_a_record", "bytes_a_byte", "requests")
            )
            each = ["-", "-"] if pattern == "open" else [f"{requests:.2f}", f"{size:.2f}"]
            rows.append([f"{pattern}: {who}", f"{rate:,.1f}", *each, f"{all_requests:,.0f}"])
    return table(head, rows)


def remote_as_text(measured: remote.Measured, checks: list[Check], judge_speed: bool) -> str:
    parts = [machine(), *(remote_table(measured, latency) for latency in measured.plan.latencies)]
    if measured.missing:
        parts.append("left out: " + ", ".join(measured.missing))
    parts.append(check_table(checks, judge_speed))
    return "\n\n".join(parts)


def remote_as_json(measured: remote.Measured, checks: list[Check]) -> str:
    cases = [
        {
            "latency_ms": latency,
            "pattern": pattern,
            "candidate": who,
            "runs": [asdict(cost) for cost in costs],
        }
        for (latency, pattern, who), costs in measured.costs.items()
    ]
    told = {"machine": machine(), "cases": cases, "left_out": measured.missing}
    return json.dumps(told | {"targets": [asdict(check) for check in checks]}, indent=2)


def searching_lines(measured: Searching) -> str:
    rates = {who: measured.building.rate(who) for who in ("sdsfs", "reference")}
    each = measured.index_bytes / measured.records
    return "\n".join(
        [
            f"{measured.records:,} records:",
            f"  built at {rates['sdsfs']:,.0f} records a second; the reference iterates {rates['reference']:,.0f}",
            f"  memory {max(measured.peak_bytes) / MIB:.0f} MiB at the peak; {each:.0f} bytes of index a record",
            f"{measured.searched:,} records:",
            f"  {median(measured.lookups):,.0f} ids looked up a second, {median(measured.listings):,.0f} listed",
        ]
    )


def searching_table(measured: Searching) -> str:
    who = ("sdsfs", "plain files", "reference")
    rows = [[q.label, *(f"{measured.answer(q, w) * 1000:,.1f}" for w in who)] for q in QUESTIONS]
    return table(["milliseconds", *who], rows)


def searching_as_text(measured: Searching, checks: list[Check], judge_speed: bool) -> str:
    parts = [machine(), searching_lines(measured), searching_table(measured), check_table(checks, judge_speed)]
    return "\n\n".join(parts)


def searching_as_json(measured: Searching, checks: list[Check]) -> str:
    told = {
        "machine": machine(),
        "records": measured.records,
        "build_seconds": {who: [r.seconds for r in runs] for who, runs in measured.building.runs.items()},
        "peak_bytes": measured.peak_bytes,
        "index_bytes": measured.index_bytes,
        "searched": measured.searched,
        "lookups_per_s": measured.lookups,
        "listed_per_s": measured.listings,
        "questions": [
            {"question": question.label, "who": who, "seconds": seconds}
            for (question, who), seconds in measured.seconds.items()
        ],
    }
    return json.dumps(told | {"targets": [asdict(check) for check in checks]}, indent=2)
