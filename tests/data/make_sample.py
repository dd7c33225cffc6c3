#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes sample.sds, the dataset of the README's tour, with the reference package.

    make_sample.py [DESTINATION]

48 short radio captures of two receivers in two scenes, and the annotation set "review-v1". The
same bytes come out of every run: samples are whole steps of a 12-bit converter, so the last bits of
a sine cannot show. Needs signal_dataset 0.4.0 and numpy.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import signal_dataset as sds

SEED = 20260325
SAMPLE_RATE_HZ = 250_000
CHANNELS = 2
CONVERTER_STEPS = 2048  # of a 12-bit converter, on each side of zero

# kind -> (what a reviewer calls it, power over the noise in dB)
KINDS = {
    "beacon": ("keyed carrier", 18.0),
    "chirp": ("linear chirp", 12.0),
    "fsk": ("two-tone burst", 15.0),
    "noise": ("nothing but noise", 0.0),
}


@dataclass(frozen=True)
class Scene:
    id: str
    center_frequency_hz: int
    samples: int
    captures: int
    day: str


SCENES = (
    Scene("rooftop", 433_920_000, 512, 28, "2026-03-02"),
    Scene("harbour", 868_300_000, 768, 20, "2026-03-03"),
)


@dataclass(frozen=True)
class Capture:
    ordinal: int
    scene: Scene
    kind: str
    minute: int
    samples: np.ndarray  # complex64 [channel, time]
    gain: np.ndarray  # float32 [channel], dB
    burst: slice  # where the signal is; empty for noise

    @property
    def id(self) -> str:
        return f"capture-{self.ordinal:04d}"

    @property
    def overloaded(self) -> bool:
        return bool(np.abs(self.samples.real).max() >= (CONVERTER_STEPS - 1) / CONVERTER_STEPS)


def emission(kind: str, length: int, rng: np.random.Generator) -> np.ndarray:
    """The signal of one burst at unit amplitude."""
    time = np.arange(length) / SAMPLE_RATE_HZ
    offset_hz = rng.integers(-40, 40) * 1000
    if kind == "noise":
        return np.zeros(length, np.complex128)
    if kind == "chirp":
        slope = 60_000 / (length / SAMPLE_RATE_HZ)
        return np.exp(2j * np.pi * (offset_hz * time + slope * time**2 / 2))
    if kind == "fsk":
        symbols = np.repeat(rng.integers(0, 2, length // 16 + 1) * 2 - 1, 16)[:length]
        return np.exp(2j * np.pi * np.cumsum(offset_hz + 12_000 * symbols) / SAMPLE_RATE_HZ)
    keyed = np.repeat(rng.integers(0, 2, length // 32 + 1), 32)[:length]
    return keyed * np.exp(2j * np.pi * offset_hz * time)


def capture(ordinal: int, scene: Scene, minute: int, rng: np.random.Generator) -> Capture:
    kind = list(KINDS)[int(rng.integers(len(KINDS)))]
    length = int(rng.integers(scene.samples // 4, scene.samples // 2))
    start = int(rng.integers(0, scene.samples - length))
    burst = slice(start, start if kind == "noise" else start + length)

    shape = (CHANNELS, scene.samples)
    field = (rng.normal(size=shape) + 1j * rng.normal(size=shape)) * 0.02
    amplitude = 0.02 * np.sqrt(2) * 10 ** (KINDS[kind][1] / 20)
    amplitude *= 6 if ordinal in (17, 41) else 1  # a transmitter right beside the antenna
    arrival = np.exp(2j * np.pi * rng.random(CHANNELS))[:, None]
    field[:, start : start + length] += amplitude * arrival * emission(kind, length, rng)

    gain = np.round(rng.uniform(18, 32, CHANNELS) * 2).astype(np.float32) / np.float32(2)
    return Capture(ordinal, scene, kind, minute, converted(field), gain, burst)


def converted(field: np.ndarray) -> np.ndarray:
    """What the converter makes of a voltage: clipped, and a whole number of steps."""

    def steps(part: np.ndarray) -> np.ndarray:
        return np.clip(np.round(part * CONVERTER_STEPS), -CONVERTER_STEPS, CONVERTER_STEPS - 1)

    return ((steps(field.real) + 1j * steps(field.imag)) / CONVERTER_STEPS).astype(np.complex64)


def time_axis(scene: Scene) -> sds.Axis:
    ticks = sds.Coordinate(start=0.0, step=1 / SAMPLE_RATE_HZ, unit="s")
    return sds.Axis("time", scene.samples, role="sample", id="time", coordinate=ticks)


def record(item: Capture) -> sds.Record:
    receivers = sds.Coordinate(values=("north", "south"))
    channel = sds.Axis("channel", CHANNELS, role="receiver", id="channel", coordinate=receivers)
    return sds.Record(
        item.id,
        {
            "samples": sds.Field(
                item.samples, (channel, time_axis(item.scene)), {"unit": "full scale"}
            ),
            "gain": sds.Field(item.gain, (channel,), {"unit": "dB"}),
        },
        scene_id=item.scene.id,
        metadata={
            "sample_rate_hz": SAMPLE_RATE_HZ,
            "center_frequency_hz": item.scene.center_frequency_hz,
            "started_at": f"{item.scene.day}T09:{item.minute:02d}:00Z",
            "converter_bits": 12,
        },
    )


def review(item: Capture) -> sds.AnnotationRecord:
    provenance = {"reviewer": ("kim", "noor")[item.ordinal % 2], "tool": "waterfall 2.1"}
    if item.overloaded:
        return sds.AnnotationRecord(
            item.id, item.ordinal, sds.AnnotationStatus.FAILED, {}, {}, provenance, "overload"
        )
    if item.ordinal % 13 == 12:
        return sds.AnnotationRecord(
            item.id, item.ordinal, sds.AnnotationStatus.SKIPPED, {}, {}, provenance, "undecided"
        )
    mask = np.zeros(item.scene.samples, np.uint8)
    mask[item.burst] = 1
    label, snr_db = KINDS[item.kind]
    return sds.AnnotationRecord(
        item.id,
        item.ordinal,
        sds.AnnotationStatus.SUCCESS,
        {"label": item.kind, "description": label, "snr_db": snr_db},
        {"mask": sds.Field(mask, (time_axis(item.scene),))},
        provenance,
    )


def make(destination: Path) -> None:
    rng = np.random.default_rng(SEED)
    captures: list[Capture] = []
    shards = []
    for scene in SCENES:
        first = len(captures)
        captures += [capture(first + i, scene, i, rng) for i in range(scene.captures)]
        records = [record(item) for item in captures[first:]]
        # Shards are ordered by work id as text.
        shards.append(
            sds.write_shard(records, str(destination), work_id=f"{len(shards)}-{scene.id}")
        )
    dataset = sds.publish(
        str(destination),
        shards,
        dataset_id="sample-captures",
        snapshot_id="v1",
        metadata={"title": "Short captures of two scenes", "license": "CC0-1.0"},
    )
    sds.publish_annotations(
        dataset,
        "review-v1",
        [review(item) for item in captures],
        metadata={"question": "What is in this capture, and when?"},
    )


def main() -> None:
    default = Path(__file__).parent / "sample.sds"
    destination = (Path(sys.argv[1]) if len(sys.argv) > 1 else default).absolute()
    if destination.exists():
        shutil.rmtree(destination)
    destination.mkdir(parents=True)
    make(destination)


if __name__ == "__main__":
    main()
