// commit/commit_manifest.cc

#include "catamaran/commit/commit_manifest.h"

#include <charconv>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/commit/manifest_reader.h"

namespace catamaran {
namespace {

constexpr std::string_view kMagic = "catamaran state ";
constexpr std::string_view kNamePrefix = "commit-";

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string FormatFile(std::string_view word, const CommitFile& file) {
  return fmt::format("{} {} {} {:08x} {} {}\n", word, file.name, file.size, file.crc, file.from,
                     file.to);
}

CommitFile TakeFile(ManifestReader& reader) {
  CommitFile file;
  file.name = reader.TakeFileName(' ');
  file.size = reader.TakeNumber<uint64_t>(' ');
  file.crc = reader.TakeNumber<uint32_t>(' ', 16);
  file.from = reader.TakeNumber<uint64_t>(' ');
  file.to = reader.TakeNumber<uint64_t>('\n');
  return file;
}

std::string TakeQuoted(ManifestReader& reader, char end) {
  std::string text = reader.TakeQuoted();
  reader.Take(std::string_view(&end, 1));
  return text;
}

void TakeMap(ManifestReader& reader, std::string_view word,
             std::map<std::string, std::string>& map) {
  while (reader.TryTake(word)) {
    std::string key = TakeQuoted(reader, ' ');
    map[std::move(key)] = TakeQuoted(reader, '\n');
  }
}

}  // namespace

const CommitPart* CommitManifest::Find(std::string_view part) const {
  for (const CommitPart& found : parts) {
    if (found.name == part) return &found;
  }
  return nullptr;
}

std::string CommitManifestName(uint64_t commit) { return fmt::format("{}{}", kNamePrefix, commit); }

uint64_t CommitOfManifestName(std::string_view name) {
  if (!name.starts_with(kNamePrefix)) return 0;
  name.remove_prefix(kNamePrefix.size());
  uint64_t commit = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), commit);
  return error == std::errc() && end == name.data() + name.size() ? commit : 0;
}

std::string FormatCommitManifest(const CommitManifest& manifest) {
  std::string text =
      fmt::format("{}{}\ncommit {}\nstep {}\ntime {}\n", kMagic, kCommitFormatVersion,
                  manifest.commit, manifest.step, manifest.event_time);
  for (const auto& [key, value] : manifest.info) {
    text += fmt::format("info {} {}\n", Quoted(key), Quoted(value));
  }
  for (const auto& [key, value] : manifest.positions) {
    text += fmt::format("position {} {}\n", Quoted(key), Quoted(value));
  }
  for (const auto& [name, commit] : manifest.readers) {
    text += fmt::format("reader {} {}\n", Quoted(name), commit);
  }
  for (const CommitPart& part : manifest.parts) {
    text += fmt::format("part {}\n", Quoted(part.name));
    for (const CommitFile& file : part.files) text += FormatFile("file", file);
    for (const CommitFile& file : part.kept) text += FormatFile("kept", file);
    for (const std::string& name : part.directories) text += fmt::format("directory {}\n", name);
  }
  text += fmt::format("check {:08x}\n", Crc32c(text));
  return text;
}

CommitManifest ParseCommitManifest(std::string_view text, const std::string& path) {
  ManifestReader reader(text, path);
  reader.Take(kMagic);
  const int version = reader.TakeNumber<int>('\n');
  // Before the checksum: a newer version may have moved that elsewhere.
  if (version > kCommitFormatVersion) {
    Fail(ErrorCode::kStorage,
         "{}: the state has format version {}; this build reads versions up to {}", path, version,
         kCommitFormatVersion);
  }
  CommitManifest manifest;
  reader.Take("commit ");
  manifest.commit = reader.TakeNumber<uint64_t>('\n');
  reader.Take("step ");
  manifest.step = reader.TakeNumber<int64_t>('\n');
  reader.Take("time ");
  manifest.event_time = reader.TakeNumber<int64_t>('\n');
  TakeMap(reader, "info ", manifest.info);
  TakeMap(reader, "position ", manifest.positions);
  while (reader.TryTake("reader ")) {
    std::string name = TakeQuoted(reader, ' ');
    manifest.readers[std::move(name)] = reader.TakeNumber<uint64_t>('\n');
  }
  while (reader.TryTake("part ")) {
    CommitPart part;
    part.name = TakeQuoted(reader, '\n');
    while (reader.TryTake("file ")) part.files.push_back(TakeFile(reader));
    while (reader.TryTake("kept ")) part.kept.push_back(TakeFile(reader));
    while (reader.TryTake("directory ")) part.directories.push_back(reader.TakeFileName('\n'));
    manifest.parts.push_back(std::move(part));
  }
  const std::string_view checked = text.substr(0, text.size() - reader.left());
  reader.Take("check ");
  const uint32_t crc = reader.TakeNumber<uint32_t>('\n', 16);
  // Formatting again also refuses other spellings of the same.
  if (!reader.done() || crc != Crc32c(checked) || FormatCommitManifest(manifest) != text) {
    reader.FailForm();
  }
  return manifest;
}

}  // namespace catamaran
