// commit/state_manifest.cc

#include "catamaran/commit/state_manifest.h"

#include <charconv>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr std::string_view kMagic = "catamaran state ";

// Takes words off the front of a text and checks them.
class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

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
  bool done() const { return text_.empty(); }
  size_t left() const { return text_.size(); }
  [[noreturn]] void FailForm() const {
    Fail("{}: not the manifest of a state: it is damaged, or another file", path_);
  }

 private:
  std::string_view text_;
  const std::string& path_;
};

}  // namespace

std::string FormatStateManifest(const StateManifest& manifest) {
  std::string text =
      fmt::format("{}{}\ngeneration {}\n", kMagic, kStateFormatVersion, manifest.generation);
  for (const StateManifest::File& file : manifest.files) {
    text += fmt::format("file {} {} {:08x}\n", file.name, file.size, file.crc);
  }
  text += fmt::format("check {:08x}\n", Crc32c(text));
  return text;
}

StateManifest ParseStateManifest(std::string_view text, const std::string& path) {
  Reader reader(text, path);
  reader.Take(kMagic);
  const int version = reader.TakeNumber<int>('\n');
  // Before the checksum: a newer version may have moved that elsewhere.
  if (version > kStateFormatVersion) {
    Fail("{}: the state has format version {}; this build reads versions up to {}", path, version,
         kStateFormatVersion);
  }
  StateManifest manifest;
  reader.Take("generation ");
  manifest.generation = reader.TakeNumber<uint64_t>('\n');
  while (reader.TryTake("file ")) {
    StateManifest::File file;
    file.name = reader.TakeUntil(' ');
    file.size = reader.TakeNumber<uint64_t>(' ');
    file.crc = reader.TakeNumber<uint32_t>('\n', 16);
    if (file.name.find('/') != file.name.npos || file.name.starts_with('.')) reader.FailForm();
    manifest.files.push_back(std::move(file));
  }
  const std::string_view checked = text.substr(0, text.size() - reader.left());
  reader.Take("check ");
  const uint32_t crc = reader.TakeNumber<uint32_t>('\n', 16);
  // Formatting again also refuses other spellings of the same numbers.
  if (!reader.done() || crc != Crc32c(checked) || FormatStateManifest(manifest) != text) {
    reader.FailForm();
  }
  return manifest;
}

}  // namespace catamaran
