// Random programs: printed, parsed and compared.

#include <gtest/gtest.h>

#include <random>

#include "catamaran/ir/printer.h"
#include "catamaran/ir/text_samples.h"

namespace catamaran {
namespace {

// Writes functions whose ops use values in any order, named or not, in nested blocks.
class RandomFunction {
 public:
  RandomFunction(Program& program, uint32_t seed, std::string name)
      : program_(program), random_(seed) {
    auto owned = std::make_unique<Function>();
    function_ = owned.get();
    function_->name = std::move(name);
    const Type type = Type::Tensor(DType::kF32, {Dim::Name("B"), Dim::Name("D")});
    values_.push_back(function_->body().AddArg("x", type));
    function_->order = {false, true, true, false};
    function_->statics = {{"n", StaticKind::kInt, 3}, {"training", StaticKind::kBool, false}};
    values_.push_back(function_->body().AddArg("", type));
    Fill(function_->body(), 3, Int(5, 60));
    if (Chance(60)) Commit();
    Op* ret = Add(function_->body(), "return", Pick(Int(1, 3)), 0);
    results_ = ret->num_operands();
    program.items.Add(std::move(owned));
  }
  int results() const { return results_; }

 private:
  int Int(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  // Mostly values of late, so that many are used once and soon.
  Value* Pick() {
    const int size = static_cast<int>(values_.size());
    return values_[Chance(70) ? Int(std::max(0, size - 4), size - 1) : Int(0, size - 1)];
  }
  std::vector<Value*> Pick(int count) {
    std::vector<Value*> out;
    for (int i = 0; i < count; ++i) out.push_back(Pick());
    return out;
  }

  Op* Add(Block& block, const char* name, const std::vector<Value*>& operands, int results,
          std::vector<NamedAttr> attrs = {}, std::vector<std::string> states = {}) {
    auto op = std::make_unique<Op>(program_.ops().Get(name), Location{});
    op->SetOperands(operands);
    op->attrs = std::move(attrs);
    op->states = std::move(states);
    for (int i = 0; i < results; ++i) AddResult(*op);
    Op* added = block.Insert(std::move(op));
    for (int i = 0; i < results; ++i) values_.push_back(added->result(i));
    return added;
  }
  void AddResult(Op& op) { op.AddResult(NewName()); }
  std::string NewName() { return Chance(30) ? "v" + std::to_string(++names_) : ""; }

  Attr Number() {
    switch (Int(0, 5)) {
      case 0:
        return Attr(Int(-5, 5));
      case 1:
        return Attr(Int(-1000, 1000) / 8.0);
      case 2:
        return Attr(Chance(50));
      case 3:
        return Attr(Chance(50) ? INFINITY : -INFINITY);
      case 4:
        return Attr::Word("training");
      default:
        return Attr(1e-30 * Int(-9, 9));
    }
  }

  void Yield(Block& block, int count) { Add(block, "yield", Pick(count), 0); }

  void Control(Block& block, int depth) {
    const int kind = Int(0, 2);
    const int carried = Int(kind == 2 ? 1 : 0, 3);
    auto op = std::make_unique<Op>(program_.ops().Get(kind == 0   ? "if"
                                                      : kind == 1 ? "for"
                                                                  : "while"),
                                   Location{});
    std::vector<Value*> operands = Pick(carried + (kind == 0 ? 0 : kind == 1 ? 2 : 0));
    if (kind == 0) operands = {Pick()};
    op->SetOperands(operands);
    const size_t visible = values_.size();
    std::vector<std::string> names;
    for (int i = 0; i < carried + 1; ++i) names.push_back(NewName());
    for (int b = 0; b < (kind == 1 ? 1 : 2); ++b) {
      Block& inner = *op->AddBlock();
      if (kind == 1) values_.push_back(inner.AddArg(names[carried]));
      if (kind != 0) {
        for (int i = 0; i < carried; ++i) values_.push_back(inner.AddArg(names[i]));
      }
      Fill(inner, depth - 1, Int(0, 8));
      Yield(inner, kind == 2 && b == 0 ? 1 : carried);
      values_.resize(visible);
    }
    for (int i = 0; i < carried; ++i) AddResult(*op);
    Op* added = block.Insert(std::move(op));
    for (int i = 0; i < carried; ++i) values_.push_back(added->result(i));
  }

  void Fill(Block& block, int depth, int count) {
    static const char* const kBinary[] = {
        "add",         "sub",     "mul",           "div",       "less",       "less_equal", "equal",
        "logical_and", "greater", "greater_equal", "not_equal", "logical_or", "matmul"};
    static const char* const kUnary[] = {"neg", "logical_not", "relu", "tanh"};
    for (int i = 0; i < count; ++i) {
      switch (Int(0, 13)) {
        case 0:
        case 1:
        case 2:
          Add(block, kBinary[Int(0, 12)], Pick(2), 1);
          break;
        case 3:
        case 4:
          Add(block, kUnary[Int(0, 3)], Pick(1), 1);
          break;
        case 5:
          Add(block, "constant", {}, 1, {{"value", Number()}});
          break;
        case 6:
          Add(block, "read", {}, 1, {}, {"w"});
          break;
        case 7:
          Add(block, "dim", {}, 1,
              {{"value", Chance(50) ? Attr(Dim::Name("B"))
                                    : Attr((Dim::Name("B") * Dim::Name("n") + Dim(1)) / Dim(2))}});
          break;
        case 8:
          Add(block, "concat", Pick(Int(1, 4)), 1, {{"axis", Attr(-1)}});
          break;
        case 9:
          Add(block, "split", Pick(1), 2);
          break;
        case 10: {
          std::vector<Value*> operands = Pick(2);
          if (Chance(50)) operands.pop_back();
          Add(block, "lookup", operands, 1, {{"pool", Attr::Word("sum")}}, {"t"});
          break;
        }
        case 11:
          Add(block, "constant", {}, 1, {{"value", Attr(Int(0, 9))}, {"dtype", DType::kF16}});
          break;
        case 12: {
          if (program_.Functions().empty()) break;
          const Function& f =
              *program_.Functions()[Int(0, static_cast<int>(program_.Functions().size()) - 1)];
          const int results = f.body().terminator()->num_operands();
          std::vector<NamedAttr> statics;
          if (Chance(50)) statics.push_back({"training", Attr::Word("training")});
          if (Chance(50)) statics.push_back({"n", Attr(Dim::Name("D"))});
          Op* call = Add(block, "call", Pick(2), Chance(10) ? 0 : results, std::move(statics));
          call->callee = f.name;
          break;
        }
        case 13:
          if (depth > 0) Control(block, depth);
          break;
      }
    }
  }

  void Commit() {
    auto op = std::make_unique<Op>(program_.ops().Get("commit"), Location{});
    Block& region = *op->AddBlock();
    const int count = Int(0, 3);
    for (int i = 0; i < count; ++i) {
      switch (Int(0, 2)) {
        case 0:
          Add(region, "guard", Pick(1), 0);
          break;
        case 1:
          Add(region, "observe", {Pick(), nullptr, Pick()}, 0, {}, {"t"});
          break;
        case 2:
          Add(region, "update", Pick(1), 0, {{"rule", Attr::Word("adam")}, {"lr", Attr(0.5)}},
              {"w", "m", "v"});
          break;
      }
    }
    function_->body().Insert(std::move(op));
  }

  Program& program_;
  std::mt19937 random_;
  Function* function_;
  std::vector<Value*> values_;
  int names_ = 0;
  int results_ = 0;
};

TEST(TextProperty, RandomProgramsComeBackEqual) {
  const auto ops = testing::TextSampleOps();
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Program p("random", ops);
    for (const char* name : {"w", "m", "v"}) {
      p.items.Add(StateDecl{StateKind::kParam, name, Type::Scalar(DType::kF32), {}, {}, {}});
    }
    p.items.Add(StateDecl{StateKind::kTable, "t", Type::Tensor(DType::kF32, {Dim(4)}), {}, {}, {}});
    for (uint32_t i = 0; i < 3; ++i) RandomFunction(p, seed * 3 + i, "f" + std::to_string(i));
    const std::string text = Print(p);
    try {
      Program q = testing::ParseSample(text);
      std::string why;
      ASSERT_TRUE(Equal(p, q, &why)) << "seed " << seed << ": " << why << "\n" << text;
      ASSERT_EQ(Print(q), text);
    } catch (const ProgramError& e) {
      FAIL() << "seed " << seed << ": " << e.what() << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace catamaran
