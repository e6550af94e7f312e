"""Compares evidence bundles of the walkthrough: what the program printed, and what was measured.

    python compare.py BUNDLE…

A bundle is a directory of plain files: what is printed here stands in its `measurements.json` and in the output of its first run.
"""

import json
import os
import re
import sys

MIB = 1024 * 1024


def accuracy(bundle):
    """As the program printed it; None where it ended before."""
    path = os.path.join(bundle, "runs", "walkthrough", "1", "output.log")
    with open(path, encoding="utf-8", errors="replace") as file:
        found = re.search(r"validation accuracy ([\d.]+) %", file.read())
    return None if found is None else float(found.group(1))


def measured(bundle):
    """The series of what the allocator holds: a device's where there is one, else the heap's."""
    with open(os.path.join(bundle, "measurements.json"), encoding="utf-8") as file:
        series = json.load(file)["runs"][0]["series"]
    allocated = [one for one in series if one["metric"] == "allocated"]
    return sorted(allocated, key=lambda one: one["device"] == "host")[0]


def cell(value, text):
    return "unknown" if value is None else text % value


def main(bundles):
    row = "%-10s %20s %16s %18s  %s"
    print(row % ("bundle", "validation accuracy", "allocated peak", "growth per step", "class"))
    for bundle in bundles:
        series = measured(bundle)
        slope = series.get("slope_bytes_per_step")
        print(
            row
            % (
                os.path.basename(os.path.normpath(bundle)),
                cell(accuracy(bundle), "%.2f %%"),
                "%.1f MiB" % (series["peak_bytes"] / MIB),
                cell(None if slope is None else slope / 1024, "%.1f KiB"),
                series.get("class", "unknown"),
            )
        )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: compare.py BUNDLE…")
    main(sys.argv[1:])
