"""Table benchmarks by PyTorch: --mode lookup (EmbeddingBag), or update (sparse Adagrad)."""

import peer
import table_keys

options = peer.arguments("--mode", "--rows")
import torch  # noqa: E402

torch.set_num_threads(options.threads)

WIDTH = 16
ROWS = int(options.rows)
CHUNK = 1 << 20


def make_weight():
    """Row r is that of rank r, moved to a place of its own: no help from neighbours."""
    weight = torch.empty(ROWS, WIDTH)
    for first in range(0, ROWS, CHUNK):
        ranks = table_keys.np.arange(first, min(ROWS, first + CHUNK))
        weight[place_of(ranks)] = torch.from_numpy(table_keys.values(ranks, WIDTH))
    return weight


def place_of(ranks):
    multiplier = 7_368_787
    while table_keys.np.gcd(multiplier, ROWS) != 1:
        multiplier += 2
    return torch.from_numpy(ranks.astype("int64") * multiplier % ROWS)


class Lookup:
    def __init__(self, case, weight):
        self.batches = table_keys.Batches(case, ROWS)
        self.ids = [[place_of(b) for b in window] for window in self.batches.ranks]
        self.bag = torch.nn.EmbeddingBag.from_pretrained(weight, mode="sum")
        self.offsets = torch.arange(self.batches.batch)
        self.run()

    def lookup(self, ids):
        return self.bag(ids, self.offsets)

    def check(self):
        with torch.inference_mode():
            return table_keys.check_sums(self.lookup(self.ids[0][0]).numpy())

    def run(self):
        window = self.batches.next_round(self.ids)
        with torch.inference_mode():
            begin = peer.time.perf_counter()
            for ids in window:
                self.lookup(ids)
            seconds = peer.time.perf_counter() - begin
        return {"seconds": seconds / (len(window) * self.batches.batch)}


class Update:
    def __init__(self, case, weight):
        self.batches = table_keys.Batches(case, ROWS)
        self.ids = [[place_of(b)[None, :] for b in window] for window in self.batches.ranks]
        self.weight = torch.nn.Parameter(weight)
        self.adagrad = torch.optim.Adagrad([self.weight], lr=0.01, initial_accumulator_value=0.1)
        self.gradient = torch.full((self.batches.batch, WIDTH), 0.001)
        self.run()

    def run(self):
        window = self.batches.next_round(self.ids)
        begin = peer.time.perf_counter()
        for ids in window:
            self.weight.grad = torch.sparse_coo_tensor(ids, self.gradient, self.weight.shape,
                                                       check_invariants=False)
            self.adagrad.step()
        seconds = peer.time.perf_counter() - begin
        return {"seconds": seconds / (len(window) * self.batches.batch)}


WEIGHT = []


def prepare(case):
    if not WEIGHT:
        WEIGHT.append(make_weight())
    return (Lookup if options.mode == "lookup" else Update)(case, WEIGHT[0])


peer.serve("torch " + torch.__version__, prepare)
