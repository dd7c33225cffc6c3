# SPDX-License-Identifier: Apache-2.0
"""What the measurements have to reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from .publishing import Large, RowSet
from .scale import SETTLE_SECONDS, SETTLED_BYTES, Scale
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
