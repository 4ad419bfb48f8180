from harness.benchmark import INFO, OURS, PEER, Benchmark, Case, Figure, Side

PROGRAM = "bench_serve"


def server(kind):
    return ["--server", kind]


FIGURES = [Figure("half_load_p99", "99th percentile at half load", "us", at_most=0.020),
           Figure("rate", "requests a second", "/s"),
           Figure("processor", "processor of the server", "us")]

BENCHMARK = Benchmark(
    name="serve-rank",
    summary="one user and 500 items a request, 4 connections",
    unit="us",
    per="request",
    sides=[
        Side("Catamaran", OURS, program=PROGRAM, args=server("catamaran")),
        Side("Catamaran, products split", INFO, program=PROGRAM, args=server("catamaran-split")),
        Side("C++ server", PEER, program=PROGRAM, args=server("onnxruntime")),
        Side("C++ server, split by hand", INFO, program=PROGRAM, args=server("onnxruntime-split")),
        Side("MLServer", PEER, program=PROGRAM, args=server("mlserver")),
        Side("FastAPI", PEER, program=PROGRAM, args=server("fastapi")),
    ],
    cases=[
        Case("deepfm", "half of the ids and all numbers are the user's", rounds=7, figures=FIGURES,
             goals={"C++ server": 1.2, "MLServer": 2, "FastAPI": 2},
             skip=["C++ server, split by hand"]),
        Case("user-heavy", "a history of 200, 88 % of the operations the user's", rounds=7,
             figures=FIGURES, goals={"C++ server": 3, "MLServer": 3, "FastAPI": 3}),
    ],
    check_tolerance=1e-3,
    notes="The models are bench/serve/*.ctm; servers and client as in serve-qps. A request has one "
          "row of the user's inputs and 500 of the item's. The peers run the model as it was trained: "
          "the C++ server looks the user's rows up once and repeats them, the Python servers repeat "
          "the user's ids. Ours multiplies the user's columns once where they come first, to the "
          "same bits. Products split is ours with --split-products, which divides the others too and "
          "changes roundings; "
          "split by hand is the C++ server with a graph that takes one row of the user's. "
          "The 99th percentile is that of an open loop: requests are due at half of the "
          "rate just measured, and latency counts from when they are due.",
)
