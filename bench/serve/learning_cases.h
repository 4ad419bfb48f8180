// bench/serve/learning_cases.h
//
// The benchmarks of a service that learns; each is in a file of its own.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/worker.h"

namespace catamaran::bench {

std::unique_ptr<Case> MakeRestart(int64_t rows);
std::unique_ptr<Case> MakeFreshness(int64_t rows);
std::unique_ptr<Case> MakeWhileLearning(int64_t rows);
std::unique_ptr<Case> MakeSoakCycles(double minutes);
std::unique_ptr<Case> MakeSoak(double minutes);

}  // namespace catamaran::bench
