// commit/commit_directory.h
//
// What lies in a state directory: which names are ours, which commits there are, and what may go.
//
//   commit-7                   the manifest of commit 7
//   dense-7.safetensors        params and vars at commit 7
//   table-feat-0-5.rows        all rows of @feat at commit 5
//   table-feat-5-7.rows        what changed in them from commit 5 to 7
//   cold-feat-7/               rows of @feat that its table keeps on disk, at commit 7
//   part-learner-7.bin         what another participant has at commit 7
//   CURRENT, tables-3.safetensors   a state of the first format
//   LOCK

#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/base/function_ref.h"
#include "catamaran/commit/commit_manifest.h"

namespace catamaran {

// A path as part of a file's name: as it is where it is short and plain.
std::string PathInFileName(std::string_view path);
std::string DenseFileName(uint64_t commit);
std::string RowFileName(std::string_view table, uint64_t from, uint64_t to);
std::string ColdDirectoryName(std::string_view table, uint64_t commit);
std::string PartFileName(std::string_view part, uint64_t commit);

// The commit in the name of one of our files; 0 for CURRENT. Nothing for names that are not ours.
std::optional<uint64_t> CommitOfName(std::string_view name);

// One that is there, whole or not.
struct FoundCommit {
  uint64_t commit = 0;
  std::string manifest_name;
  bool first_format = false;  // the manifest was made up from CURRENT; it knows no step
  CommitManifest manifest;
  std::string damage;  // why the manifest cannot be read; empty if it can
};

struct FoundCommits {
  std::vector<FoundCommit> commits;  // newest first
  uint64_t highest = 0;              // number in any of our names
};

// Reads the manifests, nothing else. None if the directory is missing.
FoundCommits FindCommits(const FileSystem& fs, const std::string& directory);

// Names that a commit needs, its manifest's among them.
void AddNames(const FoundCommit& commit, std::set<std::string>& names);

// Removes all of our names from the directory but those that are `in_use`; manifests first,
// durably, so that no manifest is left without its files. What cannot be removed stays for the next
// time: nobody looks at it.
//
// `in_use` is called after the directory was listed, and must have the name of a file from before
// the file is made: then files that others make meanwhile are not listed, or are in use.
void RemoveUnused(FileSystem& fs, const std::string& directory,
                  FunctionRef<std::set<std::string>()> in_use);

// Removes what was written for a commit that did not come about.
void RemoveFilesOf(FileSystem& fs, const std::string& directory, uint64_t commit);

// Passes everything on to another file and keeps size and checksum.
class CheckedFile final : public WritableFile {
 public:
  explicit CheckedFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  using WritableFile::Append;
  void Append(std::span<const std::byte> bytes) override;
  void Sync() override { file_->Sync(); }
  void Close() override { file_->Close(); }
  uint64_t size() const { return size_; }
  uint32_t crc() const { return crc_; }

 private:
  const std::unique_ptr<WritableFile> file_;
  uint64_t size_ = 0;
  uint32_t crc_ = 0;
};

// An Error that names the file unless it has the size and the checksum of all its bytes.
void CheckFile(const FileSystem& fs, const std::string& path, uint64_t size, uint32_t crc);

}  // namespace catamaran
