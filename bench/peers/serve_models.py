"""The models of serve-qps and serve-rank for ONNX Runtime: the weights of bench/serve/model.h.

  serve_models.py MODEL KIND DIRECTORY

writes DIRECTORY/model.onnx. KIND "rows": its inputs are rows of embeddings, for a server that has
them in a hash map; "whole": its inputs are ids, and the embeddings are in the graph.
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import peer
import table_keys

WIDTHS = {"deepfm": 17, "user_heavy": 16}
IDS = {"deepfm": 2_600_000, "user_heavy": 1_000_000}
# Ids by input: the leading dimension in the graph, and how many in a row.
ID_INPUTS = {"deepfm": {"user": 13, "item": 13}, "user_heavy": {"history": 200, "item": 4}}
NUMBER_INPUTS = {"deepfm": {"dense": 13}, "user_heavy": {"profile": 16, "dense": 8}}


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.inputs = [], [], []

    def node(self, op, *inputs, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def constant(self, values):
        values = np.asarray(values)
        name = f"constant{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def input(self, name, dtype, shape):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def mlp(self, x, seed, sizes):
        for k, (fan_in, fan_out) in enumerate(zip(sizes, sizes[1:])):
            w = self.constant(peer.weight(seed + k, (fan_in, fan_out), fan_in))
            x = self.node("Gemm", x, w, self.constant(np.zeros(fan_out, np.float32)))
            if k + 2 < len(sizes):
                x = self.node("Relu", x)
        return x

    def sum(self, x, axes):
        return self.node("ReduceSum", x, self.constant(np.array(axes, np.int64)), keepdims=0)


def rows(graph, model, whole, table):
    """The rows of embeddings by input, f32[B, n, width]."""
    width, found = WIDTHS[model], {}
    for name, count in ID_INPUTS[model].items():
        if whole:
            ids = graph.input(name, TensorProto.INT64, ["B", count])
            found[name] = graph.node("Gather", table, ids)
        else:
            found[name] = graph.input(name, TensorProto.FLOAT, ["B", count, width])
    return found


def deepfm(graph, e, numbers):
    e = graph.node("Concat", e["user"], e["item"], axis=1)
    flat = graph.node("Reshape", e, graph.constant(np.array([-1, 26 * 17], np.int64)))
    first, v = graph.node("Split", e, graph.constant(np.array([1, 16], np.int64)), axis=2), None
    graph.nodes[-1].output.append("vectors")
    v = "vectors"
    total = graph.sum(v, [1])
    squares = graph.sum(graph.node("Mul", v, v), [1])
    pairs = graph.sum(graph.node("Sub", graph.node("Mul", total, total), squares), [1])
    pairs = graph.node("Mul", pairs, graph.constant(np.float32(0.5)))
    x = graph.node("Concat", flat, numbers["dense"], axis=1)
    deep = graph.node("Reshape", graph.mlp(x, 10, [455, 128, 64, 1]),
                      graph.constant(np.array([-1], np.int64)))
    return graph.node("Add", graph.node("Add", graph.sum(first, [1, 2]), pairs), deep)


def user_heavy(graph, e, numbers):
    pooled = graph.node("ReduceMean", e["history"], graph.constant(np.array([1], np.int64)),
                        keepdims=0)
    u = graph.mlp(graph.node("Concat", pooled, numbers["profile"], axis=1), 30, [32, 256, 128, 32])
    flat = graph.node("Reshape", e["item"], graph.constant(np.array([-1, 64], np.int64)))
    i = graph.mlp(graph.node("Concat", flat, numbers["dense"], axis=1), 40, [72, 64, 32])
    return graph.sum(graph.node("Mul", u, i), [1])


def make(model, whole):
    graph = Graph()
    table = None
    if whole:
        values = table_keys.values(np.arange(IDS[model]), WIDTHS[model])
        table = graph.constant((values - np.float32(0.5)) * np.float32(0.02))
    e = rows(graph, model, whole, table)
    numbers = {name: graph.input(name, TensorProto.FLOAT, ["B", count])
               for name, count in NUMBER_INPUTS[model].items()}
    logits = {"deepfm": deepfm, "user_heavy": user_heavy}[model](graph, e, numbers)
    graph.nodes.append(helper.make_node("Sigmoid", [logits], ["click"]))
    outputs = [helper.make_tensor_value_info("click", TensorProto.FLOAT, ["B"])]
    made = helper.make_graph(graph.nodes, model, graph.inputs, outputs, graph.weights)
    made = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(made)
    return made


def session(directory, threads):
    """What the Python servers run."""
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    return onnxruntime.InferenceSession(os.path.join(directory, "model.onnx"), settings,
                                        providers=["CPUExecutionProvider"])


def feeds(tensors):
    """Arrays by name as what the graph takes: ids as i64, and one user's rows for all items."""
    count = max(a.shape[0] for a in tensors.values())
    made = {}
    for name, a in tensors.items():
        if a.dtype == np.uint64:
            a = a.view(np.int64)
        made[name] = np.repeat(a, count, axis=0) if a.shape[0] != count else a
    return made


if __name__ == "__main__":
    name, kind, where = sys.argv[1:]
    onnx.save(make(name, kind == "whole"), os.path.join(where, "model.onnx"))
