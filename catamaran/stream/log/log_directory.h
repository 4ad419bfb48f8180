// stream/log/log_directory.h
//
// What lies in a log's directory, and how much of its end is whole.
//
// A process or a machine that stops leaves an end of the log that was not synced: cut off anywhere,
// or with holes where pages did not reach the disk. That much may be cut. What had been synced is
// another matter: there, wrong bytes are damage. The two are told apart by what the records
// themselves say: each knows how far the log had been synced when it was written, and so does the
// head of each segment. If a whole record behind the wrong bytes says that these had been synced,
// they are damaged.
//
// Thread safety: these are functions of the files.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/base/function_ref.h"
#include "catamaran/stream/log/log_contents.h"
#include "catamaran/stream/log/log_format.h"

namespace catamaran {

struct FoundSegment {
  LogOffset first = 0;  // by its name
  std::string path;
  uint64_t bytes = 0;            // of the file
  log_format::SegmentHead head;  // where `problem` is empty
  std::string problem;           // of the head
  LogOffset end() const {
    return first + (bytes < log_format::kHeadBytes ? 0 : bytes - log_format::kHeadBytes);
  }
};

struct FoundLog {
  uint64_t id = 0;
  std::vector<FoundSegment> segments;  // by `first`; empty: there is no log
};

// The segments in a directory, which may be missing. An Error if none of them says which log this
// is, or two say different things.
FoundLog FindLog(const FileSystem& fs, const std::string& directory);

// Calls `look` with what there is; again where that failed and a writer has changed the segments
// meanwhile. An Error if there is no log.
void LookAtLog(const FileSystem& fs, const std::string& directory,
               FunctionRef<void(const FoundLog&)> look);

// As it was found: what was added since is not seen.
LogSegment OpenSegment(const FileSystem& fs, const FoundSegment& found);

// The end of a log, looked at from `checked_from` on: everything before was synced.
struct LogTail {
  LogOffset checked_from = 0;
  LogOffset end = 0;              // of what is whole
  int64_t newest_ns = INT64_MIN;  // the largest time of a record before `end`, or of one cut off
  uint64_t bytes_beyond = 0;      // in files, behind `end`
  // Why opening must refuse; empty: what is behind `end` was not synced, and may be cut.
  std::string damage;
};

// An Error if segments are missing or do not fit together before `checked_from`. Records before
// `known`, where somebody has seen them whole, are not looked at again.
// REQUIRES: there is a segment.
LogTail FindTail(const FileSystem& fs, const std::string& directory, const FoundLog& log,
                 LogOffset known = 0);

// What whoever has read a log before expects to find again.
struct ExpectedLog {
  uint64_t id = 0;        // 0: any
  LogOffset reaches = 0;  // it was read up to here, and is read on from here
};

// An Error unless the log from `begin` to `end` is the one that is expected.
void CheckExpected(const std::string& directory, const ExpectedLog& expected, uint64_t id,
                   LogOffset begin, LogOffset end);

// Cuts the files behind `end`. The names left are durable. REQUIRES: no damage.
void CutTail(FileSystem& fs, const std::string& directory, const FoundLog& log, LogOffset end);

}  // namespace catamaran
