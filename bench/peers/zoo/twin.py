"""What the PyTorch twins of the zoo share: our initial weights, our batches, the loop, the metrics.

A twin is a plain PyTorch model that is trained by the recipe of models/GROUP/NAME:

    import twin

    t = twin.Twin()                            # reads the command line that bench/zoo gives
    fc = t.linear("fc")                        # a torch.nn.Linear that begins as our @fc.w and @fc.b
    rows = t.table("rows", ["cat"])            # a sparse torch.nn.Embedding of a table's rows
    model = torch.nn.ModuleList([fc, rows])
    adam = torch.optim.Adam(fc.parameters(), lr=0.001)
    adagrad = torch.optim.Adagrad(rows.parameters(), lr=0.02)

    def logits(batch): return fc(rows(batch["cat"]).mean(1))[:, 0]
    def loss(batch): return F.binary_cross_entropy_with_logits(logits(batch), batch["label"])

    t.fit(model, [adam, adagrad], loss, predict=logits)

A batch is a dictionary of tensors by column; of a column of lists, a Ragged.
"""

import argparse
import copy
import json
import os
import struct
import subprocess
import tempfile
import time

import numpy as np
import torch

HIGHER_IS_BETTER = {"auc", "accuracy"}
EVALUATION_ROWS = 500
FIRST_LOSSES = 100


class Ragged:
    """Lists of different length: list i has the values from offsets[i] to offsets[i + 1]."""

    def __init__(self, values, offsets):
        self.values, self.offsets = values, offsets

    def lengths(self):
        return self.offsets[1:] - self.offsets[:-1]

    def padded(self, fill=0):
        """(values[B, T], mask[B, T]): T is the longest list's length, at least 1."""
        lengths = self.lengths()
        width = max(1, int(lengths.max()))
        mask = torch.arange(width)[None, :] < lengths[:, None]
        values = torch.full(mask.shape, fill, dtype=self.values.dtype)
        values[mask] = self.values
        return values, mask

    def sum(self, embedding):
        """The sum of the rows of each list: f32[B, D]."""
        lists = torch.repeat_interleave(torch.arange(len(self.lengths())), self.lengths())
        zeros = torch.zeros(len(self.lengths()), embedding.embedding_dim)
        return zeros.index_add(0, lists, embedding(self.values))

    def mean(self, embedding):
        """Their mean; zeros for an empty list."""
        return self.sum(embedding) / self.lengths().clamp(min=1)[:, None]


class Columns:
    """The arrays that `catamaran data batches` wrote to a folder."""

    def __init__(self, folder):
        self.arrays, self.offsets = {}, {}
        for file in sorted(os.listdir(folder)):
            name = file.removesuffix(".npy")
            if name == "batches":
                continue
            array = np.load(os.path.join(folder, file), mmap_mode="r")
            if name.endswith(".offsets"):
                self.offsets[name.removesuffix(".offsets")] = array
            else:
                self.arrays[name] = array
        self.rows = min(len(self.offsets[n]) - 1 if n in self.offsets else len(a)
                        for n, a in self.arrays.items() if not n.endswith(".weights"))

    def batch(self, rows):
        """The rows with these numbers."""
        out = {}
        for name, array in self.arrays.items():
            offsets = self.offsets.get(name.removesuffix(".weights"))
            if offsets is None:
                out[name] = on_device(array[rows])
                continue
            begin, lengths = offsets[rows], offsets[rows + 1] - offsets[rows]
            ends = np.concatenate([[0], np.cumsum(lengths)])
            places = np.arange(ends[-1]) + np.repeat(begin - ends[:-1], lengths)
            out[name] = Ragged(on_device(array[places]), on_device(ends))
        return out


def on_device(array):
    """An array as a tensor on the device that --device names."""
    return torch.from_numpy(array).to(torch.get_default_device())


def real(tensor):
    """A tensor as floating point of the precision that --precision names."""
    return tensor.to(torch.get_default_dtype())


def read_safetensors(path):
    """{name: array} of a file in the layout of safetensors."""
    types = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32,
             "U64": np.uint64, "U32": np.uint32, "U8": np.uint8, "I8": np.int8, "BOOL": np.bool_}
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], types[entry["dtype"]])
            .reshape(entry["shape"]) for name, entry in header.items() if entry["dtype"] in types}


def auc(score, label):
    """The share of pairs of a positive and a negative row that are in order; ties count half."""
    order = np.argsort(score, kind="stable")
    score, label = score[order], label[order] > 0.5
    _, first, counts = np.unique(score, return_index=True, return_counts=True)
    rank = np.repeat(first + (counts + 1) / 2, counts)
    positives = label.sum()
    negatives = len(label) - positives
    return float((rank[label].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def accuracy(score, label):
    if score.ndim == 1:  # logits of one class
        return float(((score > 0) == (label > 0.5)).mean())
    return float((score.argmax(-1) == label).mean())


MEASURES = {"auc": auc, "accuracy": accuracy}


class Windows:
    """A metric of what was predicted, for each `rows` rows or a few more."""

    def __init__(self, rows, measure):
        self.rows, self.measure = rows, measure
        self.scores, self.labels, self.done = [], [], []

    def add(self, score, label):
        self.scores.append(score)
        self.labels.append(label)
        if sum(map(len, self.scores)) >= self.rows:
            self.end()

    def end(self):
        if self.scores:
            scores, labels = np.concatenate(self.scores), np.concatenate(self.labels)
            self.done.append((len(scores), self.measure(scores, labels)))
        self.scores, self.labels = [], []

    def values(self):
        self.end()
        return [value for _, value in self.done]

    def mean(self):
        self.end()
        return sum(n * value for n, value in self.done) / sum(n for n, _ in self.done)


class Twin:
    def __init__(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--program", required=True, help="models/GROUP/NAME.ctm")
        parser.add_argument("--catamaran", required=True, help="the program, which knows tables' rows")
        parser.add_argument("--state", required=True, help="our state before the first step")
        parser.add_argument("--train", required=True, help="arrays of the training rows, in order")
        parser.add_argument("--order", required=True, help="arrays: which rows come when")
        parser.add_argument("--valid", help="arrays of the validation rows")
        parser.add_argument("--test", help="arrays of the test rows")
        parser.add_argument("--window", type=int, help="online: rows of a window that is measured")
        parser.add_argument("--metric", required=True, help="auc, accuracy or loss")
        parser.add_argument("--epochs", type=int, default=1)
        parser.add_argument("--valid-every", default="1e", help="steps, or epochs as 1e")
        parser.add_argument("--keep", choices=["best", "latest"], default="best")
        parser.add_argument("--threads", type=int, default=1)
        parser.add_argument("--device", default="cpu", help="cuda: on a GPU, in full f32")
        parser.add_argument("--no-cudnn", action="store_true",
                            help="by other kernels: how far PyTorch is from itself")
        parser.add_argument("--no-mkldnn", action="store_true", help="the same on a processor")
        parser.add_argument("--precision", choices=["f32", "f64"], default="f32",
                            help="of all numbers; f64 needs a state in f64")
        parser.add_argument("--first", action="store_true", help="only the first losses")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--out", required=True, help="the results, as JSON")
        self.options = parser.parse_args()
        torch.set_num_threads(self.options.threads)
        torch.set_default_device(self.options.device)
        torch.set_default_dtype({"f32": torch.float32, "f64": torch.float64}[self.options.precision])
        torch.backends.cudnn.enabled = not self.options.no_cudnn
        torch.backends.cudnn.allow_tf32 = False  # of products it is the default
        torch.backends.mkldnn.enabled = not self.options.no_mkldnn
        torch.manual_seed(self.options.seed)
        self.train = Columns(self.options.train)
        if not self.options.window:
            self.valid = Columns(self.options.valid)
            self.test = Columns(self.options.test)
        files = sorted(f for f in os.listdir(self.options.state) if f.endswith(".safetensors"))
        self.weights = read_safetensors(os.path.join(self.options.state, files[-1]))
        order = np.load(os.path.join(self.options.order, "row.npy")).astype(np.int64)
        ends = np.load(os.path.join(self.options.order, "batches.npy"))
        self.batches = [order[a:b] for a, b in zip(ends, ends[1:])]

    # ---- what a model begins with

    def weight(self, path):
        """Our @path before the first step."""
        return on_device(self.weights[path].copy())

    def param(self, path):
        return torch.nn.Parameter(self.weight(path))

    def linear(self, path):
        """Our linear layer; its w[in, out] lies the other way round here."""
        w = self.weight(path + ".w")
        layer = torch.nn.Linear(w.shape[0], w.shape[1], bias=path + ".b" in self.weights)
        with torch.no_grad():
            layer.weight.copy_(w.t())
            if layer.bias is not None:
                layer.bias.copy_(self.weight(path + ".b"))
        return layer

    def mlp(self, path, activation=torch.nn.ReLU):
        """Our mlp: linear layers path.fc1, path.fc2, … with an activation between them."""
        layers = []
        while f"{path}.fc{len(layers) // 2 + 1}.w" in self.weights:
            layers += [self.linear(f"{path}.fc{len(layers) // 2 + 1}"), activation()]
        return torch.nn.Sequential(*layers[:-1])

    def conv(self, path, **settings):
        """Our conv (two dimensions); stride, padding, groups as torch.nn.Conv2d takes them."""
        w = self.weight(path + ".w")
        layer = torch.nn.Conv2d(w.shape[1] * settings.get("groups", 1), w.shape[0], w.shape[2:],
                                bias=path + ".b" in self.weights, **settings)
        with torch.no_grad():
            layer.weight.copy_(w)
            if layer.bias is not None:
                layer.bias.copy_(self.weight(path + ".b"))
        return layer

    def embedding(self, path):
        """Our embedding layer, a matrix of rows."""
        return torch.nn.Embedding.from_pretrained(self.weight(path + ".w"), freeze=False)

    def table(self, function, columns):
        """A sparse embedding with a row for every id in these columns; their ids become its indices.

        `function` of the program gives the initial rows: fn rows(ids: u64[N]) -> f32[N, D].
        """
        return self.tables({function: columns})[0]

    def tables(self, columns_of):
        """Several tables of the same ids: {function: columns}."""
        parts = [self.train] if self.options.window else [self.train, self.valid, self.test]

        def ids_in(columns):
            return np.unique(np.concatenate([np.unique(p.arrays[c]) for p in parts for c in columns]))

        all_columns = sorted(set().union(*columns_of.values()))
        ids, made = ids_in(all_columns), []
        for function, columns in columns_of.items():
            rows = on_device(self.rows(function, ids))
            made.append(torch.nn.Embedding.from_pretrained(rows, freeze=False, sparse=True))
            made[-1].used_rows = len(ids_in(columns))
        for part in parts:
            for column in all_columns:
                part.arrays[column] = np.searchsorted(ids, part.arrays[column])
        return made

    def rows(self, function, ids):
        """What the program's function gives for these ids in our initial state."""
        with tempfile.TemporaryDirectory() as folder:
            fed, fetched = os.path.join(folder, "ids.npy"), os.path.join(folder, "rows.npy")
            np.save(fed, ids.view(np.uint64))
            subprocess.run([self.options.catamaran, "run", self.options.program, function,
                            "--state", self.options.state, "--feed", f"ids={fed}",
                            "--fetch", f"out0={fetched}"], check=True, stdout=subprocess.DEVNULL)
            return np.load(fetched)

    # ---- training

    def fit(self, model, optimizers, loss, predict=None, schedulers=(), label="label", clip=None):
        """Trains by the recipe, validates when it says so, tests what was best, writes --out.

        loss(batch) is a scalar; predict(batch) gives logits, of shape [B] or [B, C]: without it the
        metric is the loss. schedulers step with every batch. clip: the largest norm of gradients.
        """
        every = self.steps_between_validations()
        result = {"losses": [], "valid": []}
        best, kept = None, None
        higher = self.options.metric in HIGHER_IS_BETTER
        windows = Windows(self.options.window, MEASURES.get(self.options.metric))
        begin = time.perf_counter()
        for step, rows in enumerate(self.batches, 1):
            batch = self.train.batch(rows)
            if self.options.window:  # predicted before it is learned from
                with torch.no_grad():
                    windows.add(predict(batch).cpu().numpy(), batch[label].cpu().numpy())
            model.train()
            for optimizer in optimizers:
                optimizer.zero_grad(set_to_none=True)
            value = loss(batch)
            value.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            for optimizer in optimizers:
                optimizer.step()
            for scheduler in schedulers:
                scheduler.step()
            if step <= FIRST_LOSSES:
                result["losses"].append(value.item())
            if self.options.first:
                if step == FIRST_LOSSES:
                    break
                continue
            if not self.options.window and (step % every == 0 or step == len(self.batches)):
                metric = self.evaluate(model, loss, predict, label, self.valid)
                result["valid"].append(metric)
                if best is None or (metric > best if higher else metric < best):
                    best, kept = metric, copy.deepcopy(model.state_dict())
        result["seconds"] = time.perf_counter() - begin
        if self.options.first:
            return self.write(result)
        if self.options.window:
            result["valid"], result["test"] = windows.values(), windows.mean()
        else:
            if self.options.keep == "best":
                model.load_state_dict(kept)
            result["test"] = self.evaluate(model, loss, predict, label, self.test)
        tables = [m for m in model.modules() if hasattr(m, "used_rows")]
        in_tables = {id(m.weight) for m in tables}
        result["params"] = sum(p.numel() for p in model.parameters() if id(p) not in in_tables)
        result["table_params"] = sum(m.used_rows * m.embedding_dim for m in tables)
        result["torch"] = torch.__version__
        self.write(result)

    def write(self, result):
        with open(self.options.out, "w") as file:
            json.dump(result, file)

    def steps_between_validations(self):
        text = self.options.valid_every
        if text.endswith("e"):
            return int(text[:-1]) * (len(self.batches) // self.options.epochs)
        return int(text)

    def evaluate(self, model, loss, predict, label, columns):
        model.eval()
        scores, labels, total = [], [], 0.0
        with torch.no_grad():
            for begin in range(0, columns.rows, EVALUATION_ROWS):
                rows = np.arange(begin, min(begin + EVALUATION_ROWS, columns.rows))
                batch = columns.batch(rows)
                if self.options.metric == "loss":
                    total += loss(batch).item() * len(rows)
                else:
                    scores.append(predict(batch).cpu().numpy())
                    labels.append(batch[label].cpu().numpy())
        if self.options.metric == "loss":
            return total / columns.rows
        return MEASURES[self.options.metric](np.concatenate(scores), np.concatenate(labels))
