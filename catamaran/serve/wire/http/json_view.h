// serve/wire/http/json_view.h
//
// A value of a JsonDocument, and what one may ask it. What is not as asked for is an Error that
// says where: `what` is the value's name for messages.
//
// Thread safety: as reading the document.

#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/text/json.h"

namespace catamaran {

class JsonView {
 public:
  explicit JsonView(const JsonDocument& document, size_t at = 0) : document_(&document), at_(at) {}

  const JsonNode& node() const { return document_->nodes()[at_]; }
  JsonKind kind() const { return node().kind; }
  // As it is written; of a string, its characters.
  std::string_view text() const { return node().text; }

  // visit(JsonView element) for each.
  template <class Visit>
  void Elements(std::string_view what, const Visit& visit) const {
    Want(JsonKind::kArray, what);
    for (size_t i = at_ + 1; i < node().end; i = document_->nodes()[i].end) {
      visit(JsonView(*document_, i));
    }
  }
  // visit(std::string_view name, JsonView value) for each.
  template <class Visit>
  void Members(std::string_view what, const Visit& visit) const {
    Want(JsonKind::kObject, what);
    for (size_t i = at_ + 1; i < node().end; i = document_->nodes()[i + 1].end) {
      visit(document_->nodes()[i].text, JsonView(*document_, i + 1));
    }
  }

  std::string Text(std::string_view what) const {
    Want(JsonKind::kString, what);
    return std::string(text());
  }
  bool Bool(std::string_view what) const {
    if (kind() != JsonKind::kTrue) Want(JsonKind::kFalse, what);
    return kind() == JsonKind::kTrue;
  }
  // T is a number's type. An Error too if the number is out of range, or not whole where T is.
  template <class T>
  T Number(std::string_view what) const {
    Want(JsonKind::kNumber, what);
    T value = 0;
    const char* const end = text().data() + text().size();
    const auto [last, error] = std::from_chars(text().data(), end, value);
    if (error != std::errc() || last != end) {
      Fail("{}: {} is not a number that fits there", what, text().substr(0, 40));
    }
    return value;
  }

 private:
  void Want(JsonKind wanted, std::string_view what) const {
    if (kind() != wanted) Fail("{}: wanted {}, found {}", what, Describe(wanted), Describe(kind()));
  }

  const JsonDocument* document_;
  size_t at_;
};

// An Error if `text` is not JSON.
inline void ParseJson(JsonDocument& document, std::string_view text) {
  if (!document.Parse(text)) {
    Fail("the body is no JSON: {} at byte {}", document.error(), document.error_offset());
  }
}

}  // namespace catamaran
