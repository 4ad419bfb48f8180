// Any text either gives a ProgramError or a program that prints, parses back equal and prints
// the same again.

#include <cstdio>
#include <cstdlib>

#include "catamaran/ir/printer.h"
#include "catamaran/ir/text_samples.h"

using namespace catamaran;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto ops = testing::TextSampleOps();
  static const auto builders = testing::TextSampleBuilders().release();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ParseOptions options;
  options.load_import = [](const std::string& path) -> std::optional<std::string> {
    if (path.size() > 8) return std::nullopt;
    return "program imported\nparam @w : f32[]\nfn f(x: f32[B]) { return x * @w }\n";
  };
  try {
    const Program first = Parse(text, "fuzz.ctm", ops, *builders, options);
    const std::string printed = Print(first);
    try {
      const Program second = Parse(printed, "fuzz.ctm", ops, *builders, options);
      std::string why;
      if (!Equal(first, second, &why)) {
        std::fprintf(stderr, "not equal: %s\n%s", why.c_str(), printed.c_str());
        std::abort();
      }
      if (Print(second) != printed) {
        std::fprintf(stderr, "prints differently:\n%s----\n%s", printed.c_str(),
                     Print(second).c_str());
        std::abort();
      }
    } catch (const ProgramError& e) {
      std::fprintf(stderr, "does not parse back: %s\n%s", e.what(), printed.c_str());
      std::abort();
    }
  } catch (const ProgramError&) {
  }
  return 0;
}
