// commit/committed_table.cc

#include "catamaran/commit/committed_table.h"

#include "catamaran/base/error.h"
#include "catamaran/commit/table_participant.h"

namespace catamaran {

RowFileRef OpenRowFile(const FileSystem& fs, const std::string& directory, const CommitFile& file,
                       bool verify_all) {
  RowFile::Options options;
  options.verify_all = verify_all;
  options.expected = {file.size, file.crc};
  return RowFile::Open(fs, JoinPath(directory, file.name), options);
}

CommittedTable OpenCommittedTable(const FileSystem& fs, const std::string& directory,
                                  const CommitPart& part) {
  CommittedTable table;
  for (const CommitFile& file : part.files) {
    table.files.push_back(OpenRowFile(fs, directory, file));
  }
  for (const CommitFile& file : part.kept) table.kept.push_back(OpenRowFile(fs, directory, file));
  if (table.files.empty()) {
    Fail(ErrorCode::kStorage, "{}: the manifest names no files of @{}", directory,
         TableOfPart(part.name));
  }
  if (!part.directories.empty()) table.cold = JoinPath(directory, part.directories.front());
  return table;
}

CommittedTable OpenCommittedTable(const FileSystem& fs, const std::string& directory,
                                  const CommitManifest& manifest, const std::string& table) {
  const CommitPart* part = manifest.Find(TablePart(table));
  if (part == nullptr) Fail("{}: commit {} has no table @{}", directory, manifest.commit, table);
  return OpenCommittedTable(fs, directory, *part);
}

}  // namespace catamaran
