// commit/manifest_reader.h
//
// Takes words off the front of a manifest's text and checks them: what both versions of the format
// share. Whatever is not as expected is an Error that begins with the file's path.

#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "catamaran/base/error.h"

namespace catamaran {

class ManifestReader {
 public:
  // REQUIRES: both outlive the reader.
  ManifestReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  bool TryTake(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void Take(std::string_view word) {
    if (!TryTake(word)) FailForm();
  }
  // Up to `end`, which is taken too.
  std::string_view TakeUntil(char end) {
    const size_t at = text_.find(end);
    if (at == text_.npos || at == 0) FailForm();
    const std::string_view word = text_.substr(0, at);
    text_.remove_prefix(at + 1);
    return word;
  }
  template <class T>
  T TakeNumber(char end, int base = 10) {
    const std::string_view word = TakeUntil(end);
    T value{};
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc() || last != word.data() + word.size()) FailForm();
    return value;
  }
  // A name in this directory, not a way out of it.
  std::string TakeFileName(char end) {
    std::string name(TakeUntil(end));
    if (name.find('/') != name.npos || name.starts_with('.')) FailForm();
    return name;
  }
  // "text" with its escapes; whoever parses compares with what formatting gives, so other spellings
  // need no care here.
  std::string TakeQuoted() {
    Take("\"");
    std::string out;
    while (true) {
      if (text_.empty()) FailForm();
      char c = text_.front();
      text_.remove_prefix(1);
      if (c == '"') return out;
      if (c == '\\') {
        if (text_.empty()) FailForm();
        c = text_.front();
        text_.remove_prefix(1);
        if (c == 'x') {
          if (text_.size() < 2) FailForm();
          unsigned value = 0;
          std::from_chars(text_.data(), text_.data() + 2, value, 16);
          text_.remove_prefix(2);
          c = static_cast<char>(value);
        }
      }
      out += c;
    }
  }
  bool done() const { return text_.empty(); }
  size_t left() const { return text_.size(); }
  [[noreturn]] void FailForm() const {
    Fail(ErrorCode::kStorage, "{}: not the manifest of a state: it is damaged, or another file",
         path_);
  }

 private:
  std::string_view text_;
  const std::string& path_;
};

}  // namespace catamaran
