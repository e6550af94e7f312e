"""What a program was started with, beside what its memory consists of: arguments, settings, versions, size of its models."""

import os
import sys

# Settings that change how much memory a program takes. Other variables may be secrets.
_SETTINGS = ("PYTORCH_", "TORCH_", "CUDA_", "OMP_", "MKL_", "MALLOC_", "PYTHONMALLOC", "PYTHONHASHSEED", "XLA_", "TF_GPU_", "TF_FORCE_")
_MAX_VALUE = 400
_MAX_PACKAGES = 60


def inputs(models):
    """Text by name.  `models`: the modules whose parameters are counted."""
    found = {"arguments": " ".join(sys.argv[1:]), "Python": "%d.%d.%d" % sys.version_info[:3]}
    for name in sorted(os.environ):
        if name.startswith(_SETTINGS):
            found[name] = os.environ[name]
    found.update(_versions())
    counted = _parameters(models)
    if counted:
        found["parameters"] = counted
    return {name[:_MAX_VALUE]: str(value)[:_MAX_VALUE] for name, value in found.items()}


def _versions():
    """Versions of the packages that are imported, where module and package have the same name."""
    try:
        from importlib.metadata import PackageNotFoundError, version
    except ImportError:
        return {}
    found = {}
    standard = getattr(sys, "stdlib_module_names", ())
    for name in sorted({name.partition(".")[0] for name in list(sys.modules)}):
        if name.startswith("_") or name in standard or len(found) >= _MAX_PACKAGES:
            continue
        try:
            found[name] = version(name)
        except (PackageNotFoundError, ValueError, OSError):
            pass
    return found


def _parameters(models):
    """"6,297,600 float32": parameters by type."""
    sizes, seen = {}, set()
    for model in models:
        for one in model.parameters():
            if id(one) not in seen:
                seen.add(id(one))
                kind = str(one.dtype).replace("torch.", "")
                sizes[kind] = sizes.get(kind, 0) + one.numel()
    return ", ".join("{:,} {}".format(count, kind) for kind, count in sorted(sizes.items()))
