"""MLServer with ONNX Runtime, called over gRPC; SERVE_PARALLEL processes infer beside the one that
speaks gRPC (0: that one infers itself)."""

import argparse
import json
import os
import socket
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from mlserver import MLModel  # noqa: E402
from mlserver.codecs import NumpyCodec  # noqa: E402
from mlserver.types import InferenceResponse  # noqa: E402


class OnnxModel(MLModel):
    async def load(self):
        import serve_models
        self.feeds = serve_models.feeds
        extra = self.settings.parameters.extra
        self.session = serve_models.session(extra["directory"], extra["threads"])
        return True

    async def predict(self, payload):
        tensors = {i.name: NumpyCodec.decode_input(i) for i in payload.inputs}
        click = self.session.run(["click"], self.feeds(tensors))[0]
        return InferenceResponse(model_name=self.name, outputs=[
            NumpyCodec.encode_output("click", np.asarray(click))])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--port", "--model", "--directory", "--workers", "--threads"):
        parser.add_argument(name)
    options = parser.parse_args()
    where = os.path.join(options.directory, "mlserver")
    os.makedirs(where)
    with open(os.path.join(where, "settings.json"), "w") as out:
        json.dump({
            "host": "127.0.0.1", "http_port": free_port(), "grpc_port": int(options.port),
            "metrics_endpoint": None, "debug": False,
            "parallel_workers": int(os.environ.get("SERVE_PARALLEL", "0")),
            "grpc_max_message_length": 1 << 26,
        }, out)
    with open(os.path.join(where, "model-settings.json"), "w") as out:
        json.dump({"name": options.model, "implementation": "serve_mlserver.OnnxModel",
                   "parameters": {"extra": {"directory": options.directory,
                                            "threads": int(options.threads)}}}, out)
    os.environ["PYTHONPATH"] = HERE
    program = os.path.join(os.path.dirname(sys.executable), "mlserver")
    os.execv(program, [program, "start", where])


if __name__ == "__main__":
    main()
