# SPDX-License-Identifier: Apache-2.0
"""What the measurements have to reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from . import remote
from .publishing import Large, RowSet
from .scale import SETTLE_SECONDS, SETTLED_BYTES, Scale
from .searching import QUESTIONS, Searching
from .throughput import READERS, Case, Series

MIB = 1 << 20
REFERENCE_RANDOM = {"64 KiB": 1.3, "8 MiB": 1.2}


@dataclass(frozen=True)
class Check:
    what: str
    measured: str
    wanted: str
    met: bool
    is_speed: bool = True  # depends on the machine and its load
    null: str = ""  # what the null file system reaches in the mount's place


def at_least(what: str, value: float, least: float, null: float | None = None) -> Check:
    shown = "" if null is None else f"{null:.2f}"
    return Check(what, f"{value:.2f}", f">= {least:g}", value >= least, null=shown)


def at_most(what: str, value: float, most: float, unit: str, is_speed: bool = True) -> Check:
    return Check(what, f"{value:.2f}{unit}", f"<= {most:g}{unit}", value <= most, is_speed)


def exactly(what: str, value: int, wanted: int) -> Check:
    return Check(what, f"{value:,}", f"{wanted:,}", value == wanted, is_speed=False)


def throughput_checks(measured: dict[Case, Series]) -> Iterator[Check]:
    for case, series in measured.items():
        yield from random_checks(case, series) if case.shuffled else ordered_checks(case, series)


def against_reference(case: Case, series: Series, least: float) -> Check:
    ours, null = (series.ratio(name, "reference") for name in ("sdsfs", "floor"))
    return at_least(f"{case.label}: against the reference", ours, least, null)


def ordered_checks(case: Case, series: Series) -> Iterator[Check]:
    yield against_reference(case, series, 2)


def random_checks(case: Case, series: Series) -> Iterator[Check]:
    yield at_least(f"{case.label}: of floor and decode", series.share_of_floor(), 0.8)
    yield against_reference(case, series, REFERENCE_RANDOM[case.dataset.label])
    warm, warm_null = (series.ratio(name, "plain") for name in ("warm", "floor warm"))
    yield at_least(f"{case.label}: warm against plain files", warm, 0.9, warm_null)
    yield exactly(f"{case.label}: fewest requests in warm passes", min(series.warm_requests), 0)
    many, many_null = series.ratio("readers", "sdsfs"), series.ratio("floor readers", "floor")
    yield at_least(f"{case.label}: {READERS} readers against one", many, 1.5, many_null)


def scale_checks(scale: Scale) -> Iterator[Check]:
    name = f"{scale.records:,} records"
    yield at_most(f"{name}: mount", median(scale.mount_seconds), 1, " s")
    yield exactly(f"{name}: ls records | wc -l", min(scale.listed), scale.records)
    yield at_most(f"{name}: ls against the null file system", scale.list_ratio(), 2, "")
    yield at_most(f"{name}: memory at its peak in find", scale.peak_bytes / MIB, 256, " MiB", False)
    # Neither what find visited nor the caches it filled stay in an idle daemon.
    settled = f"{name}: memory within {SETTLE_SECONDS} s after find"
    yield at_most(settled, scale.settled_bytes / MIB, SETTLED_BYTES / MIB, " MiB", False)


def publishing_checks(measured: dict[RowSet, Series]) -> Iterator[Check]:
    for rows, series in measured.items():
        yield at_least(f"{rows.label}: against the reference", series.ratio("sdsfs", "reference"), 5)


def publishing_memory_checks(large: list[Large]) -> Iterator[Check]:
    for case in large:
        yield at_most(f"{case.label}: memory at its peak", case.peak_bytes / MIB, 256, " MiB", False)


def remote_checks(measured: remote.Measured) -> Iterator[Check]:
    for latency in measured.plan.latencies:
        yield from latency_checks(measured, latency, f"{latency} ms")
    opened = [cost for latency in measured.plan.latencies for cost in measured.of(latency, "open", remote.OURS)]
    yield at_most("opening: requests", max(cost.requests for cost in opened), 6, "", is_speed=False)


def latency_checks(measured: remote.Measured, latency: int, name: str) -> Iterator[Check]:
    ours = ("random", remote.OURS)
    yield at_least(f"{name}: random against {remote.FLOOR}", measured.ratio(latency, ours, ("random", remote.FLOOR)), 1)
    # Nobody who waits for a request a record can be faster than that, whatever the reference does.
    floor = measured.ratio(latency, ("random", remote.FLOOR), ("random", remote.REFERENCE))
    against = measured.ratio(latency, ours, ("random", remote.REFERENCE))
    yield at_least(f"{name}: random against {remote.REFERENCE}", against, min(2.5, floor))
    for other in remote.MOUNTS:
        if measured.of(latency, "random", other):
            yield at_least(f"{name}: random against {other}", measured.ratio(latency, ours, ("random", other)), 1)
    for candidate, requests, size in ((remote.OURS, 1.1, 1.2), (remote.OURS_REFERENCE, 1.2, 1.3)):
        for what, most, unit in (("requests_a_record", requests, ""), ("bytes_a_byte", size, "")):
            value = measured.median(latency, "random", candidate, what)
            yield at_most(f"{name}: random, {candidate}: {what.replace('_', ' ')}", value, most, unit, is_speed=False)
    if latency >= 50:
        many = measured.ratio(latency, (f"{remote.READERS} readers", remote.OURS), ours)
        yield at_least(f"{name}: {remote.READERS} readers against one", many, 10)
    in_order = measured.ratio(latency, ("in order", remote.OURS), ("in order", remote.REFERENCE))
    yield at_least(f"{name}: in order against the reference", in_order, 1)
    fetched = measured.median(latency, "in order", remote.OURS, "down") / remote.stored_bytes(measured.plan)
    yield at_most(f"{name}: in order: bytes fetched of those stored", fetched, 1.05, "", is_speed=False)
    for pattern in ("second pass", "remount"):
        data = max(cost.data_requests for cost in measured.of(latency, pattern, remote.OURS))
        yield exactly(f"{name}: {pattern}: data requests", data, 0)


def searching_checks(measured: Searching) -> Iterator[Check]:
    built = measured.building.ratio("sdsfs", "reference")
    yield at_least(f"{measured.records:,} records: building against the reference iterating", built, 10)
    peak = max(measured.peak_bytes) / MIB
    yield at_most(f"{measured.records:,} records: memory at its peak", peak, 256, " MiB", is_speed=False)
    for question in QUESTIONS:
        for who in ("plain files", "reference"):
            yield at_least(f"{question.label}: against {who}", measured.ratio(question, who), 1)
