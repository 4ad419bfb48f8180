// stream/log/log_scan.h
//
// Reads all of a log and says what is in it and what is wrong with it. It changes nothing and goes
// on behind damage.
//
// Thread safety: a function of the files.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/stream/log/log.h"

namespace catamaran {

struct ScannedRecords {
  uint64_t records = 0;
  uint64_t payload_bytes = 0;
  uint64_t largest = 0;  // payload
  int64_t oldest_ns = INT64_MAX, newest_ns = INT64_MIN;

  void Add(const LogRecord& record);
};

struct ScannedSegment {
  std::string path;
  LogOffset first = 0, end = 0;
  uint64_t bytes = 0;  // of the file
  ScannedRecords records;
};

struct LogScan {
  uint64_t id = 0;
  LogOffset begin = 0, end = 0;
  std::vector<ScannedSegment> segments;
  std::map<uint8_t, ScannedRecords> types;
  ScannedRecords all;
  // Behind the last whole record and not synced: being written, or cut off.
  uint64_t bytes_beyond = 0;
  // What is damaged or missing, each with the file's name.
  std::vector<std::string> problems;
};

// `progress`, where given, hears of the part that is done, 0 to 1. An Error if there is no log.
LogScan ScanLog(const FileSystem& fs, const std::string& directory,
                const std::function<void(double)>& progress = nullptr);

}  // namespace catamaran
