// Our side of the benchmarks of a service that learns; --what says which.

#include <memory>
#include <stdexcept>
#include <string>

#include "bench/serve/learning_cases.h"

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const std::string what = Option(argc, argv, "--what", "");
  const int64_t rows = std::stoll(Option(argc, argv, "--rows", "0"));
  const double minutes = std::stod(Option(argc, argv, "--minutes", "3"));
  return Serve("", [&](const std::string&) -> std::unique_ptr<Case> {
    if (what == "restart") return MakeRestart(rows);
    if (what == "freshness") return MakeFreshness(rows);
    if (what == "while-learning") return MakeWhileLearning(rows);
    if (what == "soak-cycles") return MakeSoakCycles(minutes);
    if (what == "soak") return MakeSoak(minutes);
    throw std::runtime_error("--what restart, freshness, while-learning, soak-cycles or soak");
  });
}
