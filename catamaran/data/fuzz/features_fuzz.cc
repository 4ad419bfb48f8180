// Any bytes as a features file, or as a fitted one: what parses prints as text that parses back to
// the same, and what binds transforms rows.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/data/features/feature_set.h"
#include "catamaran/data/features/fitted_file.h"

using namespace catamaran;

namespace {

[[noreturn]] void Wrong(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

RowBlock SomeRows() {
  RowBlock rows(
      Schema::Parse("a: f32\nb: i64\nc: string\nd: ids\ne: weighted_ids\nf: f32[2]\n"
                    "C1: string\nC2: string\n"));
  for (int r = 0; r < 3; ++r) {
    rows[0].floats.push_back(static_cast<float>(r) - 0.5F);
    rows[1].ints.push_back(r);
    for (const int c : {2, 6, 7}) {
      if (r > 0) rows[c].bytes.push_back(static_cast<uint8_t>('0' + r));
      rows[c].EndList();
    }
    for (int i = 0; i < r; ++i) {
      rows[3].ints.push_back(i);
      rows[4].ints.push_back(i);
      rows[4].floats.push_back(0.5F);
    }
    rows[3].EndList();
    rows[4].EndList();
    rows[5].floats.push_back(1);
    rows[5].floats.push_back(2);
    rows.FinishRow();
  }
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("plugin") != std::string_view::npos) return 0;
  static const RowBlock rows = SomeRows();
  FaultyFileSystem fs;
  try {
    const Features features =
        IsFittedText(text) ? ParseFitted(fs, text, "f", {}) : MakeFeatures(fs, text, "f");
    for (const FeatureLine& line : features.syntax().lines) {
      const std::string printed = ToString(line.expr);
      const FeatureSyntax again = ParseFeatures("x = " + printed, "again");
      if (ToString(again.lines.at(0).expr) != printed) Wrong("an expression prints differently");
    }
    const auto transform = features.Bind(rows.schema());
    RowBlock out;
    transform->Apply(rows, out);
    out.Check("fuzz");
    if (out.rows() != rows.rows()) Wrong("other rows");
  } catch (const Error&) {
  }
  return 0;
}
