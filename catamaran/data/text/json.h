// data/text/json.h
//
// One JSON value, parsed strictly as RFC 8259 has it: valid UTF-8, no comments, no trailing commas,
// no NaN, nested no deeper than a limit. The values stand one after another in the order of the
// text, and memory is reused from one Parse to the next.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace catamaran {

enum class JsonKind : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

// "null", "false", "a number", …, for messages.
std::string_view Describe(JsonKind kind);

struct JsonNode {
  JsonKind kind = JsonKind::kNull;
  bool integer = false;   // a number without point and exponent
  uint32_t count = 0;     // of an array's elements or an object's members
  uint32_t end = 0;       // the index of the node behind this one and all in it
  std::string_view text;  // a string's characters, unescaped; all else as it is written
};

class JsonDocument {
 public:
  static constexpr int kMaxDepth = 64;

  // False if `text` is not one JSON value; then error() and error_offset() say what is wrong.
  // `text` must stay as it is while the nodes are used. REQUIRES: less than 2 GiB.
  bool Parse(std::string_view text);

  // nodes()[0] is the value. The elements of an array stand behind it; behind an object stand its
  // members, each a string and a value. The one after nodes()[i] is nodes()[nodes()[i].end].
  const std::vector<JsonNode>& nodes() const { return nodes_; }

  const std::string& error() const { return error_; }
  size_t error_offset() const { return at_; }

 private:
  bool Wrong(std::string what);
  bool WrongHere(std::string_view wanted);
  void SkipSpace();
  bool Value(int depth);
  bool Array(int depth);
  bool Object(int depth);
  bool String();
  bool Escape();
  bool HexDigits(uint32_t* value);
  bool Number();
  bool Word(std::string_view word, JsonKind kind);

  std::string_view text_;
  size_t at_ = 0;
  std::vector<JsonNode> nodes_;
  std::string unescaped_;  // as large as the text from the start, so that it never moves
  std::string error_;
};

}  // namespace catamaran
