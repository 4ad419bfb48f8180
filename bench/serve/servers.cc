#include "bench/serve/servers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "bench/worker.h"
#include "catamaran/base/error.h"
#include "catamaran/base/file.h"

namespace catamaran::bench {
namespace {

constexpr const char* kPython = "bench/.venv-serving/bin/python";

std::string Loopback(int port) { return fmt::format("127.0.0.1:{}", port); }

void NeedProgram(const std::string& path) {
  if (::access(path.c_str(), X_OK) != 0)
    throw SkipCase(path + " is not there: run bench/setup serving");
}

// Writes model.onnx: of a `kind` that bench/peers/serve_models.py explains.
void WriteOnnx(const BenchModel& model, const std::string& directory, const char* kind) {
  NeedProgram(kPython);
  const std::string command = fmt::format("{} bench/peers/serve_models.py {} {} '{}' >&2", kPython,
                                          model.name, kind, directory);
  if (std::system(command.c_str()) != 0) Fail("'{}' failed", command);
}

}  // namespace

BenchServer::BenchServer(const std::string& kind, const BenchModel& model, int threads,
                         const std::vector<std::string>& more_arguments)
    : scratch_(PosixFileSystem(), SystemScratch()) {
  const std::string bin = ProgramDirectory(), directory = scratch_.path();
  const std::string cores = std::to_string(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::string> command;
  if (kind.starts_with("catamaran")) {
    grpc_port_ = FreePort();
    http_port_ = FreePort();
    WriteState(model, directory + "/weights");
    command = {bin + "/catamaran",
               "serve",
               model.program,
               "--state",
               directory + "/weights",
               "--grpc",
               Loopback(grpc_port_),
               "--http",
               Loopback(http_port_),
               "--threads",
               cores};
    // As all others, it may run as many requests at a time as there are cores.
    if (kind == "catamaran-split") command.push_back("--split-products");
    if (kind == "catamaran-learning") {
      command.insert(command.end(), {"--learn", "--data-dir", directory + "/data"});
    }
  } else if (kind == "echo") {
    grpc_port_ = FreePort();
    command = {bin + "/bench_serve_echo", "--port", std::to_string(grpc_port_)};
  } else if (kind == "onnxruntime" || kind == "onnxruntime-split") {
    grpc_port_ = FreePort();
    const std::string program = bin + "/bench_serve_onnxruntime";
    NeedProgram(program);
    WriteOnnx(model, directory, "rows");
    command = {program,
               "--port",
               std::to_string(grpc_port_),
               "--model",
               model.name,
               "--onnx",
               directory + "/model.onnx",
               "--threads",
               std::to_string(threads)};
    if (kind == "onnxruntime-split") command.push_back("--split");
  } else if (kind == "mlserver" || kind == "fastapi") {
    const int port = FreePort();
    (kind == "mlserver" ? grpc_port_ : http_port_) = port;
    WriteOnnx(model, directory, "whole");
    command = {kPython,       fmt::format("bench/peers/serve_{}.py", kind),
               "--port",      std::to_string(port),
               "--model",     model.name,
               "--directory", directory,
               "--workers",   cores,
               "--threads",   std::to_string(threads)};
  } else {
    Fail("there is no server '{}'", kind);
  }
  command.insert(command.end(), more_arguments.begin(), more_arguments.end());
  process_ = std::make_unique<ServerProcess>(command, directory + "/server.log");
  process_->AwaitPort(grpc_port_ != 0 ? grpc_port_ : http_port_);
}

LoadTarget BenchServer::Target(LoadTarget::Wire wire) const {
  LoadTarget target;
  const bool http = (wire == LoadTarget::Wire::kHttp && http_port_ != 0) || grpc_port_ == 0;
  target.wire = http ? LoadTarget::Wire::kHttp : LoadTarget::Wire::kGrpc;
  target.port = http ? http_port_ : grpc_port_;
  // The client must not be what is measured: half of the cores, if there are many.
  target.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency() / 2));
  return target;
}

}  // namespace catamaran::bench
