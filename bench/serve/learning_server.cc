#include "bench/serve/learning_server.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <thread>

#include "bench/worker.h"
#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr int kRequests = 512;
constexpr double kPatienceSeconds = 300;

}  // namespace

BenchModel WithRows(const std::string& name, int64_t rows) {
  BenchModel model = FindModel(name);
  if (rows > 0) model.ids = rows;
  return model;
}

LearningServer::LearningServer(const BenchModel& model, const std::vector<std::string>& settings) {
  const std::string weights = directory_.path() + "/weights";
  WriteState(model, weights);
  command_ = {"--state", weights};
  Begin(model.name, model.program, settings);
}

LearningServer::LearningServer(const std::string& name, const std::string& program,
                               const std::vector<std::string>& settings) {
  Begin(name, program, settings);
}

void LearningServer::Begin(const std::string& name, const std::string& program,
                           const std::vector<std::string>& settings) {
  const std::string grpc = fmt::format("127.0.0.1:{}", grpc_port_);
  command_.insert(command_.begin(), {ProgramDirectory() + "/catamaran", "serve", program});
  command_.insert(command_.end(),
                  {"--http", "off", "--grpc", grpc, "--learn", "--data-dir", data()});
  for (const std::string& setting : settings) command_.insert(command_.end(), {"--set", setting});
  client_ = std::make_unique<LearningClient>(grpc_port_, name);
  Start();
}

void LearningServer::Start() {
  process_ = std::make_unique<ServerProcess>(command_, directory_.path() + "/server.log");
  process_->AwaitPort(grpc_port_);
  const double end = Now() + kPatienceSeconds;
  while (!client_->Ready()) {
    if (Now() > end) Fail("the service is not ready after {} s", kPatienceSeconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// Requests of one row each, put together.
ExampleRequests::ExampleRequests(const BenchModel& model, int64_t rows) {
  const std::vector<LoadRequest> singles = SingleRows(model, static_cast<int>(rows) * kRequests);
  for (size_t r = 0; r < static_cast<size_t>(kRequests); ++r) {
    std::vector<LoadTensor> inputs = singles[r * static_cast<size_t>(rows)].inputs;
    for (LoadTensor& input : inputs) input.shape[0] = rows;
    for (size_t i = 1; i < static_cast<size_t>(rows); ++i) {
      const LoadRequest& single = singles[r * static_cast<size_t>(rows) + i];
      for (size_t k = 0; k < inputs.size(); ++k) inputs[k].bytes += single.inputs[k].bytes;
    }
    features_.push_back(std::move(inputs));
  }
  for (int64_t i = 0; i < rows; ++i) labels_.push_back(static_cast<float>(i % 3 == 0));
}

void ExampleRequests::Send(LearningClient& client, int64_t event_time_ns) {
  client.Train(features_[next_++ % features_.size()], labels_, event_time_ns);
}

}  // namespace catamaran::bench
