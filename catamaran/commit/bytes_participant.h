// commit/bytes_participant.h
//
// Anything that is saved as bytes, in a commit: one file. What goes along with a state and is
// neither params nor tables (how far a stream was read, and what waits) is committed so.

#pragma once

#include <functional>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/commit/participant.h"

namespace catamaran {

class BytesParticipant final : public CommitParticipant {
 public:
  struct Source {
    // Between two steps: the bytes as they are now.
    std::function<std::string()> cut;
    // Later, before the commit can come about: returns when what the bytes rely on is durable, or
    // throws. May be empty.
    std::function<void()> settle;
  };
  // `name` is that of the part; `fs` and what `source` uses outlive this.
  BytesParticipant(FileSystem& fs, std::string directory, std::string name, Source source);

  const std::string& name() const override { return name_; }
  void Cut(uint64_t commit) override;
  CommitPart Prepare(uint64_t commit, uint64_t oldest_reader) override;
  void End(uint64_t commit, bool kept) override;

 private:
  FileSystem& fs_;
  const std::string directory_;
  const std::string name_;
  const Source source_;
  std::string bytes_;
};

// What such a participant saved. An Error if the file is damaged.
std::string ReadBytesPart(const FileSystem& fs, const std::string& directory,
                          const CommitPart& part);

}  // namespace catamaran
