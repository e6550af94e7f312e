from torch.cuda import memory

_initialized = False
_queued = []


def is_initialized():
    return _initialized


def _lazy_call(call):
    if _initialized:
        call()
    else:
        _queued.append(call)


def init():
    """First tensor on the device."""
    global _initialized
    if not _initialized:
        _initialized = True
        for call in _queued:
            call()
