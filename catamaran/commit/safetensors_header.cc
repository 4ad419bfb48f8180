// commit/safetensors_header.cc

#include "catamaran/commit/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/json_text.h"

namespace catamaran {

namespace {

constexpr std::string_view kMetadata = "__metadata__";

struct StoredDType {
  DType dtype;
  std::string_view name;
};
constexpr StoredDType kStoredDTypes[] = {
    {DType::kF64, "F64"}, {DType::kF32, "F32"},   {DType::kF16, "F16"}, {DType::kBF16, "BF16"},
    {DType::kI8, "I8"},   {DType::kU8, "U8"},     {DType::kI32, "I32"}, {DType::kI64, "I64"},
    {DType::kU64, "U64"}, {DType::kBool, "BOOL"},
};

// The length of the UTF-8 sequence at the start of `text`; 0 if there is no valid one.
size_t Utf8Length(std::string_view text) {
  auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  const uint32_t first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond Unicode.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

void AppendUtf8(std::string& out, uint32_t code) {
  auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

void AppendQuoted(std::string& out, std::string_view text, std::string_view file) {
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = Utf8Length(rest);
    if (length == 0) Fail("{}: a name or metadata string is not UTF-8", file);
    rest.remove_prefix(length);
  }
  AppendJsonQuoted(out, text);
}

class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  SafetensorsHeader Read() {
    if (!text_.starts_with('{')) Malformed("no '{' at the start");
    SafetensorsHeader header;
    std::unordered_set<std::string> names;
    Object([&](std::string name) {
      if (!names.insert(name).second) Malformed(fmt::format("'{}' for the second time", name));
      if (name == kMetadata) {
        header.metadata = ReadMetadata();
      } else {
        header.entries.push_back(ReadEntry(std::move(name)));
      }
    });
    SkipSpace();
    if (at_ != text_.size()) Malformed("text after the object");
    return header;
  }

 private:
  [[noreturn]] void Malformed(std::string_view found) const {
    Fail(ErrorCode::kStorage, "{}: malformed safetensors header: {} before byte {} of the header",
         file_, found, at_);
  }

  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }

  bool Accept(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) Malformed(fmt::format("no '{}'", c));
  }

  // Calls `member(key)`, which reads the value, for each member.
  template <class F>
  void Object(F member) {
    Expect('{');
    if (Accept('}')) return;
    do {
      std::string key = String();
      Expect(':');
      member(std::move(key));
    } while (Accept(','));
    Expect('}');
  }

  SafetensorsMetadata ReadMetadata() {
    SafetensorsMetadata metadata;
    Object([&](std::string key) {
      std::string value = String();
      if (!metadata.emplace(std::move(key), std::move(value)).second) {
        Malformed("a metadata key for the second time");
      }
    });
    return metadata;
  }

  SafetensorsEntry ReadEntry(std::string name) {
    SafetensorsEntry entry;
    entry.name = std::move(name);
    std::optional<std::string> dtype;
    std::optional<std::vector<uint64_t>> shape, offsets;
    Object([&](std::string key) {
      if (key == "dtype" && !dtype) {
        dtype = String();
      } else if (key == "shape" && !shape) {
        shape = Integers(kMaxRank);
      } else if (key == "data_offsets" && !offsets) {
        offsets = Integers(2);
      } else {
        Malformed(fmt::format("an unknown or repeated key '{}' in '{}'", key, entry.name));
      }
    });
    if (!dtype || !shape || !offsets || offsets->size() != 2) {
      Malformed(fmt::format("'{}' without dtype, shape and two data_offsets", entry.name));
    }
    const auto* stored = std::find_if(std::begin(kStoredDTypes), std::end(kStoredDTypes),
                                      [&](auto& s) { return s.name == *dtype; });
    if (stored == std::end(kStoredDTypes)) {
      std::string wanted;
      for (const StoredDType& s : kStoredDTypes) wanted += fmt::format(" {}", s.name);
      Fail(ErrorCode::kStorage,
           "{}: '{}' has the dtype '{}', which is not supported; wanted one of{}", file_,
           entry.name, *dtype, wanted);
    }
    entry.dtype = stored->dtype;
    for (const uint64_t dim : *shape) entry.shape.Append(static_cast<int64_t>(dim));
    entry.begin = (*offsets)[0];
    entry.end = (*offsets)[1];
    return entry;
  }

  std::vector<uint64_t> Integers(size_t most) {
    std::vector<uint64_t> values;
    Expect('[');
    if (Accept(']')) return values;
    do {
      if (values.size() == most) Malformed(fmt::format("a list of more than {} numbers", most));
      values.push_back(Integer());
    } while (Accept(','));
    Expect(']');
    return values;
  }

  // At most 63 bits, so that it is also an int64.
  uint64_t Integer() {
    SkipSpace();
    const size_t start = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        Malformed("a number that does not fit in 63 bits");
      }
    }
    if (at_ == start) Malformed("no number");
    if (text_[start] == '0' && at_ - start > 1) Malformed("a number with leading zeros");
    return static_cast<uint64_t>(value);
  }

  std::string String() {
    Expect('"');
    std::string out;
    while (true) {
      const std::string_view rest = text_.substr(at_);
      const size_t length = Utf8Length(rest);
      if (rest.empty()) Malformed("a string without an end");
      if (length == 0) Malformed("a string that is not UTF-8");
      if (static_cast<uint8_t>(rest[0]) < 0x20) Malformed("a control character in a string");
      at_ += length;
      if (rest[0] == '"') return out;
      if (rest[0] == '\\') {
        AppendUtf8(out, Escape());
      } else {
        out += rest.substr(0, length);
      }
    }
  }

  // What a backslash, already read, and the characters after it stand for.
  uint32_t Escape() {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    if (const size_t i = kLetters.find(c); i != kLetters.npos) {
      return static_cast<uint32_t>(kMeanings[i]);
    }
    if (c != 'u') Malformed("an unknown escape in a string");
    const uint32_t high = Hex4();
    if (high < 0xd800 || high > 0xdfff) return high;
    if (high < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const uint32_t low = Hex4();
      if (low >= 0xdc00 && low <= 0xdfff) return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    Malformed("half of a surrogate pair in a string");
  }

  uint32_t Hex4() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = at_ < text_.size() ? text_[at_++] : '\0';
      const size_t digit = std::string_view("0123456789abcdef")
                               .find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
      if (digit == std::string_view::npos) Malformed("a bad \\u escape in a string");
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    return value;
  }

  const std::string_view text_;
  const std::string_view file_;
  size_t at_ = 0;
};

// What the entry's dtype and shape take; nothing if that does not fit in 63 bits.
std::optional<uint64_t> BytesOf(const SafetensorsEntry& entry) {
  try {
    int64_t bytes = 0;
    if (!__builtin_mul_overflow(entry.shape.num_elements(),
                                static_cast<int64_t>(SizeOf(entry.dtype)), &bytes)) {
      return static_cast<uint64_t>(bytes);
    }
  } catch (const Error&) {
  }
  return std::nullopt;
}

void CheckLayout(const SafetensorsHeader& header, uint64_t data_bytes, std::string_view file) {
  std::vector<const SafetensorsEntry*> order;
  order.reserve(header.entries.size());
  for (const SafetensorsEntry& entry : header.entries) {
    const std::optional<uint64_t> bytes = BytesOf(entry);
    if (entry.begin > entry.end || entry.end - entry.begin != bytes) {
      Fail(ErrorCode::kStorage, "{}: '{}' is {}{}, which does not take the bytes {} to {}", file,
           entry.name, Name(entry.dtype), entry.shape.ToString(), entry.begin, entry.end);
    }
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t at = 0;
  for (const SafetensorsEntry* entry : order) {
    if (entry->begin != at) {
      Fail(ErrorCode::kStorage,
           "{}: '{}' begins at byte {} of the data, {} byte {} where the one before it ends", file,
           entry->name, entry->begin, entry->begin < at ? "overlapping, before" : "after", at);
    }
    at = entry->end;
  }
  if (at != data_bytes) {
    Fail(ErrorCode::kStorage, "{}: {}: the tensors take {} bytes, but {} follow the header", file,
         at > data_bytes ? "cut off" : "too long", at, data_bytes);
  }
}

}  // namespace

SafetensorsHeader ParseSafetensorsHeader(std::string_view json, uint64_t data_bytes,
                                         std::string_view file) {
  SafetensorsHeader header = HeaderReader(json, file).Read();
  CheckLayout(header, data_bytes, file);
  return header;
}

std::string FormatSafetensorsHeader(const SafetensorsHeader& header, std::string_view file) {
  std::string out = "{";
  if (!header.metadata.empty()) {
    AppendQuoted(out, kMetadata, file);
    out += ":{";
    for (const auto& [key, value] : header.metadata) {
      if (out.back() != '{') out += ',';
      AppendQuoted(out, key, file);
      out += ':';
      AppendQuoted(out, value, file);
    }
    out += '}';
  }
  std::unordered_set<std::string_view> names;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.name == kMetadata) Fail("{}: no tensor may be named '{}'", file, kMetadata);
    if (!names.insert(entry.name).second) {
      Fail("{}: two tensors are named '{}'", file, entry.name);
    }
    const auto* stored = std::find_if(std::begin(kStoredDTypes), std::end(kStoredDTypes),
                                      [&](auto& s) { return s.dtype == entry.dtype; });
    if (out.size() > 1) out += ',';
    AppendQuoted(out, entry.name, file);
    out += fmt::format(R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", stored->name,
                       fmt::join(entry.shape, ","), entry.begin, entry.end);
  }
  return out + "}";
}

}  // namespace catamaran
