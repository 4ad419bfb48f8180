// nn/program_test_util.h
//
// For tests: from a program's text to numbers in one line.

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ir/printer.h"
#include "catamaran/nn/standard.h"

namespace catamaran {

// A program with its state, ready to run.
class TestProgram {
 public:
  explicit TestProgram(std::string_view text, uint64_t seed = 1, CompileOptions options = {})
      : ops_(StandardOps()),
        builders_(StandardBuilders()),
        options_(std::move(options)),
        written_(Parse(text, "test.ctm", ops_, *builders_)),
        flat_(Flatten(written_, *builders_)),
        state_(State::Create(flat_, seed)) {}

  using Feeds = std::map<std::string, Tensor>;

  RunResult Run(const std::string& function, const Feeds& feeds = {}) {
    return Get(function).Run(*state_, feeds);
  }
  // The first result, a scalar.
  double Scalar(const std::string& function, const Feeds& feeds = {}) {
    return AsDouble(Run(function, feeds).outputs.at(0));
  }
  static double AsDouble(const Tensor& t) {
    return t.dtype() == DType::kF64 ? t.data<double>()[0] : t.data<float>()[0];
  }

  const Executable& Get(const std::string& function) {
    auto& slot = compiled_[function];
    if (!slot) {
      FindOrDerive(flat_, function);
      slot = Compile(flat_, function, options_);
    }
    return *slot;
  }

  const Program& written() const { return written_; }
  Program& flat() { return flat_; }
  State& state() { return *state_; }
  const BuilderSet& builders() const { return *builders_; }
  const std::shared_ptr<OpSet>& ops() const { return ops_; }

 private:
  std::shared_ptr<OpSet> ops_;
  std::shared_ptr<BuilderSet> builders_;
  CompileOptions options_;
  Program written_;
  Program flat_;
  std::unique_ptr<State> state_;
  std::map<std::string, std::shared_ptr<const Executable>> compiled_;
};

// What the text is refused with; empty when it is accepted.
inline std::string ErrorOf(std::string_view text) {
  try {
    auto ops = StandardOps();
    auto builders = StandardBuilders();
    Flatten(Parse(text, "test.ctm", ops, *builders), *builders);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

}  // namespace catamaran
