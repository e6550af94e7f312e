"""A program under Stormlog's tracker of the host, at its fastest documented interval. usage: PROGRAM OUTPUT"""

import runpy
import sys

from stormlog import CPUMemoryTracker

tracker = CPUMemoryTracker(sampling_interval=0.1)
tracker.start_tracking()
runpy.run_path(sys.argv[1], run_name="__main__")
tracker.stop_tracking()
tracker.export_events(sys.argv[2], format="json")
