#include "catamaran/stream/log/log_scan.h"

#include <algorithm>

#include "catamaran/stream/log/frame_reader.h"
#include "catamaran/stream/log/log_directory.h"

namespace catamaran {

using namespace log_format;

namespace {

class Scanner {
 public:
  Scanner(const FileSystem& fs, const FoundLog& found, const std::function<void(double)>& progress)
      : fs_(fs), found_(found), progress_(progress) {
    for (const FoundSegment& segment : found.segments) total_ += segment.bytes;
  }

  LogScan Scan(const std::string& directory) {
    scan_.id = found_.id;
    scan_.begin = found_.segments.front().first;
    LogOffset torn_from = UINT64_MAX;
    try {
      const LogTail tail = FindTail(fs_, directory, found_);
      if (tail.damage.empty()) {
        torn_from = tail.end;
        scan_.bytes_beyond = tail.bytes_beyond;
      } else {
        AddProblem(tail.damage);
      }
    } catch (const Error& error) {
      AddProblem(error.what());
    }
    for (size_t i = 0; i < found_.segments.size(); ++i) {
      const FoundSegment& segment = found_.segments[i];
      if (segment.first > torn_from) break;
      if (segment.first == torn_from && !segment.problem.empty()) break;
      if (!segment.problem.empty()) AddProblem(segment.problem);
      if (i > 0) CheckBefore(found_.segments[i - 1], segment);
      ScanSegment(segment, std::min(segment.end(), torn_from));
    }
    return std::move(scan_);
  }

 private:
  // Each thing that is wrong once.
  void AddProblem(const std::string& problem) {
    auto& all = scan_.problems;
    if (std::find(all.begin(), all.end(), problem) == all.end()) all.push_back(problem);
  }

  void CheckBefore(const FoundSegment& before, const FoundSegment& segment) {
    if (before.end() == segment.first) return;
    AddProblem(fmt::format("{}: it ends at offset {}, and the next segment begins at {}",
                           before.path, before.end(), segment.first));
  }

  void ScanSegment(const FoundSegment& found, LogOffset end) {
    ScannedSegment scanned{found.path, found.first, end, found.bytes, {}};
    try {
      LogSegment segment = OpenSegment(fs_, found);
      segment.end = end;
      FrameReader reader(found_.id);
      FrameSearch search(found_.id, segment);
      LogRecord record;
      for (LogOffset at = found.first; at < end;) {
        if (reader.Read(segment, at, record) == FrameState::kWhole) {
          Count(record, scanned);
          at = record.next;
          continue;
        }
        const LogOffset next = search.Next(at, record) ? record.offset : end;
        AddProblem(
            fmt::format("{}: damaged at offset {} (byte {} of the file): {} bytes are no records",
                        found.path, at, kHeadBytes + (at - found.first), next - at));
        at = next;
      }
    } catch (const Error& error) {
      AddProblem(error.what());
    }
    done_ += found.bytes;
    if (progress_) progress_(static_cast<double>(done_) / static_cast<double>(total_));
    scan_.end = std::max(scan_.end, end);
    scan_.segments.push_back(std::move(scanned));
  }

  void Count(const LogRecord& record, ScannedSegment& segment) {
    segment.records.Add(record);
    scan_.all.Add(record);
    scan_.types[record.type].Add(record);
  }

  const FileSystem& fs_;
  const FoundLog& found_;
  const std::function<void(double)>& progress_;
  LogScan scan_;
  uint64_t total_ = 0, done_ = 0;
};

}  // namespace

void ScannedRecords::Add(const LogRecord& record) {
  ++records;
  payload_bytes += record.payload.size();
  largest = std::max<uint64_t>(largest, record.payload.size());
  oldest_ns = std::min(oldest_ns, record.time_ns);
  newest_ns = std::max(newest_ns, record.time_ns);
}

LogScan ScanLog(const FileSystem& fs, const std::string& directory,
                const std::function<void(double)>& progress) {
  LogScan scan;
  LookAtLog(fs, directory, [&](const FoundLog& found) {
    scan = Scanner(fs, found, progress).Scan(directory);
    // A writer that drops segments meanwhile takes them away under the scan: look again.
    if (!scan.problems.empty()) {
      for (const FoundSegment& segment : found.segments) {
        if (!fs.Exists(segment.path)) Fail(ErrorCode::kStorage, "{}: it is gone", segment.path);
      }
    }
  });
  return scan;
}

}  // namespace catamaran
