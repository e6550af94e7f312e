"""Calls Stormlog's own code and prints what it returned as one JSON document.

Usage: stormlog_peer.py report FILE | events FILE.csv | gaps DIRECTORY | artifacts DIRECTORY
"""

import importlib.util
import json
import pathlib
import sys
import time
import types

# Releases before 0.3 import torch with the package. Its modules that are called here do not need it.
spec = importlib.util.find_spec("stormlog")
package = types.ModuleType("stormlog")
package.__path__ = list(spec.submodule_search_locations)
package.__version__ = "0"
package.__spec__ = spec
sys.modules["stormlog"] = package

THRESHOLDS = {
    "gap_ratio_threshold": 0.05,
    "gap_spike_zscore": 2.0,
    "gap_drift_r_squared": 0.6,
    "gap_fragmentation_ratio": 0.3,
}


def report(path):
    from stormlog.report import load_report

    return [finding["id"] for finding in load_report(pathlib.Path(path))["findings"]]


def events(path):
    """A CPU tracker's own export of a short run."""
    from stormlog.cpu_profiler import CPUMemoryTracker

    tracker = CPUMemoryTracker(sampling_interval=0.02)
    tracker.start_tracking()
    kept = []
    while len(tracker.events) < 12:
        kept.append(bytearray(1 << 20))
        time.sleep(0.02)
    tracker.stop_tracking()
    tracker.export_events(path, format="csv")
    return len(tracker.events)


def gaps(directory):
    """Findings of every file, by name."""
    from stormlog.gap_analysis import analyze_hidden_memory_gaps
    from stormlog.telemetry import load_telemetry_events

    found = {}
    for file in sorted(pathlib.Path(directory).glob("*.json")):
        findings = analyze_hidden_memory_gaps(
            load_telemetry_events(file), THRESHOLDS, str, {}
        )
        found[file.stem] = [
            [one.classification, one.severity, one.confidence, one.evidence, one.description] for one in findings
        ]
    return found


def artifacts(directory):
    from stormlog.tui.distributed_diagnostics import load_distributed_artifacts

    loaded = load_distributed_artifacts([pathlib.Path(directory)])
    return {
        "warnings": loaded.warnings,
        "sessions": {
            session.summary.session_id: sum(event.event_type == "sample" for event in session.events)
            for session in loaded.sessions
        },
    }


print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
