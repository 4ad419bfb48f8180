// commit/commit_directory.cc

#include "catamaran/commit/commit_directory.h"

#include <algorithm>
#include <charconv>

#include "catamaran/base/crc32c.h"
#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/commit/state_manifest.h"

namespace catamaran {
namespace {

constexpr std::string_view kTemporary = ".tmp";
constexpr size_t kMaxManifestBytes = size_t{64} << 20;

bool TakePrefix(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

bool TakeSuffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

// The number after the last dash.
std::optional<uint64_t> LastNumber(std::string_view text) {
  const size_t dash = text.rfind('-');
  if (dash == text.npos) return {};
  return Number(text.substr(dash + 1));
}

// As a manifest of today. `manifest` has no step: that stands in the file of dense values.
CommitManifest FromFirstFormat(const StateManifest& old) {
  CommitManifest manifest;
  manifest.commit = old.generation;
  for (const StateManifest::File& file : old.files) {
    const bool dense = file.name.starts_with("dense-");
    manifest.parts.push_back({.name = dense ? "dense" : "tables",
                              .files = {{file.name, file.size, file.crc, 0, old.generation}},
                              .kept = {},
                              .directories = {}});
  }
  return manifest;
}

FoundCommit ReadManifest(const FileSystem& fs, const std::string& directory,
                         const std::string& name) {
  FoundCommit found;
  found.manifest_name = name;
  found.commit = CommitOfManifestName(name);
  found.first_format = name == kStateManifestName;
  const std::string path = JoinPath(directory, name);
  try {
    const std::string text = fs.ReadAll(path, kMaxManifestBytes);
    if (found.first_format) {
      found.manifest = FromFirstFormat(ParseStateManifest(text, path));
      found.commit = found.manifest.commit;
    } else {
      found.manifest = ParseCommitManifest(text, path);
      if (found.manifest.commit != found.commit) {
        Fail(ErrorCode::kStorage, "{}: it is the manifest of commit {}", path,
             found.manifest.commit);
      }
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kResourceExhausted) throw;  // it may well be whole
    found.damage = error.what();
  }
  return found;
}

void TryRemove(FileSystem& fs, const std::string& path) {
  try {
    RemoveTree(fs, path);
  } catch (const Error&) {
  }
}

}  // namespace

std::string PathInFileName(std::string_view path) {
  constexpr size_t kMost = 100;
  const bool plain =
      !path.empty() && path.size() <= kMost && std::all_of(path.begin(), path.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.';
      });
  if (plain) return std::string(path);
  // "~" is in no plain one, so the two kinds cannot meet.
  return fmt::format("~{:016x}", HashString(path));
}

std::string DenseFileName(uint64_t commit) { return fmt::format("dense-{}.safetensors", commit); }

std::string RowFileName(std::string_view table, uint64_t from, uint64_t to) {
  return fmt::format("table-{}-{}-{}.rows", PathInFileName(table), from, to);
}

std::string ColdDirectoryName(std::string_view table, uint64_t commit) {
  return fmt::format("cold-{}-{}", PathInFileName(table), commit);
}

std::string PartFileName(std::string_view part, uint64_t commit) {
  return fmt::format("part-{}-{}.bin", PathInFileName(part), commit);
}

std::optional<uint64_t> CommitOfName(std::string_view name) {
  TakeSuffix(name, kTemporary);
  if (name == kStateManifestName) return 0;
  if (TakePrefix(name, "commit-")) return Number(name);
  if (TakePrefix(name, "dense-") || TakePrefix(name, "tables-")) {
    if (!TakeSuffix(name, ".safetensors")) return {};
    return Number(name);
  }
  if (TakePrefix(name, "table-")) {
    if (!TakeSuffix(name, ".rows")) return {};
    return LastNumber(name);
  }
  if (TakePrefix(name, "cold-")) return LastNumber(name);
  if (TakePrefix(name, "part-")) {
    if (!TakeSuffix(name, ".bin")) return {};
    return LastNumber(name);
  }
  return {};
}

FoundCommits FindCommits(const FileSystem& fs, const std::string& directory) {
  FoundCommits found;
  if (!fs.IsDirectory(directory)) return found;
  for (const std::string& name : fs.List(directory)) {
    const std::optional<uint64_t> commit = CommitOfName(name);
    if (!commit) continue;
    found.highest = std::max(found.highest, *commit);
    if (name == kStateManifestName || CommitOfManifestName(name) != 0) {
      found.commits.push_back(ReadManifest(fs, directory, name));
      found.highest = std::max(found.highest, found.commits.back().commit);
    }
  }
  std::stable_sort(found.commits.begin(), found.commits.end(),
                   [](const auto& a, const auto& b) { return a.commit > b.commit; });
  return found;
}

void AddNames(const FoundCommit& commit, std::set<std::string>& names) {
  names.insert(commit.manifest_name);
  for (const CommitPart& part : commit.manifest.parts) {
    for (const CommitFile& file : part.files) names.insert(file.name);
    for (const CommitFile& file : part.kept) names.insert(file.name);
    names.insert(part.directories.begin(), part.directories.end());
  }
}

void RemoveUnused(FileSystem& fs, const std::string& directory,
                  FunctionRef<std::set<std::string>()> in_use) {
  try {
    const std::vector<std::string> listed = fs.List(directory);
    const std::set<std::string> keep = in_use();
    std::vector<std::string> manifests, others;
    for (const std::string& name : listed) {
      if (!CommitOfName(name) || keep.contains(name)) continue;
      const bool manifest = name == kStateManifestName || CommitOfManifestName(name) != 0;
      (manifest ? manifests : others).push_back(name);
    }
    for (const std::string& name : manifests) fs.Remove(JoinPath(directory, name));
    if (!manifests.empty()) fs.SyncDirectory(directory);
    for (const std::string& name : others) RemoveTree(fs, JoinPath(directory, name));
  } catch (const Error&) {
  }
}

void RemoveFilesOf(FileSystem& fs, const std::string& directory, uint64_t commit) {
  std::vector<std::string> names;
  try {
    names = fs.List(directory);
  } catch (const Error&) {
    return;
  }
  const std::string manifest = CommitManifestName(commit);
  if (std::find(names.begin(), names.end(), manifest) != names.end()) {
    // It got its name, and only making that durable failed: without its files it must not stay.
    try {
      fs.Remove(JoinPath(directory, manifest));
      fs.SyncDirectory(directory);
    } catch (const Error&) {
      return;
    }
  }
  for (const std::string& name : names) {
    if (name != manifest && CommitOfName(name) == commit) TryRemove(fs, JoinPath(directory, name));
  }
}

void CheckedFile::Append(std::span<const std::byte> bytes) {
  file_->Append(bytes);
  size_ += bytes.size();
  crc_ = Crc32c(bytes, crc_);
}

void CheckFile(const FileSystem& fs, const std::string& path, uint64_t size, uint32_t crc) {
  const auto file = fs.OpenRead(path);
  if (file->size() != size) {
    Fail(ErrorCode::kStorage, "{}: damaged: it has {} bytes; {} were saved", path, file->size(),
         size);
  }
  std::vector<std::byte> buffer(size_t{1} << 20);
  uint32_t found = 0;
  for (uint64_t at = 0; at < size;) {
    const size_t count = file->Read(at, buffer);
    if (count == 0)
      Fail(ErrorCode::kStorage, "{}: damaged: it ends at byte {} of {}", path, at, size);
    found = Crc32c(std::span(buffer).first(count), found);
    at += count;
  }
  if (found != crc)
    Fail(ErrorCode::kStorage, "{}: damaged: its checksum is {:08x}; {:08x} was saved", path, found,
         crc);
}

}  // namespace catamaran
