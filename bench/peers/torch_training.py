"""A case of PyTorch's that trains on a few batches: eager, or with the loss compiled."""

import peer
import torch


class TorchTraining(peer.Training):
    """A peer sets `steps` and `batches`, then calls begin."""

    def begin(self, model, loss, optimizer, mode):
        """`loss` is a function of a batch, `optimizer` one of the parameters; mode: eager, compile."""
        self.parameters = list(model.parameters())
        self.initial = [p.detach().clone() for p in self.parameters]
        self.optimizer = optimizer(self.parameters)
        self.loss = loss
        if mode == "compile":
            torch._dynamo.reset()
            self.loss = torch.compile(loss, fullgraph=True, dynamic=False)
        self.warm_up()

    def reset(self):
        with torch.no_grad():
            for parameter, value in zip(self.parameters, self.initial):
                parameter.copy_(value)
            for state in self.optimizer.state.values():
                for value in state.values():
                    value.zero_()

    def step(self, *batch):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(*batch)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.001, fused=True)
