"""A FastAPI server with ONNX Runtime: binary tensors over HTTP, uvloop and httptools, one process a
worker."""

import argparse
import os
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("--port", "--model", "--directory", "--workers", "--threads"):
        parser.add_argument(name)
    options = parser.parse_args()
    os.environ["SERVE_DIRECTORY"], os.environ["SERVE_THREADS"] = options.directory, options.threads
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    uvicorn.run("serve_fastapi:make_app", factory=True, host="127.0.0.1", port=int(options.port),
                workers=int(options.workers), loop="uvloop", http="httptools", access_log=False,
                log_level="warning",
                timeout_keep_alive=600)
