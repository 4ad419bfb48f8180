// One side of serve-qps and serve-rank: starts a server (--server KIND) and calls it.

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/serve/load.h"
#include "bench/serve/servers.h"
#include "bench/worker.h"
#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr double kWarmSeconds = 0.5, kSeconds = 1.5, kHalfLoadSeconds = 3;

// Seconds of processor that this process has used.
double OwnProcessorSeconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Settings {
  std::string server;
  bool grpc = false;  // also where the case says HTTP
  int threads = 1;
};

class Serving final : public Case {
 public:
  Serving(const Settings& settings, const std::string& name)
      : rank_(name == "deepfm" || name == "user-heavy"),
        half_load_(rank_ && settings.server == "catamaran"),
        model_(FindModel(name == "user-heavy" ? "user_heavy" : "deepfm")),
        server_(settings.server == "catamaran" && name == "grpc-logged" ? "catamaran-learning"
                                                                        : settings.server,
                model_, settings.threads),
        client_(Target(settings, name),
                rank_ ? RankRequests(model_, 500, 64) : SingleRows(model_, 4096)) {
    client_.Closed(kWarmSeconds);
    client_.Closed(kWarmSeconds);
  }

  Measurement Run() override {
    const double server_before = server_.process().ProcessorSeconds();
    const double client_before = OwnProcessorSeconds();
    const LoadResult result = client_.Closed(kSeconds);
    const double server = server_.process().ProcessorSeconds() - server_before;
    const double client = OwnProcessorSeconds() - client_before;
    const auto answered = static_cast<double>(result.answered);
    Measurement measured{result.PerRequest(), {}};
    measured.parts = {{"call", result.PerRequest()},
                      {"rate", result.Rate()},
                      {"processor", server / answered},
                      {"client", client / answered},
                      {"p99", result.Percentile(99)}};
    if (half_load_) {
      const LoadResult half = client_.Open(result.Rate() / 2, kHalfLoadSeconds);
      measured.parts.emplace_back("half_load_p99", half.Percentile(99));
    }
    return measured;
  }

  std::vector<double> Check() override {
    std::vector<double> values;
    for (size_t i = 0; i < (rank_ ? 4 : 64); ++i) {
      const std::vector<double> answer = client_.Ask(i);
      values.insert(values.end(), answer.begin(), answer.end());
    }
    return values;
  }

 private:
  LoadTarget Target(const Settings& settings, const std::string& name) const {
    LoadTarget target =
        server_.Target(name == "http-binary" && !settings.grpc ? LoadTarget::Wire::kHttp
                                                               : LoadTarget::Wire::kGrpc);
    // So many ranking requests at once as there are cores, and some that wait.
    if (rank_) target.connections = 4;
    return target;
  }

  const bool rank_, half_load_;
  const BenchModel& model_;
  BenchServer server_;
  LoadClient client_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  Settings settings;
  settings.server = Option(argc, argv, "--server", "catamaran");
  settings.grpc = Flag(argc, argv, "--grpc");
  settings.threads = std::stoi(Option(argc, argv, "--threads", "1"));
  return Serve(settings.server,
               [&](const std::string& name) { return std::make_unique<Serving>(settings, name); });
}
