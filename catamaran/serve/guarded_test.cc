#include "catamaran/serve/guarded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/ir/diagnostic.h"
#include "catamaran/nn/standard.h"
#include "catamaran/serve/model/load_model.h"
#include "catamaran/serve/serve_test_util.h"
#include "catamaran/stream/log/log.h"

namespace catamaran {
namespace {

using ::testing::HasSubstr;

template <class Throw>
StatusCode CodeAfter(const Throw& body) {
  return Guarded([&]() -> Status {
           body();
           return {};
         })
      .code;
}

TEST(Guarded, OnlyTheCallersMistakesAreInvalidArguments) {
  EXPECT_EQ(CodeAfter([] {}), StatusCode::kOk);
  EXPECT_EQ(CodeAfter([] { Fail("wrong"); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeAfter([] { Fail(ErrorCode::kBadData, "row 1"); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeAfter([] { throw ProgramError({}, SourceTable()); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeAfter([] { CATAMARAN_CHECK(1 > 2); }), StatusCode::kInternal);
  EXPECT_EQ(CodeAfter([] { Fail(ErrorCode::kStorage, "damaged"); }), StatusCode::kInternal);
  EXPECT_EQ(CodeAfter([] { throw std::logic_error("odd"); }), StatusCode::kInternal);
  EXPECT_EQ(CodeAfter([] { throw std::bad_alloc(); }), StatusCode::kResourceExhausted);
  EXPECT_EQ(
      CodeAfter([] {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
      }),
      StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeAfter([] { throw LogFull("full"); }), StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeAfter([] { throw LogFull("broken", ErrorCode::kStorage); }), StatusCode::kInternal);
  EXPECT_EQ(CodeAfter([] { Fail(ErrorCode::kUnavailable, "gone"); }), StatusCode::kUnavailable);
  EXPECT_EQ(CodeAfter([] { Fail(ErrorCode::kCancelled, "late"); }), StatusCode::kCancelled);
}

TEST(Guarded, MessagesSayWhatHappenedInWordsOfOurs) {
  const Status memory = Guarded([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(memory.message, "out of memory");
  const Status odd = Guarded([]() -> Status { throw std::logic_error("odd"); });
  EXPECT_EQ(odd.message, "internal error: odd");
}

class ModelsThatDoNotLoad : public ::testing::Test {
 protected:
  Status Load(const std::string& program, const std::string& state = "") {
    ModelConfig config;
    config.program = program;
    config.state = state;
    return host.server->Load("taste", config);
  }
  testing::TasteServer host;
};

TEST_F(ModelsThatDoNotLoad, AnInvalidProgramIsTheCallersMistake) {
  WriteFileAtomically(host.fs, "broken.ctm", "program broken\nfn infer(x: f32[B]) -> { x }\n");
  EXPECT_EQ(Load("broken.ctm").code, StatusCode::kInvalidArgument);
}

TEST_F(ModelsThatDoNotLoad, AFileThatIsNotThereIsTheCallersMistake) {
  EXPECT_EQ(Load("nothing.ctm").code, StatusCode::kInvalidArgument);
  EXPECT_EQ(Load("taste.ctm", "nowhere").code, StatusCode::kInvalidArgument);
}

TEST_F(ModelsThatDoNotLoad, ADamagedStateIsInternal) {
  const HostedModel model =
      LoadModel(host.fs, {StandardOps(), StandardBuilders()}, "taste", host.config, "");
  SaveState(host.fs, "saved", *model.flat, *model.state);
  EXPECT_TRUE(Load("taste.ctm", "saved").ok());
  const std::string dense = "saved/" + DenseFileName(1);
  host.fs.FlipBit(dense, 8 * (host.fs.ReadAll(dense).size() - 1));
  const Status status = Load("taste.ctm", "saved");
  EXPECT_EQ(status.code, StatusCode::kInternal);
  EXPECT_THAT(status.message, HasSubstr(dense));
}

TEST_F(ModelsThatDoNotLoad, AStateOfAnotherProgramIsTheCallersMistake) {
  const HostedModel model =
      LoadModel(host.fs, {StandardOps(), StandardBuilders()}, "taste", host.config, "");
  SaveState(host.fs, "saved", *model.flat, *model.state);
  WriteFileAtomically(host.fs, "other.ctm",
                      "program other\nparam @w : f32[3] = ones\n"
                      "fn infer(x: f32[B, 3]) -> f32[B, 3] { return x * @w }\n");
  EXPECT_EQ(Load("other.ctm", "saved").code, StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace catamaran
