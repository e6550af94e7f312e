"""
The probe's own bytecode, where Python was told to keep none (PYTHONDONTWRITEBYTECODE is common in images): compiling the probe anew
at the start of every process costs 1.5 ms more than all else it does there. Only beside the probe's own files.
"""

import os
import sys


def keep():
    """Write what is missing, if these folders can be written. Once per installation and version of Python."""
    if not sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return
    package = os.path.dirname(os.path.abspath(__file__))
    for folder in (os.path.dirname(package), package):
        if not os.access(folder, os.W_OK):
            return
        for name in sorted(os.listdir(folder)):
            stem, ending = os.path.splitext(name)
            # Not what only some runs load.
            if ending == ".py" and (folder != package or "_stormlog_probe.%s" % stem in sys.modules or stem == "__init__"):
                _compile(os.path.join(folder, name))


def _compile(path):
    import _frozen_importlib_external as external

    target = external.cache_from_source(path)
    if os.path.exists(target):
        return
    loader = external.SourceFileLoader("stormlog_gate", path)
    stats = loader.path_stats(path)
    code = loader.source_to_code(loader.get_data(path), path)
    # Makes the folder, and replaces the file whole; says nothing when it cannot.
    loader.set_data(target, external._code_to_timestamp_pyc(code, stats["mtime"], stats["size"]), _mode=0o644)
