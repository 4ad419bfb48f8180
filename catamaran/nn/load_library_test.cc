// Ops and builders from a user's shared library: loaded, refused, and trained with.

#include "catamaran/ops/load_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catamaran/nn/program_test_util.h"

namespace catamaran {
namespace {

// The folder of the test program itself, when the environment does not say.
std::string Plugin(const std::string& name) {
  const char* bin = std::getenv("CATAMARAN_BIN_DIR");
  const std::filesystem::path folder =
      bin ? std::filesystem::path(bin)
          : std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return (folder / (name + ".so")).string();
}

std::string LoadError(const std::string& path) {
  auto ops = StandardOps();
  auto builders = StandardBuilders();
  try {
    LoadOpLibrary(*ops, *builders, path);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

constexpr std::string_view kModel = R"(program t
fc = linear(4, 6)
r = ramp(6)
out = linear(6, 1)
fn infer(x: f32[B, 4]) -> f32[B, 1] { return out(r(fc(x))) }
fn loss(x: f32[B, 4], y: f32[B, 1]) -> f32[] { return mean(square(infer(x) - y)) }
train = adam(grad(loss), lr=0.02)
)";

TEST(OpLibrary, TrainsWithItsOpsAndBuilders) {
  std::unique_ptr<State> state;
  std::shared_ptr<const Executable> train;
  {
    auto ops = StandardOps();
    auto builders = StandardBuilders();
    LoadOpLibrary(*ops, *builders, Plugin("sample_plugin"));
    const Program written = Parse(kModel, "test.ctm", ops, *builders);
    const Program flat = Flatten(written, *builders);
    std::string why;
    EXPECT_TRUE(Equal(written, Parse(Print(written), "again.ctm", ops, *builders), &why)) << why;
    state = State::Create(flat, 3);
    train = Compile(flat, "train");
  }
  // The library stays as long as something made with it does.
  Tensor x = Tensor::Zeros(DType::kF32, {32, 4}), y = Tensor::Zeros(DType::kF32, {32, 1});
  for (size_t i = 0; i < 128; ++i) {
    x.mutable_data<float>()[i] = std::sin(static_cast<float>(i) * 1.7f);
  }
  for (size_t i = 0; i < 32; ++i) {
    const auto row = x.data<float>().subspan(i * 4, 4);
    y.mutable_data<float>()[i] = row[0] * row[1] + row[2];
  }
  const double first = TestProgram::AsDouble(train->Run(*state, {{"x", x}, {"y", y}}).outputs[0]);
  double last = first;
  for (int step = 0; step < 300; ++step) {
    last = TestProgram::AsDouble(train->Run(*state, {{"x", x}, {"y", y}}).outputs[0]);
  }
  EXPECT_LT(last, first / 10);
  EXPECT_NE(state->GetTensor("r.scale").data<float>()[0], 1.0f);
}

TEST(OpLibrary, GradientOfItsOpIsRight) {
  auto ops = StandardOps();
  auto builders = StandardBuilders();
  LoadOpLibrary(*ops, Plugin("sample_plugin"));
  EXPECT_EQ(builders->Find("ramp"), nullptr);
  const Program flat = Flatten(Parse(R"(program t
param @w : f64[3] = ones
fn loss(c: f64[3]) -> f64[] { return sum(running_sum(@w) * c) }
g = grad(loss)
)",
                                     "test.ctm", ops, *builders),
                               *builders);
  const auto state = State::Create(flat, 1);
  const Tensor c = Tensor::From<double>(Shape({3}), {1.0, 10.0, 100.0});
  const RunResult r = Compile(flat, "g")->Run(*state, {{"c", c}});
  EXPECT_EQ(r.outputs[0].data<double>()[0], 1 + 20 + 300);
  EXPECT_TRUE(r.outputs[1].Equals(Tensor::From<double>(Shape({3}), {111.0, 110.0, 100.0})));
}

TEST(OpLibrary, ErrorsNameTheFileAndWhatIsMissing) {
  const auto expect = [](const std::string& path, const std::string& text) {
    const std::string error = LoadError(path);
    EXPECT_TRUE(error.starts_with(path + ": ")) << error;
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  expect("/nowhere/ops.so", "No such file");
  expect("ops.so", "No such file");
  expect(Plugin("no_entry_plugin"), "no catamaran_op_library_abi");
  expect(Plugin("other_version_plugin"), "built for another Catamaran: its interface is 100000000");
  const std::string text = ::testing::TempDir() + "text.so";
  std::ofstream(text) << "not a library, but long enough to be read as one by the loader\n";
  expect(text, "cannot be loaded");
  std::filesystem::remove(text);
}

TEST(OpLibrary, ANameThatIsTakenIsRefused) {
  auto ops = StandardOps();
  LoadOpLibrary(*ops, Plugin("sample_plugin"));
  try {
    LoadOpLibrary(*ops, Plugin("sample_plugin"));
    FAIL() << "accepted twice";
  } catch (const Error& e) {
    const std::string error = e.what();
    EXPECT_NE(error.find("sample_plugin.so: "), std::string::npos) << error;
    EXPECT_NE(error.find("swish"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace catamaran
