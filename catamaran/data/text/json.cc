#include "catamaran/data/text/json.h"

#include <fmt/format.h>

#include <utility>

#include "catamaran/base/background.h"
#include "catamaran/data/text/utf8.h"

namespace catamaran {
namespace {

// Values that are read in a few microseconds.
constexpr size_t kValuesABreath = 128;

}  // namespace

std::string_view Describe(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kFalse:
      return "false";
    case JsonKind::kTrue:
      return "true";
    case JsonKind::kNumber:
      return "a number";
    case JsonKind::kString:
      return "a string";
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
  }
  return "?";
}

bool JsonDocument::Wrong(std::string what) {
  error_ = std::move(what);
  return false;
}

bool JsonDocument::WrongHere(std::string_view wanted) {
  if (at_ >= text_.size()) return Wrong(fmt::format("the text ends where {} should stand", wanted));
  const auto found = static_cast<unsigned char>(text_[at_]);
  if (found < 0x20 || found >= 0x7f) {
    return Wrong(fmt::format("found byte 0x{:02x} where {} should stand", found, wanted));
  }
  return Wrong(fmt::format("found '{}' where {} should stand", text_[at_], wanted));
}

bool JsonDocument::Parse(std::string_view text) {
  text_ = text;
  nodes_.clear();
  error_.clear();
  unescaped_.clear();
  unescaped_.reserve(text.size());
  at_ = FindBadUtf8(text);
  if (at_ < text.size()) return Wrong("the text is not UTF-8");
  at_ = 0;
  if (!Value(0)) return false;
  SkipSpace();
  return at_ == text_.size() || WrongHere("the end");
}

void JsonDocument::SkipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
    ++at_;
  }
}

bool JsonDocument::Value(int depth) {
  if (nodes_.size() % kValuesABreath == 0) Breathe();
  SkipSpace();
  if (at_ == text_.size()) return WrongHere("a value");
  switch (text_[at_]) {
    case '{':
      return Object(depth);
    case '[':
      return Array(depth);
    case '"':
      return String();
    case 't':
      return Word("true", JsonKind::kTrue);
    case 'f':
      return Word("false", JsonKind::kFalse);
    case 'n':
      return Word("null", JsonKind::kNull);
    default:
      return Number();
  }
}

bool JsonDocument::Array(int depth) {
  if (depth == kMaxDepth) return Wrong(fmt::format("nested deeper than {}", kMaxDepth));
  const size_t self = nodes_.size();
  const size_t begin = at_++;
  nodes_.push_back({.kind = JsonKind::kArray});
  SkipSpace();
  if (at_ < text_.size() && text_[at_] == ']') {
    ++at_;
  } else {
    for (;;) {
      if (!Value(depth + 1)) return false;
      ++nodes_[self].count;
      SkipSpace();
      if (at_ == text_.size() || (text_[at_] != ',' && text_[at_] != ']')) {
        return WrongHere("',' or ']'");
      }
      if (text_[at_++] == ']') break;
    }
  }
  nodes_[self].end = static_cast<uint32_t>(nodes_.size());
  nodes_[self].text = text_.substr(begin, at_ - begin);
  return true;
}

bool JsonDocument::Object(int depth) {
  if (depth == kMaxDepth) return Wrong(fmt::format("nested deeper than {}", kMaxDepth));
  const size_t self = nodes_.size();
  const size_t begin = at_++;
  nodes_.push_back({.kind = JsonKind::kObject});
  SkipSpace();
  if (at_ < text_.size() && text_[at_] == '}') {
    ++at_;
  } else {
    for (;;) {
      SkipSpace();
      if (at_ == text_.size() || text_[at_] != '"') return WrongHere("a name in quotes");
      if (!String()) return false;
      SkipSpace();
      if (at_ == text_.size() || text_[at_] != ':') return WrongHere("':'");
      ++at_;
      if (!Value(depth + 1)) return false;
      ++nodes_[self].count;
      SkipSpace();
      if (at_ == text_.size() || (text_[at_] != ',' && text_[at_] != '}')) {
        return WrongHere("',' or '}'");
      }
      if (text_[at_++] == '}') break;
    }
  }
  nodes_[self].end = static_cast<uint32_t>(nodes_.size());
  nodes_[self].text = text_.substr(begin, at_ - begin);
  return true;
}

bool JsonDocument::String() {
  const size_t begin = ++at_;
  const size_t unescaped_begin = unescaped_.size();
  bool escaped = false;
  size_t from = begin;
  for (;; ++at_) {
    if (at_ == text_.size()) return WrongHere("the string's closing quote");
    const char c = text_[at_];
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20) return WrongHere("a character of a string");
    if (c != '\\') continue;
    escaped = true;
    unescaped_.append(text_.substr(from, at_ - from));
    ++at_;
    if (!Escape()) return false;
    from = at_ + 1;
  }
  std::string_view value = text_.substr(begin, at_ - begin);
  if (escaped) {
    unescaped_.append(text_.substr(from, at_ - from));
    value = std::string_view(unescaped_).substr(unescaped_begin);
  }
  ++at_;
  nodes_.push_back(
      {.kind = JsonKind::kString, .end = static_cast<uint32_t>(nodes_.size() + 1), .text = value});
  return true;
}

// What follows a backslash, at_ being at it; leaves at_ at its last character.
bool JsonDocument::Escape() {
  if (at_ == text_.size()) return WrongHere("what is escaped");
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (const size_t i = kNames.find(text_[at_]); i != std::string_view::npos) {
    unescaped_.push_back(kMeanings[i]);
    return true;
  }
  if (text_[at_] != 'u') return WrongHere("one of \"\\/bfnrtu after a backslash");
  uint32_t code = 0;
  if (!HexDigits(&code)) return false;
  if (code >= 0xdc00 && code <= 0xdfff) return Wrong("the second half of a surrogate pair alone");
  if (code >= 0xd800 && code <= 0xdbff) {
    uint32_t second = 0;
    if (text_.substr(at_ + 1, 2) != "\\u") return Wrong("the first half of a surrogate pair alone");
    at_ += 2;
    if (!HexDigits(&second)) return false;
    if (second < 0xdc00 || second > 0xdfff)
      return Wrong("the first half of a surrogate pair alone");
    code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
  }
  AppendUtf8(code, &unescaped_);
  return true;
}

// Four digits behind at_.
bool JsonDocument::HexDigits(uint32_t* value) {
  for (int i = 0; i < 4; ++i) {
    ++at_;
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A') + 10;
    } else {
      return WrongHere("a hexadecimal digit");
    }
    *value = *value << 4 | digit;
  }
  return true;
}

bool JsonDocument::Number() {
  const size_t begin = at_;
  const auto here = [&] { return at_ < text_.size() ? text_[at_] : '\0'; };
  const auto digits = [&] {
    const size_t from = at_;
    while (here() >= '0' && here() <= '9') ++at_;
    return at_ > from;
  };
  bool integer = true;
  if (here() == '-') ++at_;
  if (here() == '0') {
    ++at_;
    if (here() >= '0' && here() <= '9') return Wrong("a number with a leading zero");
  } else if (!digits()) {
    return WrongHere(at_ == begin ? "a value" : "a digit");
  }
  if (here() == '.') {
    integer = false;
    ++at_;
    if (!digits()) return WrongHere("a digit");
  }
  if (here() == 'e' || here() == 'E') {
    integer = false;
    ++at_;
    if (here() == '+' || here() == '-') ++at_;
    if (!digits()) return WrongHere("a digit");
  }
  nodes_.push_back({.kind = JsonKind::kNumber,
                    .integer = integer,
                    .end = static_cast<uint32_t>(nodes_.size() + 1),
                    .text = text_.substr(begin, at_ - begin)});
  return true;
}

bool JsonDocument::Word(std::string_view word, JsonKind kind) {
  if (!text_.substr(at_).starts_with(word)) return WrongHere("a value");
  at_ += word.size();
  nodes_.push_back({.kind = kind, .end = static_cast<uint32_t>(nodes_.size() + 1), .text = word});
  return true;
}

}  // namespace catamaran
