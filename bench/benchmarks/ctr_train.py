from harness.benchmark import LIMIT, OURS, PEER, Benchmark, Case, Side, fastest_parts
from harness.tables import HUGE_PAGES

BENCHMARK = Benchmark(
    name="ctr-train",
    summary="training DeepFM (26 fields of 100,000 ids, width 16; 400-400-400), reading included",
    unit="us",
    per="sample",
    sides=[
        Side("Catamaran", OURS, program="bench_ctr_train"),
        Side("PyTorch eager", PEER, script="ctr_torch.py", args=["--mode", "eager"],
             variables=HUGE_PAGES),
        Side("PyTorch compiled", PEER, script="ctr_torch.py", args=["--mode", "compile"],
             variables=HUGE_PAGES),
        Side("TensorFlow", PEER, script="ctr_tensorflow.py", environment=".venv-tensorflow",
             variables=HUGE_PAGES),
        Side("PaddlePaddle", PEER, script="ctr_paddle.py", environment=".venv-paddle",
             variables=HUGE_PAGES),
        Side("limit, oneDNN", LIMIT, program="bench_ctr_train", args=["--gemm", "onednn"]),
        Side("limit, OpenBLAS", LIMIT, program="bench_ctr_train", args=["--gemm", "openblas"]),
        Side("limit, PyTorch", LIMIT, script="ctr_torch.py", args=["--mode", "gemm"]),
    ],
    cases=[
        Case("batch128", "128 rows a step", goals={"": 1.15}),
        Case("batch2048", "2,048 rows a step", goals={"": 1.05}, limit_goal=0.75),
    ],
    check_tolerance=0.01,
    limit=fastest_parts,
    notes="Adam for the dense weights, Adagrad for the rows of both tables (width 16 and 1), the "
          "same first weights, rows and batches on all sides; the first 8 losses are compared before "
          "anything is measured. We read a record file; the peers read arrays in mapped files, "
          "which is less work than any of their formats. Peers: PyTorch with sparse embeddings "
          "and fused Adam, compiled means torch.compile of all but the embeddings; TensorFlow with the "
          "whole step as one graph, equal ids added up once for both tables, and its own kernels for "
          "both rules; PaddlePaddle eager with sparse embeddings (its graph executor makes their "
          "gradients dense). The machine limit is the time of the step's matrix products alone, "
          "each by the fastest of oneDNN, OpenBLAS and PyTorch's library.",
)
