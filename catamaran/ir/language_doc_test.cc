// The programs in docs/language.md are programs.

#include <gtest/gtest.h>

#include <cstdlib>

#include "catamaran/base/file.h"
#include "catamaran/ir/printer.h"
#include "catamaran/ir/text_samples.h"

namespace catamaran {
namespace {

std::vector<std::string> Examples() {
  const char* root = std::getenv("CATAMARAN_SOURCE_DIR");
  const std::string text =
      PosixFileSystem().ReadAll(JoinPath(root ? root : ".", "docs/language.md"));
  constexpr std::string_view kOpen = "```ctm\n";
  std::vector<std::string> out;
  for (size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
    at += kOpen.size();
    out.push_back(text.substr(at, text.find("```", at) - at));
  }
  return out;
}

TEST(LanguageDoc, ExamplesParseAndComeBackEqual) {
  const std::vector<std::string> examples = Examples();
  ASSERT_GE(examples.size(), 6u);
  for (const std::string& text : examples) {
    try {
      const Program first = testing::ParseSample(text, "language.md");
      const Program second = testing::ParseSample(Print(first), "printed");
      std::string why;
      EXPECT_TRUE(Equal(first, second, &why)) << why << "\n" << text;
    } catch (const ProgramError& e) {
      ADD_FAILURE() << e.what() << "\n" << text;
    }
  }
}

TEST(LanguageDoc, BeginsWithTheProgramOfTheDesign) {
  EXPECT_EQ(Examples().at(0), testing::kCtrProgram);
}

}  // namespace
}  // namespace catamaran
