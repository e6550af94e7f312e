from torch.optim.optimizer import Optimizer


def no_grad(function):
    def decorate_context(*args, **kwargs):
        return function(*args, **kwargs)

    return decorate_context


class SGD(Optimizer):
    @no_grad
    def step(self, closure=None):
        return None if closure is None else closure()


class Adam(Optimizer):
    @no_grad
    def step(self, closure=None):
        return None if closure is None else closure()


class LBFGS(Optimizer):
    @no_grad
    def step(self, closure):
        for _ in range(5):
            loss = closure()
        return loss
