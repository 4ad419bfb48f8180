// Compiles the extracted references, and the C++ of every elementwise formula, into a program
// that has nothing of ours, as a device would, runs it, and compares its numbers with those of
// the kernels in this process.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "catamaran/base/error.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/reference_source.h"
#include "catamaran/ops/scalar_expr.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

constexpr int64_t kMostElements = 300;  // larger samples would only make the program longer

const char* CppType(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "double";
    case DType::kF32:
      return "float";
    case DType::kI8:
      return "int8_t";
    case DType::kU8:
    case DType::kBool:
      return "uint8_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI64:
      return "int64_t";
    case DType::kU64:
      return "uint64_t";
    default:
      return nullptr;
  }
}

std::string Bytes(const Tensor& tensor) {
  std::string out;
  const auto* bytes = static_cast<const unsigned char*>(tensor.raw_data());
  for (size_t i = 0; i < tensor.num_bytes(); ++i) out += fmt::format("{},", bytes[i]);
  return out.empty() ? "0" : out;
}

constexpr const char* kPrologue = R"(
#include <cstdio>
#include <cstring>
#include <type_traits>

namespace {

void Show(int number, const void* data, size_t bytes) {
  std::printf("%d ", number);
  for (size_t i = 0; i < bytes; ++i) {
    std::printf("%02x", static_cast<const unsigned char*>(data)[i]);
  }
  std::printf("\n");
}

// Calls a reference that takes inputs, outputs and sizes in this order; says nothing of others.
template <class F, class Sizes, class... Pointers>
void Try(F f, const void* words, size_t size, int number, const void* out, size_t out_bytes,
         const Sizes*, Pointers... pointers) {
  if constexpr (std::is_invocable_v<F, Pointers..., const Sizes&>) {
    if (!std::is_void_v<std::invoke_result_t<F, Pointers..., const Sizes&>>) return;
    Sizes sizes;
    if (sizeof(sizes) != size) return;
    std::memcpy(&sizes, words, sizeof(sizes));
    f(pointers..., sizes);
    Show(number, out, out_bytes);
  }
}

}  // namespace
)";

class ReferencesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("c++ --version >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "no C++ compiler is installed";
    }
    DefineAllOps(*ops_);
    source_ << "#include <algorithm>\n#include <cmath>\n#include <cstddef>\n#include <cstdint>\n"
            << "#include \"catamaran/base/random.h\"\n";
    for (size_t i = 0; i < kReferenceSourceCount; ++i) source_ << kReferenceSources[i].source;
    source_ << kPrologue;
  }

  // Compiles and runs what source_ holds. Lines "number hex" become entries of outputs_.
  void CompileAndRun() {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() /
        fmt::format("catamaran_references_{}_{}", static_cast<int>(::getpid()),
                    testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
    const std::string program = (folder / "program").string();
    std::ofstream(program + ".cc") << source_.str();
    const char* root = std::getenv("CATAMARAN_SOURCE_DIR");
    const std::string command = fmt::format(
        "c++ -std=c++17 -fno-exceptions -fno-rtti -ffp-contract=off -O1 -w -I'{}' -o "
        "'{}' '{}.cc' 2>'{}.log'",
        root ? root : ".", program, program, program);
    if (std::system(command.c_str()) != 0) {
      std::stringstream log;
      log << std::ifstream(program + ".log").rdbuf();
      FAIL() << command << "\n" << log.str().substr(0, 4000);
    }
    FILE* pipe = popen(program.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string text;
    char buffer[4096];
    while (size_t n = std::fread(buffer, 1, sizeof(buffer), pipe)) text.append(buffer, n);
    ASSERT_EQ(pclose(pipe), 0);
    std::stringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t space = line.find(' ');
      outputs_[std::stoi(line.substr(0, space))] = line.substr(space + 1);
    }
    std::filesystem::remove_all(folder);
  }

  Tensor Decode(int number, const Tensor& like) {
    Tensor tensor = Tensor::Allocate(like.dtype(), like.shape());
    const std::string& hex = outputs_.at(number);
    CATAMARAN_CHECK(hex.size() == 2 * tensor.num_bytes());
    auto* bytes = static_cast<unsigned char*>(tensor.mutable_raw_data());
    for (size_t i = 0; i < tensor.num_bytes(); ++i) {
      bytes[i] = static_cast<unsigned char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
    }
    return tensor;
  }

  std::shared_ptr<OpSet> ops_ = std::make_shared<OpSet>();
  std::stringstream source_;
  std::map<int, std::string> outputs_;
};

TEST_F(ReferencesTest, FormulasOfElementwiseOpsGiveTheSameNumbersAsCpp) {
  const double values[] = {-3, -1.5, -0.5, 0, 0.25, 1, 2.5, 7};
  std::vector<double> wanted;
  std::vector<std::string> names;
  std::string body;
  for (const OpDef* def : ops_->All()) {
    if (!def->scalar) continue;
    const ScalarFunction& f = *def->scalar;
    source_ << f.EmitCpp("Formula_" + def->name);
    if (!f.Supports(DType::kF64)) continue;  // of integers: only that it compiles
    size_t count = 1;
    for (int i = 0; i < f.num_inputs(); ++i) count *= f.is_condition(i) ? 2 : 8;
    // Of very many combinations some: the step is odd, so that every value of every operand occurs.
    const size_t step = count <= 512 ? 1 : count / 512 + 1 - count / 512 % 2;
    for (size_t k = 0; k < count; k += step) {
      std::vector<double> inputs;
      std::string call;
      size_t left = k;
      for (int i = 0; i < f.num_inputs(); ++i) {
        const size_t choices = f.is_condition(i) ? 2 : 8;
        inputs.push_back(f.is_condition(i) ? static_cast<double>(left % 2) : values[left % 8]);
        left /= choices;
        call += fmt::format("{}{}", i == 0 ? "" : ", ", inputs.back());
      }
      body += fmt::format("  {{ double y = Formula_{0}<double>({1}); Show({2}, &y, 8); }}\n",
                          def->name, call, wanted.size());
      wanted.push_back(f.Evaluate(inputs));
      names.push_back(fmt::format("{}({})", def->name, call));
    }
  }
  ASSERT_GT(wanted.size(), 500u);
  source_ << "int main() {\n" << body << "}\n";
  CompileAndRun();
  ASSERT_EQ(outputs_.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Tensor want = Tensor::Scalar(wanted[i]);
    const Tensor got = Decode(static_cast<int>(i), want);
    EXPECT_TRUE(AllClose(got, want, 1e-14, 1e-300, true)) << names[i] << " is " << got;
  }
}

TEST_F(ReferencesTest, ExtractedReferencesGiveTheSameResults) {
  struct Case {
    std::string op;
    Tensor wanted;
  };
  std::vector<Case> cases;
  std::string body;
  for (const OpDef* def : ops_->All()) {
    if (def->scalar || def->reference.empty() || def->sizes_struct.empty() || !def->sizes ||
        def->num_results != 1 || def->traits.reads_state || def->traits.effect) {
      continue;
    }
    for (const Sample& sample : def->samples) {
      // Left-out operands and ragged ones have no place in the plain convention.
      bool plain = sample.ragged_lengths.empty();
      for (const Tensor& tensor : sample.inputs) {
        plain = plain && tensor.num_elements() <= kMostElements && CppType(tensor.dtype()) &&
                !(tensor.raw_data() == nullptr && tensor.shape() == Shape{0});
      }
      if (!plain) continue;
      Program program("sample", ops_);
      auto owned = std::make_unique<Function>();
      owned->name = "f";
      owned->typed = true;
      Function& function = *program.items.Add(std::move(owned));
      std::vector<Value*> operands;
      std::vector<RunnerValue> arguments;
      for (const Tensor& tensor : sample.inputs) {
        std::vector<Dim> dims;
        for (int64_t dim : tensor.shape()) dims.push_back(dim);
        operands.push_back(function.body().AddArg(fmt::format("in{}", operands.size()),
                                                  Type::Tensor(tensor.dtype(), dims)));
        arguments.push_back({tensor, {}});
      }
      Emitter emit(program, function, function.body());
      Op* op = emit.EmitOp(*def, {operands, sample.attrs, {}, {}, 1}, {});
      if (!op->result()->type.is_tensor()) continue;
      emit.EmitOp(ops_->Get("return"), {{op->result()}, {}, {}, {}, 0}, {});
      RunnerOptions options;
      options.kernel = "reference";
      const Tensor wanted = RunStraight(function, arguments, options).at(0);
      if (wanted.num_elements() > kMostElements || !CppType(wanted.dtype())) continue;

      std::vector<Slot> slots(operands.size() + 1);
      std::vector<Slot*> in;
      for (size_t i = 0; i < operands.size(); ++i) {
        slots[i].tensor = sample.inputs[i].view();
        in.push_back(&slots[i]);
      }
      slots.back().tensor = wanted.view();
      Slot* out = &slots.back();
      KernelQuery query{op, in, {&out, 1}, nullptr, Isa::kPlain};
      Words words;
      def->sizes(query, words);

      const size_t number = cases.size();
      std::string code, pointers;
      for (size_t i = 0; i < operands.size(); ++i) {
        const char* type = CppType(sample.inputs[i].dtype());
        code += fmt::format("    alignas(8) static const unsigned char in{}[] = {{{}}};\n", i,
                            Bytes(sample.inputs[i]));
        pointers += fmt::format(", reinterpret_cast<const {}*>(in{})", type, i);
      }
      code += fmt::format("    alignas(8) static unsigned char out[{}];\n", wanted.num_bytes() + 8);
      pointers += fmt::format(", reinterpret_cast<{}*>(out)", CppType(wanted.dtype()));
      code += "    static const uint64_t words[] = {";
      for (const Word& word : words.list()) {
        code += fmt::format("{}u,", static_cast<uint64_t>(word.i));
      }
      code += "};\n";
      body += fmt::format(
          "  {{\n{}    Try([](auto... a) -> decltype(catamaran::reference::{}(a...)) {{ return "
          "catamaran::reference::{}(a...); }}, words, sizeof(words), {}, out, {}, "
          "static_cast<const catamaran::reference::{}*>(nullptr){});\n  }}\n",
          code, def->reference, def->reference, number, wanted.num_bytes(), def->sizes_struct,
          pointers);
      cases.push_back({def->name, wanted});
    }
  }
  source_ << "int main() {\n" << body << "}\n";
  CompileAndRun();
  std::set<std::string> compared;
  for (const auto& [number, hex] : outputs_) {
    const Case& c = cases.at(static_cast<size_t>(number));
    const Tensor got = Decode(number, c.wanted);
    compared.insert(c.op);
    const bool is_float = IsFloat(c.wanted.dtype());
    EXPECT_TRUE(is_float ? AllClose(got, c.wanted, 1e-6, 1e-12, true) : got.Equals(c.wanted))
        << c.op << " alone gives\n"
        << got << "\nhere\n"
        << c.wanted;
  }
  for (const char* op : {"sum", "mean", "transpose", "expand", "dropout", "normal", "uniform"}) {
    EXPECT_TRUE(compared.contains(op)) << op << " was not compared";
  }
  std::string list;
  for (const std::string& op : compared) list += " " + op;
  std::printf("compared:%s\n", list.c_str());
}

}  // namespace
}  // namespace catamaran
