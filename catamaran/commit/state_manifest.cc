// commit/state_manifest.cc

#include "catamaran/commit/state_manifest.h"

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/commit/manifest_reader.h"

namespace catamaran {
namespace {

constexpr std::string_view kMagic = "catamaran state ";

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
  ManifestReader reader(text, path);
  reader.Take(kMagic);
  const int version = reader.TakeNumber<int>('\n');
  // Before the checksum: a newer version may have moved that elsewhere.
  if (version > kStateFormatVersion) {
    Fail(ErrorCode::kStorage,
         "{}: the state has format version {}; this build reads versions up to {}", path, version,
         kStateFormatVersion);
  }
  StateManifest manifest;
  reader.Take("generation ");
  manifest.generation = reader.TakeNumber<uint64_t>('\n');
  while (reader.TryTake("file ")) {
    StateManifest::File file;
    file.name = reader.TakeFileName(' ');
    file.size = reader.TakeNumber<uint64_t>(' ');
    file.crc = reader.TakeNumber<uint32_t>('\n', 16);
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
