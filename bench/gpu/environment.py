"""Facts of the machine as one line of JSON: versions and the device, as PyTorch and NVML report them."""

import json
import platform

facts = {"python": platform.python_version(), "kernel": platform.release(), "torch": None, "cuda": None, "gpu": None, "memory_bytes": None,
         "driver": None, "nvml": None, "mig": None, "accounting": None, "problems": []}
try:
    import torch

    facts["torch"] = torch.__version__
    facts["cuda"] = torch.version.cuda
    facts["hip"] = getattr(torch.version, "hip", None)
    if hasattr(torch, "standin") or "standin" in torch.__version__:
        facts["problems"].append("a stand-in of PyTorch")
    elif torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name(0)
        facts["memory_bytes"] = torch.cuda.get_device_properties(0).total_memory
    else:
        facts["problems"].append("PyTorch sees no CUDA device")
except Exception as error:
    facts["problems"].append("PyTorch: %s" % error)
try:
    from nvml import Nvml

    nvml = Nvml()
    facts["driver"] = nvml.text("nvmlSystemGetDriverVersion")
    facts["nvml"] = nvml.text("nvmlSystemGetNVMLVersion")
    if facts["gpu"] is None:
        facts["nvml_gpu"] = nvml.text("nvmlDeviceGetName", nvml.handle)
    facts["accounting"] = nvml.accounting_on()
except Exception as error:
    facts["problems"].append("NVML: %s" % error)
print(json.dumps(facts))
