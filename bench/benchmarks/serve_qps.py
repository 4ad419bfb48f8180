from harness.benchmark import LIMIT, OURS, PEER, Benchmark, Case, Figure, Side

PROGRAM = "bench_serve"
PEERS = ["C++ server", "MLServer", "FastAPI"]


def server(kind, *more):
    return ["--server", kind, *more]


def empty_echo(_, parts):
    return parts["empty echo"]["call"] if "empty echo" in parts else None


FIGURES = [Figure("rate", "requests a second", "/s"),
           Figure("processor", "processor of the server", "us")]

BENCHMARK = Benchmark(
    name="serve-qps",
    summary="DeepFM, one row a request, 32 connections",
    unit="us",
    per="request",
    sides=[
        Side("Catamaran", OURS, program=PROGRAM, args=server("catamaran")),
        Side("Catamaran over gRPC", PEER, program=PROGRAM, args=server("catamaran", "--grpc")),
        Side("C++ server", PEER, program=PROGRAM, args=server("onnxruntime")),
        Side("MLServer", PEER, program=PROGRAM, args=server("mlserver")),
        Side("FastAPI", PEER, program=PROGRAM, args=server("fastapi")),
        Side("empty echo", LIMIT, program=PROGRAM, args=server("echo")),
    ],
    cases=[
        Case("grpc", "over gRPC", rounds=7, limit_goal=0.65, figures=FIGURES,
             goals={"C++ server": 1.15, "MLServer": 4},  # FastAPI has no gRPC: see the notes
             skip=["Catamaran over gRPC"]),
        Case("grpc-logged", "over gRPC, every answer written to the log", rounds=7, limit_goal=0.55,
             figures=FIGURES, skip=PEERS + ["Catamaran over gRPC"]),
        Case("http-binary", "binary tensors over HTTP", rounds=7, figures=FIGURES,
             goals={"C++ server": 2, "Catamaran over gRPC": 2, "FastAPI": 4},
             skip=["MLServer", "empty echo"]),
    ],
    check_tolerance=1e-3,
    limit=empty_echo,
    notes="26 ids of 2.6 million rows of width 17, 13 numbers, layers of 128 and 64. One client for "
          "all (bench/serve/load.h), on the same machine: each of 32 connections sends a request "
          "when its last was answered. The limit is a gRPC server that reads the same messages and "
          "does nothing. The C++ server is gRPC, ONNX Runtime and an absl::flat_hash_map, request "
          "by request on the thread that brought it. The Python servers have the embeddings in the "
          "graph, which saves them the map: MLServer is called over gRPC, FastAPI over HTTP with "
          "binary tensors, with uvloop, httptools, orjson and a process a core. Each of both has "
          "its goal where we are called by its protocol. In grpc FastAPI stands beside us without "
          "one: gRPC costs more than HTTP, whoever answers, and a quarter of FastAPI's time is "
          "about what the empty echo takes. In http-binary "
          "the C++ server and our own are called over gRPC. All answers are compared first.",
)
