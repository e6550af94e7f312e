"""
Keeps the probe's own bytecode under PYTHONDONTWRITEBYTECODE, which is common in images: without it, compiling the probe at the start
of every process costs 1.5 ms more than all else the probe does there. Writes beside the probe's own files only.
"""

import os
import sys


def keep():
    """Write what is missing, if the directories can be written. Once per installation and version of Python."""
    if not sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return
    package = os.path.dirname(os.path.abspath(__file__))
    inject = os.path.dirname(package)
    paths = [os.path.join(inject, name) for name in os.listdir(inject) if name.endswith(".py")]
    # Of the package only what this run loaded: some modules are for attribution alone.
    paths += [module.__file__ for name, module in list(sys.modules.items()) if name.partition(".")[0] == "_stormlog_probe"]
    for path in sorted(paths):
        if not os.access(os.path.dirname(path), os.W_OK):
            return
        _compile(path)


def _compile(path):
    import _frozen_importlib_external as external

    target = external.cache_from_source(path)
    if os.path.exists(target):
        return
    loader = external.SourceFileLoader("stormlog_gate", path)
    stats = loader.path_stats(path)
    code = loader.source_to_code(loader.get_data(path), path)
    # Makes the directory and replaces the file atomically. Fails silently.
    loader.set_data(target, external._code_to_timestamp_pyc(code, stats["mtime"], stats["size"]), _mode=0o644)
