"""A FastAPI server with ONNX Runtime: binary tensors over HTTP, uvloop and httptools, one process a
worker."""

import argparse
import multiprocessing
import os
import socket
import sys

import numpy as np
import orjson
import uvicorn
from fastapi import FastAPI, Request, Response

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import serve_models  # noqa: E402

DTYPES = {"UINT64": np.uint64, "FP32": np.float32}
LENGTH = "inference-header-content-length"


def make_app():
    app = FastAPI()
    session = serve_models.session(os.environ["SERVE_DIRECTORY"], int(os.environ["SERVE_THREADS"]))

    @app.post("/v2/models/{model}/infer")
    async def infer(model: str, request: Request):
        body = await request.body()
        at = int(request.headers[LENGTH])
        tensors = {}
        for tensor in orjson.loads(body[:at])["inputs"]:
            size = tensor["parameters"]["binary_data_size"]
            tensors[tensor["name"]] = np.frombuffer(
                body, DTYPES[tensor["datatype"]], size // DTYPES[tensor["datatype"]]().itemsize,
                at).reshape(tensor["shape"])
            at += size
        click = session.run(["click"], serve_models.feeds(tensors))[0]
        header = orjson.dumps({"model_name": model, "outputs": [
            {"name": "click", "datatype": "FP32", "shape": click.shape,
             "parameters": {"binary_data_size": click.nbytes}}]})
        return Response(header + click.tobytes(), headers={LENGTH: str(len(header))},
                        media_type="application/octet-stream")

    return app


def serve(port):
    """One worker. Each has its own socket, so that connections are spread over all of them."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listening.bind(("127.0.0.1", port))
    config = uvicorn.Config(make_app(), loop="uvloop", http="httptools", access_log=False,
                            log_level="warning", timeout_keep_alive=600)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("--port", "--model", "--directory", "--workers", "--threads"):
        parser.add_argument(name)
    options = parser.parse_args()
    os.environ["SERVE_DIRECTORY"], os.environ["SERVE_THREADS"] = options.directory, options.threads
    workers = [multiprocessing.Process(target=serve, args=[int(options.port)])
               for _ in range(int(options.workers))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
