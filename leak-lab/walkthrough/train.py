"""The Stormlog walkthrough's training job in three states: baseline, leaky, fixed.

A small multi-layer perceptron learns a synthetic classification task. Debugging code looks at every step's hidden
activations and logits, and what differs between the states is only what it keeps of them:

    baseline   nothing
    leaky      detached clones of the tensors: detached from autograd, but alive on the device for ever
    fixed      a bounded history of scalar summaries

Loss and validation accuracy look fine in all three. Runs on CUDA, MPS or the CPU, whichever is there.

    python train.py --state leaky --steps 240
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque

try:
    from stormlog_gate import phase
except ImportError:
    # Not measured, or measured without the probe.
    from contextlib import nullcontext as phase


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--state", choices=("baseline", "leaky", "fixed"), default="baseline")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda", "mps"), default="auto")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--step-ms",
        type=float,
        default=12.0,
        help="shortest time of one step, so that a run lasts as long on a fast machine as on a slow one",
    )
    parser.add_argument("--counters", action="store_true", help="print what the framework counts, four times in the run")
    parser.add_argument(
        "--headroom-mib",
        type=int,
        help="limit of the address space that the run may add to that of the imported framework (Linux)",
    )
    return parser.parse_args()


def counters(torch, device):
    """State that is only visible while a program runs."""
    if device.type == "cuda":
        return "allocated {:,} bytes, reserved {:,} bytes".format(
            torch.cuda.memory_allocated(device), torch.cuda.memory_reserved(device)
        )
    if device.type == "mps":
        return "allocated {:,} bytes, driver {:,} bytes".format(
            torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory()
        )
    import resource

    # KiB on Linux, bytes on a Mac; the peak, since live memory is not counted.
    unit = 1 if sys.platform == "darwin" else 1024
    return "resident at most {:,} bytes".format(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def limit_headroom(mib):
    """Limit the address space to its present size and `mib` MiB more.

    Importing PyTorch alone takes 0.6 GB of it (1.13) to 3 GB (2.15).
    """
    import resource

    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + mib * 2**20, hard))


class NoRetention:
    """Reads, keeps nothing."""

    def observe(self, hidden, logits, loss, step):
        pass


class DeviceTensorRetention:
    """The bug. `detach().clone()` leaves the graph but stays on the device, and the lists live as long as the run."""

    def __init__(self):
        self.hidden_cache = []
        self.logit_cache = []

    def observe(self, hidden, logits, loss, step):
        self.hidden_cache.append(hidden.detach().clone())
        if step % 4 == 0:
            self.logit_cache.append(logits.detach().clone())


class ScalarSummaryRetention:
    """The fix. The reductions run on the device; a few numbers come back to the host, and only the newest stay."""

    def __init__(self, max_items=24):
        self.summaries = deque(maxlen=max_items)

    def observe(self, hidden, logits, loss, step):
        values = hidden.detach().float()
        self.summaries.append(
            {
                "step": step,
                "hidden_mean": values.mean().item(),
                "hidden_std": values.std().item(),
                "logit_max": logits.detach().float().max().item(),
                "loss": loss.item(),
            }
        )


RETENTION = {"baseline": NoRetention, "leaky": DeviceTensorRetention, "fixed": ScalarSummaryRetention}


def choose_device(torch, wanted):
    if wanted != "auto":
        return torch.device(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda")
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def synthetic_data(torch, rows, features, classes, generator, centres):
    labels = torch.randint(0, classes, (rows,), generator=generator)
    points = centres[labels] + torch.randn(rows, features, generator=generator)
    return points, labels


def main() -> int:
    arguments = parse_arguments()
    try:
        import torch
    except ModuleNotFoundError as error:
        # A module that PyTorch needs may be missing, too.
        if error.name != "torch":
            raise
        print("PyTorch is not installed: `apt-get install python3-torch` or `pip install torch`", file=sys.stderr)
        return 1
    if arguments.headroom_mib is not None:
        limit_headroom(arguments.headroom_mib)

    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    device = choose_device(torch, arguments.device)
    generator = torch.Generator().manual_seed(arguments.seed)
    centres = 0.65 * torch.randn(arguments.classes, arguments.features, generator=generator)
    train_x, train_y = synthetic_data(torch, 8192, arguments.features, arguments.classes, generator, centres)
    valid_x, valid_y = synthetic_data(torch, 1024, arguments.features, arguments.classes, generator, centres)
    train_x, train_y = train_x.to(device), train_y.to(device)
    valid_x, valid_y = valid_x.to(device), valid_y.to(device)

    class Perceptron(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(
                torch.nn.Linear(arguments.features, arguments.hidden),
                torch.nn.ReLU(),
                torch.nn.Linear(arguments.hidden, arguments.hidden),
                torch.nn.ReLU(),
            )
            self.head = torch.nn.Linear(arguments.hidden, arguments.classes)

        def forward(self, features):
            hidden = self.body(features)
            return self.head(hidden), hidden

    model = Perceptron().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = torch.nn.CrossEntropyLoss()
    retention = RETENTION[arguments.state]()

    started = time.monotonic()
    with phase("training"):
        for step in range(arguments.steps):
            first = (step * arguments.batch) % (len(train_x) - arguments.batch + 1)
            features = train_x[first : first + arguments.batch]
            labels = train_y[first : first + arguments.batch]
            optimizer.zero_grad()
            logits, hidden = model(features)
            loss = criterion(logits, labels)
            loss.backward()
            optimizer.step()
            retention.observe(hidden, logits, loss, step)
            if arguments.counters and (step + 1) % max(1, arguments.steps // 4) == 0:
                print("step %3d: %s" % (step + 1, counters(torch, device)), flush=True)
            wait = started + (step + 1) * arguments.step_ms / 1000 - time.monotonic()
            if wait > 0:
                time.sleep(wait)

    with phase("validation"), torch.no_grad():
        accuracy = (model(valid_x)[0].argmax(dim=1) == valid_y).float().mean().item()
    print(
        "%s on %s: %d steps, loss %.4f, validation accuracy %.2f %%"
        % (arguments.state, device.type, arguments.steps, loss.item(), 100 * accuracy)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
