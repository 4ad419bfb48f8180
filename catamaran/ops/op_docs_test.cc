#include "catamaran/ops/op_docs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catamaran/ops/op_list.h"

namespace catamaran {
namespace {

std::shared_ptr<const OpSet> AllOps() {
  auto ops = std::make_shared<OpSet>();
  DefineAllOps(*ops);
  return ops;
}

TEST(OpDocs, ThePageIsUpToDate) {
  const char* root = std::getenv("CATAMARAN_SOURCE_DIR");
  std::ifstream file(std::string(root ? root : ".") + "/docs/ops.md");
  ASSERT_TRUE(file) << "docs/ops.md is missing";
  std::stringstream text;
  text << file.rdbuf();
  const std::string made = OpsMarkdown(AllOps());
  if (text.str() == made) return;
  // The first line that differs, not two pages.
  std::istringstream have(text.str()), want(made);
  std::string a, b;
  int line = 0;
  do {
    ++line;
    if (!std::getline(have, a)) a = "(the end)";
    if (!std::getline(want, b)) b = "(the end)";
  } while (a == b && a != "(the end)");
  FAIL() << "docs/ops.md is stale; write it with\n  catamaran ops --markdown >docs/ops.md\nline "
         << line << " is\n  " << a << "\nand should be\n  " << b;
}

TEST(OpDocs, EveryOpThatCanBeShownHasAnExample) {
  const auto ops = AllOps();
  const std::string page = OpsMarkdown(ops);
  for (const OpDef* def : ops->All()) {
    if (def->traits.structural) continue;
    const size_t begin = page.find("### " + def->name + "\n");
    ASSERT_NE(begin, std::string::npos) << def->name;
    const bool part_of_gradient = def->name.find("_grad") != std::string::npos;
    if (part_of_gradient) continue;
    const std::string section = page.substr(begin, page.find("\n### ", begin + 1) - begin);
    EXPECT_NE(section.find("```"), std::string::npos) << def->name << " has no sample small enough";
  }
}

}  // namespace
}  // namespace catamaran
