"""op-overhead by ONNX Runtime: one graph, all optimisations, bound inputs and outputs."""

import os
import tempfile

import peer

options = peer.arguments()
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import helper  # noqa: E402


def session(ops):
    value = lambda name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [16])
    nodes = [helper.make_node("Softmax", [f"x{i}"], [f"x{i + 1}"], axis=0) for i in range(ops)]
    graph = helper.make_graph(nodes, "chain", [value("x0")], [value(f"x{ops}")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    settings.intra_op_num_threads = options.threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    with tempfile.TemporaryDirectory() as folder:
        settings.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
        made = onnxruntime.InferenceSession(model.SerializeToString(), settings,
                                            providers=["CPUExecutionProvider"])
        left = len(onnx.load(settings.optimized_model_filepath).graph.node)
    if left != ops:
        raise RuntimeError(f"the optimiser left {left} of {ops} ops: not the same work")
    return made


class Chain:
    def __init__(self, ops):
        self.ops = ops
        self.session = session(ops)
        self.x = onnxruntime.OrtValue.ortvalue_from_numpy(peer.uniform(1, 16))
        self.y = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(16, np.float32))
        self.binding = self.session.io_binding()
        self.binding.bind_ortvalue_input("x0", self.x)
        self.binding.bind_ortvalue_output(f"x{ops}", self.y)
        for _ in range(20):
            self.once()

    def once(self):
        self.session.run_with_iobinding(self.binding)

    def check(self):
        self.once()
        return [float(v) for v in self.y.numpy()]

    def run(self):
        return {"seconds": peer.timed(self.once, 150) / self.ops}


peer.serve(f"onnxruntime {onnxruntime.__version__}", lambda case: Chain(1000))
