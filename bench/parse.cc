// Programs of a given number of ops as text: half of the ops in one function, half in functions
// of about 1,000 ops that it calls.

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "bench/worker.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

namespace catamaran::bench {
namespace {

constexpr int kOpsAGroup = 13;

// Statements of every common shape: calls, infix, literals, attributes, reads of state.
void AddGroup(std::string& text, int k) {
  auto out = std::back_inserter(text);
  const int a = 7 * k;
  fmt::format_to(out, "  h{} = matmul(h{}, @w) + @b\n", a + 1, a);                     // 4 ops
  fmt::format_to(out, "  h{} = relu(h{})\n", a + 2, a + 1);                            // 1
  fmt::format_to(out, "  h{} = h{} * h{} - h{}\n", a + 3, a + 2, a, a + 1);            // 2
  fmt::format_to(out, "  h{} = tanh(h{} * 0.5)\n", a + 4, a + 3);                      // 3
  fmt::format_to(out, "  h{} = sum(h{}, axes=[1], keepdims=true)\n", a + 5, a + 4);    // 1
  fmt::format_to(out, "  h{} = h{} + h{}\n", a + 6, a + 5, a + 2);                     // 1
  fmt::format_to(out, "  h{} = softmax(h{})  // of the group {}\n", a + 7, a + 6, k);  // 1
}

void AddFunction(std::string& text, const std::string& name, int groups, int calls) {
  fmt::format_to(std::back_inserter(text), "\nfn {}(h0: f32[B, 16]) -> f32[B, 16] {{\n", name);
  for (int k = 0; k < groups; ++k) AddGroup(text, k);
  std::string last = fmt::format("h{}", 7 * groups);
  for (int k = 0; k < calls; ++k) {
    fmt::format_to(std::back_inserter(text), "  c{} = part{}({})\n", k, k, last);
    last = fmt::format("c{}", k);
  }
  text += "  return " + last + "\n}\n";
}

std::string MakeText(int ops) {
  const int groups = ops / kOpsAGroup, groups_a_part = 1000 / kOpsAGroup;
  const int parts = groups / 2 / groups_a_part;
  std::string text =
      "program large\n\nparam @w : f32[16, 16] = normal(std=0.1)\nparam @b : f32[16] = zeros\n";
  for (int k = 0; k < parts; ++k) AddFunction(text, fmt::format("part{}", k), groups_a_part, 0);
  AddFunction(text, "main", groups - parts * groups_a_part, parts);
  return text;
}

int64_t CountOps(const Program& program) {
  int64_t count = 0;
  for (const Function* f : program.Functions()) ForEachOp(f->body(), [&](Op&) { ++count; });
  return count;
}

class ParseText final : public Case {
 public:
  explicit ParseText(int ops) : text_(MakeText(ops)), ops_(ops) { Once(); }
  Measurement Run() override {
    Measurement m;
    const int repeats = std::max(1, 20'000 / ops_);
    for (int i = 0; i < repeats; ++i) {
      const auto [parse, flatten] = Once();
      m.seconds += (parse + flatten) / repeats;
    }
    return m;
  }

 private:
  // Freeing the programs is not measured.
  std::pair<double, double> Once() {
    const double t0 = Now();
    const Program written = Parse(text_, "large.ctm", opset_, *builders_);
    const double t1 = Now();
    const Program flat = Flatten(written, *builders_);
    const double t2 = Now();
    const int64_t count = CountOps(flat);
    if (count < 0.98 * ops_ || count > 1.02 * ops_) {
      throw std::runtime_error(fmt::format("{} ops where {} were wanted", count, ops_));
    }
    return {t1 - t0, t2 - t1};
  }

  const std::string text_;
  const int ops_;
  const std::shared_ptr<const OpSet> opset_ = StandardOps();
  const std::shared_ptr<const BuilderSet> builders_ = StandardBuilders();
};

}  // namespace
}  // namespace catamaran::bench

int main() {
  using namespace catamaran::bench;
  return Serve("", [](const std::string& name) -> std::unique_ptr<Case> {
    if (name == "10k") return std::make_unique<ParseText>(10'000);
    if (name == "100k") return std::make_unique<ParseText>(100'000);
    if (name == "1m") return std::make_unique<ParseText>(1'000'000);
    throw std::runtime_error("no case " + name);
  });
}
