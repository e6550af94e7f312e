import functools

_global_optimizer_post_hooks = {}


def register_optimizer_step_post_hook(hook):
    _global_optimizer_post_hooks[len(_global_optimizer_post_hooks)] = hook


class Optimizer:
    def __init__(self, params, **_settings):
        self.param_groups = [{"params": list(params)}]
        hooked = getattr(self.__class__.step, "hooked", None)
        if not hooked:
            self.__class__.step = self.profile_hook_step(self.__class__.step)
            self.__class__.step.hooked = True

    @staticmethod
    def profile_hook_step(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            self = args[0]
            out = func(*args, **kwargs)
            for hook in _global_optimizer_post_hooks.values():
                hook(self, args, kwargs)
            return out

        return wrapper
