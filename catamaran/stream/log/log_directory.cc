#include "catamaran/stream/log/log_directory.h"

#include <algorithm>

#include "catamaran/stream/log/frame_reader.h"

namespace catamaran {

using namespace log_format;

namespace {

FoundSegment LookAtSegment(const FileSystem& fs, const std::string& path, LogOffset first) {
  FoundSegment found;
  found.first = first;
  found.path = path;
  const auto file = fs.OpenRead(path);
  found.bytes = file->size();
  std::vector<std::byte> head(std::min<uint64_t>(found.bytes, kHeadBytes));
  file->ReadExactly(0, head);
  try {
    found.head = LoadHead(head, path);
    if (found.head.first != first) {
      Fail(ErrorCode::kStorage, "{}: damaged: by its head it begins at {}; was it renamed?", path,
           found.head.first);
    }
  } catch (const Error& error) {
    found.problem = error.what();
  }
  return found;
}

// How far the log had been synced by what whole records say that begin at or behind `from`.
LogOffset DurableBehind(const FileSystem& fs, uint64_t id, const FoundSegment& found,
                        LogOffset from) {
  const LogSegment segment = OpenSegment(fs, found);
  FrameSearch search(id, segment);
  LogRecord record;
  LogOffset durable = 0;
  for (LogOffset said = 0; search.Next(from, record, &said); from = record.next) {
    durable = std::max(durable, said);
  }
  return durable;
}

void CheckNoOverlap(const FoundSegment& segment, const FoundSegment& next) {
  if (segment.end() <= next.first) return;
  Fail(ErrorCode::kStorage,
       "{}: damaged: it goes on beyond offset {}, where the next segment begins", segment.path,
       next.first);
}

// Everything before `upto`, of which nothing but the heads is read, is there.
void CheckChain(const std::string& directory, const FoundLog& log, size_t upto) {
  for (size_t i = 0; i <= upto; ++i) {
    const FoundSegment& segment = log.segments[i];
    if (!segment.problem.empty()) Fail(ErrorCode::kStorage, "{}", segment.problem);
    if (i == upto) return;
    const FoundSegment& next = log.segments[i + 1];
    if (segment.end() < next.first) {
      Fail(ErrorCode::kStorage,
           "{}: the log is not whole: {} ends at {}, and the next segment begins at {}", directory,
           segment.path, segment.end(), next.first);
    }
    CheckNoOverlap(segment, next);
  }
}

}  // namespace

LogSegment OpenSegment(const FileSystem& fs, const FoundSegment& found) {
  LogSegment segment;
  segment.file = fs.OpenRead(found.path);
  segment.first = found.first;
  segment.end = found.end();
  segment.sealed = true;
  return segment;
}

FoundLog FindLog(const FileSystem& fs, const std::string& directory) {
  FoundLog log;
  if (!fs.Exists(directory)) return log;
  for (const std::string& name : fs.List(directory)) {
    if (const auto first = ParseSegmentName(name)) {
      log.segments.push_back(LookAtSegment(fs, JoinPath(directory, name), *first));
    }
  }
  if (log.segments.empty()) return log;
  std::sort(log.segments.begin(), log.segments.end(),
            [](const FoundSegment& a, const FoundSegment& b) { return a.first < b.first; });
  const FoundSegment* named = nullptr;
  for (const FoundSegment& segment : log.segments) {
    if (!segment.problem.empty()) continue;
    if (named != nullptr && named->head.id != segment.head.id) {
      Fail(ErrorCode::kStorage, "{}: {} and {} are of different logs", directory, named->path,
           segment.path);
    }
    named = &segment;
  }
  if (named == nullptr) Fail(ErrorCode::kStorage, "{}", log.segments.front().problem);
  log.id = named->head.id;
  return log;
}

void LookAtLog(const FileSystem& fs, const std::string& directory,
               FunctionRef<void(const FoundLog&)> look) {
  if (!fs.IsDirectory(directory)) Fail("{}: there is no such directory", directory);
  while (true) {
    const std::vector<std::string> before = fs.List(directory);
    try {
      const FoundLog found = FindLog(fs, directory);
      if (found.segments.empty()) Fail("{}: there is no log here", directory);
      return look(found);
    } catch (const Error&) {
      if (fs.List(directory) == before) throw;
    }
  }
}

LogTail FindTail(const FileSystem& fs, const std::string& directory, const FoundLog& log,
                 LogOffset known) {
  const auto& segments = log.segments;
  // The newest segment whose head is there says up to where all was synced when it was begun.
  size_t newest = segments.size() - 1;
  while (!segments[newest].problem.empty()) --newest;  // FindLog saw that there is one
  LogTail tail;
  tail.checked_from = std::max({segments[newest].head.durable, segments.front().first, known});
  tail.newest_ns = segments[newest].head.newest_ns;
  // A segment that begins there need not have been synced, not even its head.
  size_t at_segment = newest;
  while (at_segment > 0 && segments[at_segment].first >= tail.checked_from) --at_segment;
  CheckChain(directory, log, at_segment);
  if (segments[at_segment].end() < tail.checked_from) {
    Fail(ErrorCode::kStorage,
         "{}: the log is not whole: {} ends at {}, and had been synced up to {}", directory,
         segments[at_segment].path, segments[at_segment].end(), tail.checked_from);
  }

  // Forward, record by record, to the first place where none follows.
  FrameReader reader(log.id);
  tail.end = tail.checked_from;
  size_t i = at_segment;
  for (;; ++i) {
    if (i + 1 < segments.size()) CheckNoOverlap(segments[i], segments[i + 1]);
    const LogSegment segment = OpenSegment(fs, segments[i]);
    LogRecord record;
    while (tail.end < segment.end && reader.Read(segment, tail.end, record) == FrameState::kWhole) {
      tail.end = record.next;
      tail.newest_ns = std::max(tail.newest_ns, record.time_ns);
    }
    if (i + 1 == segments.size() || tail.end != segment.end) break;
    if (tail.end != segments[i + 1].first || !segments[i + 1].problem.empty()) break;
  }

  // Then whatever is behind it.
  LogOffset durable = 0;
  for (size_t j = i; j < segments.size(); ++j) {
    const FoundSegment& segment = segments[j];
    const LogOffset from = j == i ? tail.end : segment.first;
    tail.bytes_beyond += j == i ? segment.end() - tail.end : segment.bytes;
    durable = std::max(durable, DurableBehind(fs, log.id, segment, from));
  }
  if (durable > tail.end) {
    tail.damage = fmt::format(
        "{}: damaged at offset {} (byte {} of the file): no whole record is there, and records up "
        "to {} had been synced",
        segments[i].path, tail.end, kHeadBytes + (tail.end - segments[i].first), durable);
    if (tail.end == segments[i].end() && i + 1 < segments.size()) {
      const FoundSegment& next = segments[i + 1];
      tail.damage = !next.problem.empty()
                        ? next.problem
                        : fmt::format(
                              "{}: damaged: it ends at offset {}, and the next segment "
                              "begins at {}; records up to {} had been synced",
                              segments[i].path, tail.end, next.first, durable);
    }
  }
  return tail;
}

void CheckExpected(const std::string& directory, const ExpectedLog& expected, uint64_t id,
                   LogOffset begin, LogOffset end) {
  if (expected.id != 0 && id != expected.id) {
    Fail(
        "{}: this is another log than the one that was learned from: its id is {:016x}, not "
        "{:016x}",
        directory, id, expected.id);
  }
  if (end < expected.reaches) {
    Fail(ErrorCode::kStorage,
         "{}: the log ends at {}, and a commit has learned from records up to {}: some are "
         "missing, or this is another log",
         directory, end, expected.reaches);
  }
  if (begin > expected.reaches && expected.reaches > 0) {
    Fail(ErrorCode::kStorage,
         "{}: the log begins at {}, and the newest commit has learned from records up to {}: those "
         "between are missing",
         directory, begin, expected.reaches);
  }
}

void CutTail(FileSystem& fs, const std::string& directory, const FoundLog& log, LogOffset end) {
  // From the back, so that whatever happens meanwhile what is left is one piece.
  const auto& segments = log.segments;
  size_t last = segments.size() - 1;
  while (last > 0 && (segments[last].first > end || !segments[last].problem.empty())) {
    fs.Remove(segments[last--].path);
  }
  if (last + 1 < segments.size()) fs.SyncDirectory(directory);
  if (segments[last].end() > end) {
    fs.Truncate(segments[last].path, kHeadBytes + (end - segments[last].first));
  }
}

}  // namespace catamaran
