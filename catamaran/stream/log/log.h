// stream/log/log.h
//
// A Log is one totally ordered sequence of records in a directory: appended at its end, followed by
// readers, read at any place, and dropped from its beginning when nobody needs it any more. What a
// served model learns from is in one (docs/formats/log.md has the bytes).
//
//   auto log = Log::Open(fs, "models/ctr/log", {});
//   const LogOffset end = log->Append(kFeedback, now, bytes);
//   log->WhenDurable(end, [](const Error* error) { … acknowledge, or say what went wrong … });
//
// What survives. Process death: every record whose Append returned. Power loss: every record before
// durable_end(); since there is one order, whoever is durable makes all before it durable too. When
// an append counts as acknowledged is the policy's choice (LogSync).
//
// A process that dies while it writes leaves a record cut off at the end. Open cuts such a tail and
// says so in recovery(). What is damaged though it had been synced is never cut: Open refuses it.
//
// A full disk, or the quota, refuses appends (LogFull) and nothing else: no record is lost, half a
// record is never seen, and appends go on when there is room again. A sync that fails ends
// appending for good, since nothing is known then of what is on the disk: appends and waits are
// Errors, reading goes on, and opening anew finds what is there.
//
// Thread safety: all methods may be called concurrently; a LogCursor is used by one thread at a
// time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/file.h"

namespace catamaran {

// A place between two records: bytes since the log began, whatever has been dropped since. Records
// begin at offsets that Append and Read gave, and nowhere else.
using LogOffset = uint64_t;

// The largest payload of a record.
inline constexpr size_t kMaxLogPayload = size_t{1} << 28;

struct LogRecord {
  LogOffset offset = 0;  // where it begins
  LogOffset next = 0;    // where the next one begins
  uint8_t type = 0;      // the user's
  int64_t time_ns = 0;   // the user's; the log only compares it for its age
  std::span<const std::byte> payload;
};

// The disk or the quota refused an append. The log is as it was before. The code is that of what
// the disk said: resource exhausted where there is no room, storage where it does not work.
class LogFull : public Error {
 public:
  explicit LogFull(const std::string& message, ErrorCode code = ErrorCode::kResourceExhausted)
      : Error(message, code) {}
};

// When WhenDurable's callback is called.
enum class LogSync : uint8_t {
  // After a sync that covers the record; all who wait meanwhile share the next one. What was
  // acknowledged survives a loss of power.
  kGroup,
  // At once; a sync follows within `interval`. Survives process death; a loss of power takes the
  // last interval.
  kInterval,
  // At once; the system writes when it likes. Survives process death only.
  kNever,
};

struct LogOptions {
  uint64_t segment_bytes = uint64_t{64} << 20;  // a file of about that size each
  uint64_t max_bytes = 0;                       // quota of all files together; 0: none
  LogSync sync = LogSync::kGroup;
  std::chrono::nanoseconds interval = std::chrono::milliseconds(100);
  // Somebody (a commit) knows that the log reached this far, durably. Open refuses a shorter one.
  LogOffset reaches = 0;
  // What a new log is called by itself; 0: chosen at random. An existing one keeps its own.
  uint64_t id = 0;
  // Not 0: Open refuses a log that has another id, as it is, and a new one takes this.
  uint64_t wanted_id = 0;
};

// What Open found at the end of the log.
struct LogRecovery {
  bool cut = false;  // something was cut off
  LogOffset at = 0;  // where
  uint64_t bytes = 0;
  std::string message;  // for the user; empty if nothing was cut
};

struct LogStats {
  uint64_t id = 0;
  LogOffset begin = 0, end = 0, durable_end = 0;
  uint64_t segments = 0;
  uint64_t bytes = 0;  // of all files
  // Since it was opened.
  uint64_t appended_records = 0, appended_bytes = 0;
  uint64_t refused = 0;  // appends that were LogFull
  uint64_t syncs = 0;
  int64_t sync_ns = 0;  // all of them together
  uint64_t dropped_bytes = 0;
  uint64_t waiting = 0;  // callbacks that have not been called yet
  int64_t newest_time_ns = 0;
  std::map<std::string, LogOffset> holds;
  std::string failure;  // of a sync; empty: none
};

class LogContents;

// Gives the records of a log in order, as they are appended: also those that are not durable yet.
class LogCursor {
 public:
  enum class Result : uint8_t { kRecord, kTimeout, kClosed };

  LogCursor(LogCursor&&) noexcept;
  LogCursor& operator=(LogCursor&&) noexcept;
  ~LogCursor();

  // The next record, once there is one; its payload is good until the next call. kTimeout after
  // waiting `timeout` in vain (0: without waiting). kClosed when all has been read and the log is
  // closed: there will be no more. An Error if what should come next is damaged or was dropped;
  // the cursor stays before it.
  Result Next(LogRecord& record, std::chrono::nanoseconds timeout);

  // Where the next record begins.
  LogOffset position() const;
  // REQUIRES: a record begins or ends there.
  void Seek(LogOffset offset);

 private:
  friend class Log;
  friend class LogReader;
  LogCursor(std::shared_ptr<LogContents> contents, LogOffset from);

  struct Inside;
  std::unique_ptr<Inside> inside_;
};

class Log {
 public:
  // Null: durable, as far as the policy asks. Else why it is not known to be.
  using Done = std::function<void(const Error* error)>;

  // Opens the log in `directory`, or makes one. Holds its lock (an Error if somebody else does).
  // `fs` outlives the log.
  static std::unique_ptr<Log> Open(FileSystem& fs, const std::string& directory,
                                   LogOptions options = {});
  // Closes.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Adds a record and returns where it ends, which is what to wait for; it begins where the one
  // before ended, `*begin` says where. When this returns, readers see it and it survives the
  // process. Throws LogFull where the disk or the quota refuses, an Error once a sync has failed
  // or the log is closed; then nothing was added.
  LogOffset Append(uint8_t type, int64_t time_ns, std::span<const std::byte> payload,
                   LogOffset* begin = nullptr);

  // Calls `done` once all records before `end` are acknowledged as the policy says, from the sync
  // thread or, where that is so already, from this call. `done` does not throw and does not wait.
  // It is called in any case, at the latest when the log closes.
  void WhenDurable(LogOffset end, Done done);

  // Returns when all records before `end` would survive a loss of power, whatever the policy;
  // throws if that cannot be. For those who write down elsewhere how far they have read: a commit.
  void WaitDurable(LogOffset end);

  uint64_t id() const;
  LogOffset begin() const;
  LogOffset end() const;
  LogOffset durable_end() const;
  const LogRecovery& recovery() const;

  // The record that begins at `offset`; its payload lies in `buffer`. An Error if none does, or if
  // it is damaged or was dropped.
  void Read(LogOffset offset, std::vector<std::byte>& buffer, LogRecord& record) const;

  // REQUIRES: a record begins or ends at `from`, and begin() <= from <= end().
  LogCursor Follow(LogOffset from);

  // Somebody needs the records from `from` on: they are not dropped while that is so. Calling again
  // moves it. An Error if they are gone already.
  void Hold(const std::string& who, LogOffset from);
  void Release(const std::string& who);

  // Drop whole segments from the beginning, of records that are durable and that nobody holds;
  // return how many bytes that gave back. DropBefore: those that end at or before `offset`. Retain:
  // the oldest while all files together have more than `max_bytes` (0: any number), and those
  // without a record as new as `oldest_ns`.
  uint64_t DropBefore(LogOffset offset);
  uint64_t Retain(uint64_t max_bytes, int64_t oldest_ns);

  // As in LogOptions, from now on. What there is stays. Reconfigure: the sizes, `sync` and
  // `interval`.
  void SetMaxBytes(uint64_t bytes);
  void Reconfigure(const LogOptions& options);

  LogStats stats() const;

  // Syncs what there is, calls the callbacks that wait, and ends following: cursors give what is
  // left and then kClosed. Appends are Errors from here on, and others may open it; reading goes
  // on.
  void Close();

 private:
  struct Inside;
  explicit Log(std::unique_ptr<Inside> inside);

  std::unique_ptr<Inside> inside_;
};

}  // namespace catamaran
