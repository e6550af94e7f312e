"""Gradients never set to zero, under a monitor that keeps them.

Two failures of one cause. Gradients add up over all steps, so that training goes where no gradient points and validation
accuracy falls to chance. Since they no longer show the last step, the monitor keeps a copy of every step's to compare them.

Keeps with every step: a copy of all gradients, the size of the parameters (tiny: 0.7 MiB, article: 43 MiB).
"""

from collections import deque

from leaklab.training import main


def leaky(lab):
    gradients = []

    # leak begins
    def step(images, labels):
        loss = lab.criterion(lab.model(images), labels)
        loss.backward()
        gradients.append([parameter.grad.clone() for parameter in lab.model.parameters()])
        lab.optimizer.step()
        return loss.detach()

    # leak ends
    return step


def fixed(lab):
    norms = deque(maxlen=24)

    def step(images, labels):
        lab.optimizer.zero_grad(set_to_none=True)
        loss = lab.criterion(lab.model(images), labels)
        loss.backward()
        norms.append([float(parameter.grad.norm()) for parameter in lab.model.parameters()])
        lab.optimizer.step()
        return loss.detach()

    return step


def keeps(lab):
    return lab.parameter_bytes


if __name__ == "__main__":
    main(leaky, fixed, keeps)
