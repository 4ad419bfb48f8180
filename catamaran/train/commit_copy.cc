// train/commit_copy.cc

#include "catamaran/train/commit_copy.h"

#include <algorithm>
#include <set>

#include "catamaran/base/error.h"
#include "catamaran/commit/commit_directory.h"

namespace catamaran {
namespace {

void CopyFile(FileSystem& fs, const std::string& from, const std::string& to) {
  constexpr size_t kChunk = size_t{1} << 20;
  const auto in = fs.OpenRead(from);
  const auto out = fs.OpenWrite(to);
  std::vector<std::byte> chunk(static_cast<size_t>(std::min<uint64_t>(kChunk, in->size())));
  for (uint64_t at = 0; at < in->size(); at += chunk.size()) {
    const size_t size = static_cast<size_t>(std::min<uint64_t>(chunk.size(), in->size() - at));
    in->ReadExactly(at, {chunk.data(), size});
    out->Append(std::span<const std::byte>(chunk.data(), size));
  }
  out->Sync();
  out->Close();
}

void CopyTree(FileSystem& fs, const std::string& from, const std::string& to) {
  fs.MakeDirectory(to);
  for (const std::string& name : fs.List(from)) {
    const std::string source = JoinPath(from, name), target = JoinPath(to, name);
    if (fs.IsDirectory(source)) {
      CopyTree(fs, source, target);
    } else {
      CopyFile(fs, source, target);
    }
  }
  fs.SyncDirectory(to);
}

// Whether a commit that is whole as far as its manifest says has exactly this file.
bool HasFile(const FoundCommits& found, const FileSystem& fs, const std::string& directory,
             const CommitFile& file) {
  for (const FoundCommit& commit : found.commits) {
    if (!commit.damage.empty()) continue;
    for (const CommitPart& part : commit.manifest.parts) {
      if (std::find(part.files.begin(), part.files.end(), file) == part.files.end()) continue;
      return fs.Exists(JoinPath(directory, file.name));
    }
  }
  return false;
}

}  // namespace

void CopyCommit(FileSystem& fs, const std::string& from, uint64_t commit, const std::string& to) {
  FoundCommits sources = FindCommits(fs, from);
  const auto source = std::find_if(
      sources.commits.begin(), sources.commits.end(),
      [&](const FoundCommit& found) { return found.commit == commit && found.damage.empty(); });
  if (source == sources.commits.end()) Fail("{}: there is no commit {} to copy", from, commit);
  fs.MakeDirectories(to);
  const FoundCommits before = FindCommits(fs, to);
  FoundCommit copy = *source;
  copy.manifest.readers.clear();
  for (CommitPart& part : copy.manifest.parts) {
    part.kept.clear();
    for (const CommitFile& file : part.files) {
      if (HasFile(before, fs, to, file)) continue;
      CopyFile(fs, JoinPath(from, file.name), JoinPath(to, file.name));
    }
    for (const std::string& name : part.directories) {
      RemoveTree(fs, JoinPath(to, name));
      CopyTree(fs, JoinPath(from, name), JoinPath(to, name));
    }
  }
  fs.SyncDirectory(to);
  WriteFileAtomically(fs, JoinPath(to, copy.manifest_name), FormatCommitManifest(copy.manifest));
  std::set<std::string> keep;
  AddNames(copy, keep);
  RemoveUnused(fs, to, [&] { return keep; });
}

}  // namespace catamaran
