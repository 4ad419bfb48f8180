"""lenet-train: the first weights and batches of bench/train/lenet.cc."""

import peer


def weights():
    """Convolutions as [out, in, h, w], products as [in, out]."""
    return [peer.weight(10, (6, 1, 5, 5), 25), peer.weight(11, (16, 6, 5, 5), 150),
            peer.weight(12, (400, 120), 400), peer.weight(13, (120, 84), 120),
            peer.weight(14, (84, 10), 84)]


class Training(peer.Training):
    steps = 20

    def __init__(self, batch, convert):
        self.batches = [(convert(peer.uniform(100 + k, batch * 784).reshape(batch, 1, 28, 28)),
                         convert(peer.below(200 + k, batch, 10))) for k in range(4)]
