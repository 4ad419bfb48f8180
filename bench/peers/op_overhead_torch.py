"""op-overhead by PyTorch eager: the loop that its users write, in inference mode."""

import peer

options = peer.arguments()
import torch  # noqa: E402

torch.set_num_threads(options.threads)


class Chain:
    def __init__(self, ops):
        self.ops = ops
        self.x = torch.from_numpy(peer.uniform(1, 16))
        for _ in range(20):
            self.once()

    def once(self):
        with torch.inference_mode():
            x = self.x
            for _ in range(self.ops):
                x = torch.softmax(x, 0)
            return x

    def check(self):
        return [float(v) for v in self.once()]

    def run(self):
        return {"seconds": peer.timed(self.once, 40) / self.ops}


peer.serve(f"torch {torch.__version__}", lambda case: Chain(1000))
