"""Judges series by the published packages themselves.

Reads a JSON list of series (lists of bytes) from standard input, writes {rule: [alarm, ...]} to standard output.
"""

import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pymannkendall
import ruptures
from otava.analysis import compute_change_points
from stormlog.gap_analysis import analyze_hidden_memory_gaps
from stormlog.query import _GAP_ANALYSIS_THRESHOLDS
from traceml_ai.diagnostics.step_memory.policy import DEFAULT_STEP_MEMORY_THRESHOLDS
from traceml_ai.diagnostics.step_memory.trend import evaluate_step_memory_window_creep


def stormlog(values):
    """Persistent drift of the hidden gap, the series standing for the gap."""
    events = [
        SimpleNamespace(
            event_type="sample",
            timestamp_ns=step * 10**9,
            device_total_bytes=int(max(values)),
            device_used_bytes=int(value),
            allocator_reserved_bytes=0,
            allocator_allocated_bytes=0,
            context=None,
            metadata={},
        )
        for step, value in enumerate(values)
    ]
    found = analyze_hidden_memory_gaps(events, _GAP_ANALYSIS_THRESHOLDS, str, {})
    return any(one.classification == "persistent_drift" for one in found)


def creep(values):
    return evaluate_step_memory_window_creep(
        worst_series_bytes=values,
        median_series_bytes=values,
        steps_used=len(values),
        thresholds=DEFAULT_STEP_MEMORY_THRESHOLDS,
    )


def otava(values):
    """Indexes of the change points, Otava's defaults."""
    return [point.index for point in compute_change_points(values)[0]]


def pelt(values):
    """Indexes of the change points: least squares, two parameters a point by Schwarz's criterion."""
    signal = np.asarray(values)
    # The noise from differences of neighbours: a trend hardly counts in it.
    sigma = 1.4826 * np.median(np.abs(np.diff(signal))) / math.sqrt(2)
    penalty = 2 * max(sigma, 512) ** 2 * math.log(len(signal))
    return ruptures.Pelt(model="l2", min_size=3).fit_predict(signal, pen=penalty)[:-1]


def ends_highest(values, points):
    """Whether the level after the last change point is the highest of all."""
    if not points:
        return False
    edges = [0, *points, len(values)]
    levels = [float(np.mean(values[a:b])) for a, b in zip(edges, edges[1:])]
    return levels[-1] == max(levels)


RULES = {
    "stormlog": stormlog,
    "traceml-ai, confirmed": lambda values: creep(values).confirmed,
    "traceml-ai, early or confirmed": lambda values: creep(values).early,
    "pymannkendall": lambda values: pymannkendall.original_test(values).trend == "increasing",
    "apache-otava": lambda values: ends_highest(values, otava(values)),
    "ruptures": lambda values: ends_highest(values, pelt(values)),
}

series = json.load(sys.stdin)
json.dump({name: [bool(rule(values)) for values in series] for name, rule in RULES.items()}, sys.stdout)
