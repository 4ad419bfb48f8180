// commit/increments.cc

#include "catamaran/commit/increments.h"

#include "catamaran/base/error.h"
#include "catamaran/commit/table_participant.h"
#include "catamaran/table/files/row_chain.h"

namespace catamaran {
namespace {

const CommitPart& PartOf(const std::string& directory, const CommitManifest& manifest,
                         const std::string& table) {
  const CommitPart* part = manifest.Find(TablePart(table));
  if (part == nullptr) Fail("{}: commit {} has no table @{}", directory, manifest.commit, table);
  if (!part->directories.empty()) {
    Fail("{}: rows of @{} lie in a store on disk, of which there are no increments", directory,
         table);
  }
  return *part;
}

void Open(const FileSystem& fs, const std::string& directory, const std::vector<CommitFile>& files,
          std::vector<RowFileRef>& out) {
  for (const CommitFile& file : files) {
    RowFile::Options options;
    options.expected = {file.size, file.crc};
    out.push_back(RowFile::Open(fs, JoinPath(directory, file.name), options));
  }
}

}  // namespace

bool WriteTableIncrement(FileSystem& fs, const std::string& directory,
                         const CommitManifest& manifest, const std::string& table, uint64_t since,
                         const std::string& path, std::string* why) {
  const CommitPart& part = PartOf(directory, manifest, table);
  std::vector<RowFileRef> files;
  Open(fs, directory, part.kept, files);
  Open(fs, directory, part.files, files);
  RowFileMark mark;
  return WriteIncrement(fs, path, files, static_cast<int64_t>(since), why, &mark);
}

void WriteTableSnapshot(FileSystem& fs, const std::string& directory,
                        const CommitManifest& manifest, const std::string& table,
                        const std::string& path) {
  std::vector<RowFileRef> files;
  Open(fs, directory, PartOf(directory, manifest, table).files, files);
  CompactChain(fs, path, RowChain(std::move(files)));
}

}  // namespace catamaran
