"""Writes what TraceML's own writers and report make of a run without a GPU: a database and a summary.

Usage: traceml_peer.py DATABASE SUMMARY
"""

import importlib
import importlib.abc
import importlib.machinery
import json
import sqlite3
import sys
from unittest.mock import MagicMock


class WithoutTorch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Releases before 0.4 import PyTorch for names that nothing here calls."""

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name.split(".")[0] == "torch" else None

    def create_module(self, spec):
        stand_in = MagicMock()
        stand_in.__path__ = []
        return stand_in

    def exec_module(self, module):
        pass


sys.meta_path.append(WithoutTorch())
database, summary = sys.argv[1:]
connection = sqlite3.connect(database)
for name in ["process", "system", "step_memory", "step_time", "runtime_environment", "stdout_stderr"]:
    try:
        module = importlib.import_module(f"traceml_ai.aggregator.sqlite_writers.{name}")
    except ModuleNotFoundError:
        continue
    module.init_schema(connection)
for sample in range(60):
    for rank in range(2):
        at = 1_700_000_000.0 + sample
        connection.execute(
            "INSERT INTO process_samples (recv_ts_ns, rank, global_rank, local_rank, world_size, node_rank, hostname,"
            " sample_ts_s, seq, cpu_percent, ram_used_bytes, ram_total_bytes, gpu_available, gpu_count)"
            " VALUES (?, ?, ?, ?, 2, 0, 'host', ?, ?, 50.0, ?, 64e9, 0, 0)",
            (int(at * 1e9), rank, rank, rank, at, sample, 500e6 + rank * 100e6 + sample * 1e6),
        )
        connection.execute(
            "INSERT INTO step_memory_samples (recv_ts_ns, rank, global_rank, local_rank, world_size, sample_ts_s, seq,"
            " device, step) VALUES (?, ?, ?, ?, 2, ?, ?, 'cpu', ?)",
            (int(at * 1e9), rank, rank, rank, at, sample, sample),
        )
connection.commit()
connection.close()

from traceml_ai.reporting.final import build_summary_payload

payload = build_summary_payload(database)
with open(summary, "w") as file:
    json.dump(payload, file)
print(json.dumps(payload["schema_version"]))
