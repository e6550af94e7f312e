"""
Holds the graph of the last ten steps of a recurrent network. Bounded: the state is detached after every tenth step,
which frees the graph behind it.
"""

import time

import torch

torch.manual_seed(7)
torch.set_num_threads(1)
cell = torch.nn.GRUCell(64, 128)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
state = torch.zeros(64, 128)
loss = torch.zeros(())
for number in range(1, 161):
    state = cell(torch.randn(64, 64), state)
    loss = loss + state.square().mean()
    if number % 10 == 0:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state, loss = state.detach(), torch.zeros(())
    time.sleep(0.008)
print(tuple(state.shape))
