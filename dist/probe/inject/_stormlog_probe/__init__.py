"""The probe inside the measured process; see docs/probe.md. Nothing in here may raise into the program, print, or change it."""

import sys

#: What sitecustomize took from the environment at the start; empty where it did not run.
settings = getattr(sys, "_stormlog_gate", {})

#: The first failure of the probe, for the info file.
trouble = None

FRAMEWORKS = ("torch", "tensorflow", "jax")


def is_importing(name):
    """Whether the module is being imported, by whichever thread."""
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


def complain(error):
    """Keep a failure of the probe for the recording, and print it only with DEBUG."""
    global trouble
    try:
        text = "%s: %s" % (type(error).__name__, error)
        trouble = trouble or text[:300]
        if settings.get("DEBUG") == "1":
            sys.stderr.write("stormlog-gate probe: %s\n" % text)
    except Exception:  # noqa: BLE001 (stderr may be closed)
        pass
