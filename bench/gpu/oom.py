"""Fills device memory until there is none left: usage oom.py fraction|caught|whole [--small].

    fraction   a tenth of the device is allowed; the error ends the program
    caught     the same, but the program frees what it has and goes on
    whole      all of the device

What it knows of the failure is printed as the last line before it: {"held_bytes", "asked_bytes", "blocks"}.
"""

import json
import sys
import time

import torch
from device import MIB, device

mode, small = sys.argv[1], "--small" in sys.argv
gpu = device()
gpu.begin()
if mode != "whole":
    gpu.fraction(0.1)
block = (256 if mode != "whole" else 1024) * MIB // gpu.scale
optimizer = gpu.optimizer()
held = []
Exhausted = getattr(torch, "OutOfMemoryError", None) or torch.cuda.OutOfMemoryError


def fill():
    while True:
        # A step, so that the window has some before the end.
        optimizer.step()
        time.sleep(0.002 if small else 0.01)
        held.append(gpu.hold(block))


try:
    fill()
except Exhausted:
    print(json.dumps({"held_bytes": len(held) * block, "asked_bytes": block, "blocks": len(held)}), flush=True)
    if mode != "caught":
        raise
    held.clear()
    gpu.give_back()
    for _ in range(20):
        optimizer.step()
        time.sleep(0.01)
