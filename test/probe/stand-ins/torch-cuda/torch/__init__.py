"""Stands in for a PyTorch built for CUDA: the private calls that the probe uses, over an allocator that is only bookkeeping."""

__version__ = "2.9.0+standin"


class version:
    cuda = "12.8"
    hip = None


from torch import _C, cuda, distributed, optim  # noqa: E402

OutOfMemoryError = _C.OutOfMemoryError


class compiler:
    compiling = False

    @staticmethod
    def is_compiling():
        return compiler.compiling


def compile(model):
    """Loads the compiler, which changes the optimizers as PyTorch 2.0 to 2.8 do, and gives the model back."""
    from torch._dynamo import eval_frame

    eval_frame.TorchPatcher.patch()
    return model
