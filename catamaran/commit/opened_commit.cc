// commit/opened_commit.cc

#include "catamaran/commit/opened_commit.h"

#include "catamaran/base/error.h"
#include "catamaran/commit/committed_table.h"
#include "catamaran/commit/state_manifest.h"
#include "catamaran/commit/table_participant.h"

namespace catamaran {
namespace {

std::shared_ptr<const RowChain> OpenChain(const FileSystem& fs, const std::string& directory,
                                          const CommitPart& part, bool verify) {
  std::vector<RowFileRef> files;
  for (const CommitFile& file : part.files) {
    files.push_back(OpenRowFile(fs, directory, file, verify));
  }
  return std::make_shared<const RowChain>(std::move(files));
}

SafetensorsFile ReadChecked(const FileSystem& fs, const std::string& path, const CommitFile& file) {
  CheckFile(fs, path, file.size, file.crc);
  return ReadSafetensors(fs, path);
}

// Whether somebody has made or removed commits since.
bool Changed(const FoundCommits& before, const FoundCommits& now) {
  if (before.commits.size() != now.commits.size()) return true;
  for (size_t i = 0; i < now.commits.size(); ++i) {
    if (before.commits[i].commit != now.commits[i].commit) return true;
  }
  return false;
}

}  // namespace

OpenedCommit OpenCommit(const FileSystem& fs, const std::string& directory,
                        const FoundCommit& found, bool verify_rows) {
  if (!found.damage.empty()) Fail(ErrorCode::kStorage, "{}", found.damage);
  OpenedCommit opened;
  opened.found = found;
  bool has_dense = false;
  for (const CommitPart& part : found.manifest.parts) {
    if (part.name == kDensePart && part.files.size() == 1) {
      const std::string path = JoinPath(directory, part.files[0].name);
      opened.dense = ReadChecked(fs, path, part.files[0]);
      opened.summary = ReadDenseSummary(opened.dense.metadata, path);
      has_dense = true;
    } else if (found.first_format) {
      opened.first_format_rows =
          ReadChecked(fs, JoinPath(directory, part.files[0].name), part.files[0]);
    } else if (const std::string table(TableOfPart(part.name)); !table.empty()) {
      opened.tables[table] = OpenChain(fs, directory, part, verify_rows);
      for (const std::string& name : part.directories) {
        const std::string path = JoinPath(directory, name);
        if (!fs.IsDirectory(path))
          Fail(ErrorCode::kStorage, "{}: damaged: the directory is missing", path);
        opened.cold[table] = path;
      }
    } else {
      // Of a participant that is not known here: it counts whole or not at all too.
      for (const CommitFile& file : part.files) {
        CheckFile(fs, JoinPath(directory, file.name), file.size, file.crc);
      }
    }
  }
  if (!has_dense) {
    Fail(ErrorCode::kStorage, "{}: the manifest names no file of dense values",
         JoinPath(directory, found.manifest_name));
  }
  return opened;
}

OpenedCommit OpenCommit(const FileSystem& fs, const std::string& directory, uint64_t number,
                        bool verify_rows) {
  for (const FoundCommit& found : FindCommits(fs, directory).commits) {
    if (found.commit == number) return OpenCommit(fs, directory, found, verify_rows);
  }
  Fail("{}: there is no commit {}", directory, number);
}

OpenedCommit OpenNewestCommit(const FileSystem& fs, const std::string& directory,
                              bool verify_rows) {
  FoundCommits found = FindCommits(fs, directory);
  while (true) {
    if (found.commits.empty()) Fail("{}: no state was saved here", directory);
    std::vector<std::string> problems;
    for (const FoundCommit& commit : found.commits) {
      try {
        OpenedCommit opened = OpenCommit(fs, directory, commit, verify_rows);
        for (const std::string& problem : problems) {
          opened.warnings.push_back(
              fmt::format("{}; commit {} was loaded instead", problem, commit.commit));
        }
        return opened;
      } catch (const Error& error) {
        // An older commit would not make up for memory or descriptors.
        if (error.code() == ErrorCode::kResourceExhausted) throw;
        problems.push_back(
            fmt::format("{}: commit {} is not whole: {}", directory, commit.commit, error.what()));
      }
    }
    // A saver may remove the files that we are reading; then there are other commits by now.
    FoundCommits again = FindCommits(fs, directory);
    if (!Changed(found, again)) {
      if (problems.size() == 1) Fail(ErrorCode::kStorage, "{}", problems[0]);
      std::string all;
      for (const std::string& problem : problems) all += "\n  " + problem;
      Fail(ErrorCode::kStorage, "{}: no commit is whole:{}", directory, all);
    }
    found = std::move(again);
  }
}

}  // namespace catamaran
