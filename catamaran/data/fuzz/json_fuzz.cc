// Any bytes as JSON lines: an error, or rows. What parses has its values where their parents say.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/data/reader.h"
#include "catamaran/data/text/json.h"
#include "catamaran/data/text/utf8.h"

using namespace catamaran;

namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void CheckNode(const JsonDocument& json, size_t i) {
  const auto& nodes = json.nodes();
  const JsonNode& node = nodes[i];
  Require(node.end > i && node.end <= nodes.size(), "a value ends before it begins");
  Require(FindBadUtf8(node.text) == node.text.size(), "a text is not UTF-8");
  uint32_t count = 0;
  size_t at = i + 1;
  for (; at < node.end; ++count) {
    if (node.kind == JsonKind::kObject) {
      Require(nodes[at].kind == JsonKind::kString, "a name is no string");
      ++at;
    }
    CheckNode(json, at);
    at = nodes[at].end;
  }
  Require(at == node.end && count == node.count, "the values in a value are not its own");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  JsonDocument json;
  if (json.Parse(text)) CheckNode(json, 0);

  FaultyFileSystem fs;
  WriteFileAtomically(fs, "f.jsonl", text);
  for (const bool declared : {false, true}) {
    ReaderOptions options;
    options.bad_rows.limit = 1000;
    options.text.infer_rows = 3;
    if (declared) {
      options.schema = Schema::Parse(
          "a: f32\na.b: i64\nc: u8[2]\nd: ids\ne: weighted_ids\ns: string\nv: f32[2, 2]");
      options.text.missing_integer = 1;
    }
    try {
      const auto reader = OpenReader(fs, "f.jsonl", options);
      RowBlock block;
      while (reader->Read(3, block)) block.Check("fuzz");
    } catch (const Error&) {
    }
  }
  return 0;
}
