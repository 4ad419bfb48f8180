// commit/bytes_participant.cc

#include "catamaran/commit/bytes_participant.h"

#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/commit/commit_directory.h"

namespace catamaran {

BytesParticipant::BytesParticipant(FileSystem& fs, std::string directory, std::string name,
                                   Source source)
    : fs_(fs),
      directory_(std::move(directory)),
      name_(std::move(name)),
      source_(std::move(source)) {}

void BytesParticipant::Cut(uint64_t /*commit*/) { bytes_ = source_.cut(); }

CommitPart BytesParticipant::Prepare(uint64_t commit, uint64_t /*oldest_reader*/) {
  const std::string file_name = PartFileName(name_, commit);
  CheckedFile file(fs_.OpenWrite(JoinPath(directory_, file_name)));
  file.Append(bytes_);
  file.Sync();
  file.Close();
  if (source_.settle) source_.settle();
  return {name_, {{file_name, file.size(), file.crc(), 0, commit}}, {}, {}};
}

void BytesParticipant::End(uint64_t /*commit*/, bool /*kept*/) { std::string().swap(bytes_); }

std::string ReadBytesPart(const FileSystem& fs, const std::string& directory,
                          const CommitPart& part) {
  if (part.files.size() != 1) {
    Fail(ErrorCode::kStorage, "{}: damaged: part '{}' has {} files; it has 1", directory, part.name,
         part.files.size());
  }
  const std::string path = JoinPath(directory, part.files[0].name);
  CheckFile(fs, path, part.files[0].size, part.files[0].crc);
  return fs.ReadAll(path, part.files[0].size);
}

}  // namespace catamaran
