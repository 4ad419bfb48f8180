#include "bench/serve/soak/server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "bench/serve/learning_client.h"
#include "bench/worker.h"
#include "catamaran/base/error.h"
#include "cli/http_connection.h"

namespace catamaran::bench {
namespace {

constexpr double kPatienceSeconds = 120;
constexpr uint64_t kLittleRoom = 16 << 10;

void LimitFileSize(pid_t pid, rlim_t bytes) {
  const rlimit limit = {bytes, RLIM_INFINITY};
  if (::prlimit(pid, RLIMIT_FSIZE, &limit, nullptr) != 0) {
    Fail("the file size of the server cannot be limited: {}", std::strerror(errno));
  }
}

}  // namespace

void SoakServer::Start() {
  std::vector<std::string> command = {ProgramDirectory() + "/catamaran",
                                      "serve",
                                      kSoakProgram,
                                      "--name",
                                      kSoakModel,
                                      "--http",
                                      fmt::format("127.0.0.1:{}", http_port_),
                                      "--grpc",
                                      fmt::format("127.0.0.1:{}", grpc_port_),
                                      "--learn",
                                      "--data-dir",
                                      directory_.path() + "/data"};
  // Everything that is remembered for a time is so for a short one, so that memory is in balance
  // soon; the whole log is kept.
  for (const std::string& setting :
       {fmt::format("click.window={}s", kClickWindowSeconds), std::string("click.late=40s"),
        std::string("click.late_weight=1"), std::string("hold=30s"), std::string("key_horizon=1m"),
        std::string("commit_every=5s"), std::string("keep_commits=3"),
        std::string("segment_bytes=4194304")}) {
    command.insert(command.end(), {"--set", setting});
  }
  ++starts_;
  process_ = std::make_unique<ServerProcess>(
      command, fmt::format("{}/server-{}.log", directory_.path(), starts_.load()));
  const double end = Now() + kPatienceSeconds;
  cli::HttpConnection connection("127.0.0.1", http_port_);
  while (true) {
    process_->AwaitPort(http_port_);  // an Error if it has ended
    process_->AwaitPort(grpc_port_);
    const int http = connection.Get("/v2/health/ready").status;
    // A channel of its own: one that has failed waits before it tries again.
    const bool grpc = LearningClient(grpc_port_, kSoakModel).Ready();
    if (http == 200 && grpc) break;
    if (Now() > end) {
      Fail("the service is not ready after {} s: HTTP answers {}, gRPC {}", kPatienceSeconds, http,
           grpc ? "is ready" : "is not");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  pid_ = process_->pid();
}

void SoakServer::Kill() {
  pid_ = 0;
  process_->Kill();
}

void SoakServer::Stop() {
  pid_ = 0;
  process_->Stop();
}

void SoakServer::HasNoRoom() {
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(model_directory() + "/log")) {
    // Names of segments sort as they follow each other.
    if (entry.is_regular_file() && entry.file_size() > 0) newest = std::max(newest, entry.path());
  }
  LimitFileSize(pid_, std::filesystem::file_size(newest) + kLittleRoom);
}

void SoakServer::HasRoom() { LimitFileSize(pid_, RLIM_INFINITY); }

int RunCatamaran(const std::string& arguments, std::string& said) {
  const std::string command = fmt::format("'{}/catamaran' {} 2>&1", ProgramDirectory(), arguments);
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) Fail("'{}' cannot be started: {}", command, std::strerror(errno));
  char bytes[4096];
  while (const size_t count = std::fread(bytes, 1, sizeof bytes, pipe)) said.append(bytes, count);
  const int status = ::pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace catamaran::bench
