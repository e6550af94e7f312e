"""Process groups that are only bookkeeping: a group costs each device that this process uses the memory of a communicator."""

import os

from torch import _driver

_groups = []


def is_available():
    return True


def is_initialized():
    return bool(_groups)


def get_rank(_group=None):
    return int(os.environ.get("RANK", "0"))


def get_world_size(_group=None):
    return int(os.environ.get("WORLD_SIZE", "1"))


def new_group(ranks=None, **_settings):
    _groups.append(ranks)
    for index, device in enumerate(_driver.devices):
        if device.parts:
            _driver.hold(index, "communicator", _driver.COMMUNICATOR * len(_groups))
    return len(_groups)


def init_process_group(backend="nccl", **settings):
    new_group(None, backend=backend, **settings)


def destroy_process_group(_group=None):
    _groups.clear()
