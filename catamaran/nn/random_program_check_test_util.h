// nn/random_program_check_test_util.h
//
// For tests: what must hold of every random program. A failure prints its seed and its text.

#pragma once

#include <cmath>
#include <cstring>

#include "catamaran/ir/proto.h"
#include "catamaran/nn/program_test_util.h"
#include "catamaran/nn/random_program_test_util.h"

namespace catamaran {

// Counts over many programs, so that a test can tell that it tested something.
struct RandomProgramCounts {
  int programs = 0;
  int derivatives = 0;  // compared with finite differences
  int kinks = 0;        // left out: the differences themselves disagree
};

class RandomProgramChecker {
 public:
  RandomProgramChecker() : ops_(StandardOps()), builders_(StandardBuilders()) {}

  // `items` is put behind the program's text; `gradient` names the function to check, whose
  // arguments are those of `loss`.
  void Check(uint32_t seed, const RandomProgramOptions& options, const std::string& items,
             const std::string& gradient) {
    const RandomProgram random = RandomProgramWriter(seed, options).Write();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    CheckProgram(random.text + items, random.feeds, gradient, seed);
  }

  // The same for a program that is given. Which derivatives are compared depends on the seed.
  void CheckProgram(const std::string& text, const std::map<std::string, Tensor>& feeds,
                    const std::string& gradient, uint32_t seed = 0) {
    SCOPED_TRACE(text);
    ++counts_.programs;
    try {
      Program written = Parse(text, "random.ctm", ops_, *builders_);
      CheckText(written, "as written");
      CheckBytes(written, "as written");
      Program flat = Flatten(written, *builders_);
      VerifyOrThrow(flat);
      CheckBytes(flat, "flat");
      CheckFlatText(flat);
      CheckSchedules(flat, gradient, feeds);
      CheckGradients(flat, gradient, feeds, seed);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }

  const RandomProgramCounts& counts() const { return counts_; }

 private:
  using Feeds = std::map<std::string, Tensor>;

  void CheckText(const Program& program, const char* stage) {
    const std::string text = Print(program);
    const Program again = Parse(text, "printed.ctm", ops_, *builders_);
    std::string why;
    EXPECT_TRUE(Equal(program, again, &why)) << stage << ", printed: " << why << "\n" << text;
    EXPECT_EQ(Print(again), text) << stage;
  }

  void CheckBytes(const Program& program, const char* stage) {
    const std::string bytes = ToProtoBytes(program);
    const Program again = FromProtoBytes(bytes, ops_, "random");
    std::string why;
    EXPECT_TRUE(Equal(program, again, &why)) << stage << ", stored: " << why;
    EXPECT_EQ(ToProtoBytes(again), bytes) << stage;
  }

  void CheckFlatText(const Program& flat) {
    const std::string text = Print(flat);
    const Program again = Flatten(Parse(text, "flat.ctm", ops_, *builders_), *builders_);
    std::string why;
    EXPECT_TRUE(Equal(flat, again, &why)) << "flat, printed: " << why << "\n" << text;
  }

  static bool SameBits(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
  }
  static bool Near(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) return false;
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      const double x = a.data<double>()[static_cast<size_t>(i)];
      const double y = b.data<double>()[static_cast<size_t>(i)];
      if (!(std::abs(x - y) <= 1e-9 * std::max({1.0, std::abs(x), std::abs(y)}))) return false;
    }
    return true;
  }

  void CheckSchedules(const Program& flat, const std::string& function, const Feeds& feeds) {
    const auto run = [&](const std::string& name, const CompileOptions& options) {
      const auto state = State::Create(flat, 5);
      const auto executable = Compile(flat, name, options);
      std::vector<Tensor> first = executable->Run(*state, feeds).outputs;
      const std::vector<Tensor> second = executable->Run(*state, feeds).outputs;
      for (size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(SameBits(first[i], second[i])) << "run twice: " << executable->output_name(i);
      }
      return first;
    };
    const auto compare = [&](const std::vector<Tensor>& a, const std::vector<Tensor>& b, bool bits,
                             const char* what) {
      for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        EXPECT_TRUE(bits ? SameBits(a[i], b[i]) : Near(a[i], b[i])) << what << ": result " << i;
      }
    };
    const auto one = run(function, {.threads = 1});
    ASSERT_TRUE(std::isfinite(one[0].data<double>()[0]));
    compare(one, run(function, {.threads = 1, .schedule = Schedule::kReadyOps}), true,
            "ready ops on one thread");
    const auto two = run(function, {.threads = 2});
    compare(two, run(function, {.threads = 2, .schedule = Schedule::kReadyOps}), true,
            "ready ops on two threads");
    compare(one, two, false, "two threads");
    const auto reference = run(function, {.threads = 1, .force_kernel = "reference"});
    compare(one, reference, false, "reference kernels");
    compare(
        reference,
        run(function, {.threads = 2, .schedule = Schedule::kReadyOps, .force_kernel = "reference"}),
        true, "reference kernels, ready ops on two threads");
    // The first gradient passes its function's results through.
    const auto g = Compile(flat, function);
    if (g->output_name(0) == "value") {
      compare(run("loss", {.threads = 1}), one, true, "the value beside its gradient");
    }
  }

  // Central differences with two steps; where these disagree there is a kink or a jump.
  void CheckGradients(const Program& flat, const std::string& gradient, const Feeds& feeds,
                      uint32_t seed) {
    const auto state = State::Create(flat, 5);
    const auto g = Compile(flat, gradient);
    const RunResult result = g->Run(*state, feeds);
    std::mt19937 random(seed);
    for (size_t k = 0; k < g->num_outputs(); ++k) {
      const std::string name = g->output_name(k);
      const bool of_state = name.starts_with("@");
      if (!of_state && !name.starts_with("d_")) continue;
      const std::string path = name.substr(of_state ? 1 : 2);
      const Tensor original = of_state ? state->GetTensor(path) : feeds.at(path);
      ASSERT_EQ(result.outputs[k].shape(), original.shape()) << name;
      const auto size = static_cast<uint32_t>(original.num_elements());
      for (uint32_t tries = 0; tries < std::min(size, 4u); ++tries) {
        const uint32_t i = size <= 4 ? tries : random() % size;
        const auto value_at = [&](double delta) {
          Tensor moved = original.Clone();
          moved.mutable_data<double>()[i] += delta;
          Feeds changed = feeds;
          if (of_state) {
            state->SetTensor(path, moved);
          } else {
            changed[path] = moved;
          }
          return g->Run(*state, changed).outputs[0].data<double>()[0];
        };
        const auto slope = [&](double h) { return (value_at(h) - value_at(-h)) / (2 * h); };
        const double coarse = slope(1e-4), fine = slope(5e-5);
        const double numeric = (4 * fine - coarse) / 3;
        const double scale = std::max(1.0, std::abs(numeric));
        if (std::abs(coarse - fine) > 1e-5 * scale) {
          ++counts_.kinks;
          continue;
        }
        ++counts_.derivatives;
        EXPECT_NEAR(result.outputs[k].data<double>()[i], numeric, 2e-6 * scale)
            << name << "[" << i << "]";
      }
      if (of_state) state->SetTensor(path, original);
    }
  }

  std::shared_ptr<OpSet> ops_;
  std::shared_ptr<BuilderSet> builders_;
  RandomProgramCounts counts_;
};

// What is put behind a random program.
inline constexpr const char* kGradientOfStates = "g = grad(loss)\n";
inline constexpr const char* kGradientOfArguments = "g = grad(loss, wrt=[y, @w0, x, s])\n";
// The gradient of a loss that holds the first gradient: for programs without loops.
inline constexpr const char* kSecondGradient = R"(slope = grad(loss, wrt=[x, s])
fn penalty(x: f64[B, 3], y: f64[3], s: f64[], n: i64[], up: bool[], ids: i64[3]) {
  value, other, dx, ds = slope(x, y, s, n, up, ids)
  return value + 0.1 * sum(square(dx)) + 0.1 * square(ds)
}
g = grad(penalty)
)";

}  // namespace catamaran
