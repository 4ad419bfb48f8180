#include "catamaran/stream/log/log.h"

#include <algorithm>
#include <mutex>
#include <random>

#include "catamaran/stream/log/frame_reader.h"
#include "catamaran/stream/log/log_directory.h"
#include "catamaran/stream/log/log_format.h"
#include "catamaran/stream/log/log_syncer.h"
#include "catamaran/stream/log/segment_writer.h"

namespace catamaran {

using namespace log_format;

namespace {

constexpr const char* kLockName = "lock";

uint64_t RandomId() {
  std::random_device random;
  uint64_t id = 0;
  while (id == 0) id = (uint64_t{random()} << 32) | random();
  return id;
}

// A new log: one empty segment, all at once, so that a first segment always has its head.
FoundLog MakeLog(FileSystem& fs, const std::string& directory, uint64_t id) {
  const SegmentHead head{id == 0 ? RandomId() : id, 0, 0, INT64_MIN};
  WriteFileAtomically(fs, JoinPath(directory, SegmentName(0)), StoreHead(head));
  // Whoever made the directory may not have lived to sync its name.
  fs.SyncDirectory(ParentDirectory(directory));
  return FindLog(fs, directory);
}

}  // namespace

struct Log::Inside {
  FileSystem* fs = nullptr;
  std::string directory;
  LogOptions options;
  std::unique_ptr<FileLock> lock;
  LogRecovery recovery;
  std::shared_ptr<LogContents> contents;
  std::unique_ptr<LogSyncer> syncer;

  mutable std::mutex append_mutex;  // guards what follows
  std::unique_ptr<SegmentWriter> writer;
  std::vector<std::byte> frame;
  int64_t newest_ns = INT64_MIN;
  bool closed = false;
  uint64_t appended_records = 0, appended_bytes = 0, refused = 0;

  mutable std::mutex drop_mutex;  // guards what follows
  std::map<std::string, LogOffset> holds;
  uint64_t dropped_bytes = 0;

  void Recover();
  void MakeRoom(size_t bytes);
  uint64_t Drop(FunctionRef<bool(LogOffset end, int64_t newest_ns)> unwanted);
};

void Log::Inside::Recover() {
  FoundLog found = FindLog(*fs, directory);
  if (found.segments.empty()) {
    CheckExpected(directory, {0, options.reaches}, 0, 0, 0);
    found = MakeLog(*fs, directory, options.wanted_id != 0 ? options.wanted_id : options.id);
  }
  const LogTail tail = FindTail(*fs, directory, found);
  if (!tail.damage.empty()) Fail(ErrorCode::kStorage, "{}", tail.damage);
  CheckExpected(directory, {options.wanted_id, options.reaches}, found.id,
                found.segments.front().first, tail.end);
  const bool torn_segment = !found.segments.back().problem.empty();
  if (tail.bytes_beyond > 0 || torn_segment || found.segments.back().first > tail.end) {
    recovery.cut = true;
    recovery.at = tail.end;
    recovery.bytes = tail.bytes_beyond;
    recovery.message = fmt::format(
        "{}: cut {} bytes at the end of the log, from offset {} on: they were not synced when the "
        "process or the machine stopped",
        directory, recovery.bytes, recovery.at);
    CutTail(*fs, directory, found, tail.end);
    found = FindLog(*fs, directory);
  }
  contents = std::make_shared<LogContents>(*fs, directory, found.id);
  for (const FoundSegment& segment : found.segments) {
    contents->AddSegment(segment.first, segment.head.newest_ns);
  }
  contents->SetEnd(tail.end);
  newest_ns = tail.newest_ns;
  // What was found may still be in memory only, from a process that died.
  for (const FoundSegment& segment : found.segments) {
    if (segment.end() >= tail.checked_from) fs->OpenAppend(segment.path)->Sync();
  }
  fs->SyncDirectory(directory);
  syncer = std::make_unique<LogSyncer>(*fs, directory, options, tail.end,
                                       [of = contents.get()] { return of->end(); });
  const FoundSegment& last = found.segments.back();
  syncer->AddSegment(last.first, last.path, false);
  writer = std::make_unique<SegmentWriter>(*fs, directory, *syncer, last.first, tail.end);
}

std::unique_ptr<Log> Log::Open(FileSystem& fs, const std::string& directory, LogOptions options) {
  auto inside = std::make_unique<Inside>();
  inside->fs = &fs;
  inside->directory = directory;
  inside->options = options;
  fs.MakeDirectories(directory);
  inside->lock = fs.Lock(JoinPath(directory, kLockName));
  inside->Recover();
  return std::unique_ptr<Log>(new Log(std::move(inside)));
}

Log::Log(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Log::~Log() { Close(); }

// Begins a new segment where the record does not fit into this one.
void Log::Inside::MakeRoom(size_t bytes) {
  const uint64_t in_segment = kHeadBytes + (writer->end() - writer->first());
  const bool begin = writer->must_begin() || (writer->end() > writer->first() &&
                                              in_segment + bytes > options.segment_bytes);
  const uint64_t more = bytes + (begin ? kHeadBytes : 0);
  if (options.max_bytes > 0 && contents->bytes() + more > options.max_bytes) {
    throw LogFull(
        fmt::format("{}: nothing was added to the log: it has {} bytes, and its quota is "
                    "{}",
                    directory, contents->bytes(), options.max_bytes));
  }
  if (!begin) return;
  writer->BeginSegment({contents->id(), writer->end(), syncer->durable(), newest_ns});
  contents->AddSegment(writer->first(), newest_ns);
}

LogOffset Log::Append(uint8_t type, int64_t time_ns, std::span<const std::byte> payload,
                      LogOffset* begin) {
  Inside& in = *inside_;
  if (payload.size() > kMaxLogPayload) {
    Fail("{}: a record of {} bytes is too large for the log, which takes {}", in.directory,
         payload.size(), kMaxLogPayload);
  }
  std::lock_guard lock(in.append_mutex);
  if (in.closed) Fail(ErrorCode::kUnavailable, "{}: the log is closed", in.directory);
  if (in.syncer->failed()) Fail(ErrorCode::kStorage, "{}", in.syncer->failure());
  const size_t bytes = kFrameBytes + payload.size();
  try {
    in.MakeRoom(bytes);
    const LogOffset offset = in.writer->end();
    FrameHead head;
    head.payload_bytes = static_cast<uint32_t>(payload.size());
    head.time_ns = time_ns;
    head.behind =
        static_cast<uint32_t>(std::min<uint64_t>(offset - in.syncer->durable(), kFarBehind));
    head.type = type;
    in.frame.resize(bytes);
    StoreFrame(in.contents->id(), offset, head, payload, in.frame.data());
    in.writer->Append(in.frame);
    if (begin != nullptr) *begin = offset;
  } catch (const LogFull&) {
    ++in.refused;
    throw;
  }
  in.newest_ns = std::max(in.newest_ns, time_ns);
  ++in.appended_records;
  in.appended_bytes += bytes;
  in.contents->SetEnd(in.writer->end());
  in.syncer->Appended();
  return in.writer->end();
}

void Log::WhenDurable(LogOffset end, Done done) {
  if (end > this->end()) Fail("{}: the log does not reach {}", inside_->directory, end);
  inside_->syncer->WhenDurable(end, std::move(done));
}

void Log::WaitDurable(LogOffset end) {
  if (end > this->end()) Fail("{}: the log does not reach {}", inside_->directory, end);
  inside_->syncer->WaitDurable(end);
}

uint64_t Log::id() const { return inside_->contents->id(); }
LogOffset Log::begin() const { return inside_->contents->begin(); }
LogOffset Log::end() const { return inside_->contents->end(); }
LogOffset Log::durable_end() const { return inside_->syncer->durable(); }
const LogRecovery& Log::recovery() const { return inside_->recovery; }

void Log::Read(LogOffset offset, std::vector<std::byte>& buffer, LogRecord& record) const {
  ReadRecord(*inside_->contents, offset, buffer, record);
}

LogCursor Log::Follow(LogOffset from) { return LogCursor(inside_->contents, from); }

void Log::Hold(const std::string& who, LogOffset from) {
  std::lock_guard lock(inside_->drop_mutex);
  if (from < begin()) {
    Fail("{}: '{}' needs the log from {} on, and it begins at {}", inside_->directory, who, from,
         begin());
  }
  inside_->holds[who] = from;
}

void Log::Release(const std::string& who) {
  std::lock_guard lock(inside_->drop_mutex);
  inside_->holds.erase(who);
}

// Drops the oldest segments as long as `unwanted` says so of where one ends and of the newest time
// up to there.
uint64_t Log::Inside::Drop(FunctionRef<bool(LogOffset end, int64_t newest_ns)> unwanted) {
  std::lock_guard guard(drop_mutex);
  // The next segment has to be durable itself, or nobody would know where the log goes on.
  LogOffset most = syncer->durable_segment();
  for (const auto& [who, from] : holds) most = std::min(most, from);
  LogOffset segment_end = 0;
  int64_t newest = 0;
  uint64_t dropped = 0;
  while (contents->Second(&segment_end, &newest) && segment_end <= most &&
         unwanted(segment_end, newest)) {
    fs->Remove(contents->FirstPath());
    dropped += segment_end - contents->begin() + kHeadBytes;
    contents->DropFirst();
  }
  dropped_bytes += dropped;
  if (dropped > 0) fs->SyncDirectory(directory);
  return dropped;
}

uint64_t Log::DropBefore(LogOffset offset) {
  return inside_->Drop([&](LogOffset end, int64_t) { return end <= offset; });
}

void Log::SetMaxBytes(uint64_t bytes) {
  const std::lock_guard lock(inside_->append_mutex);
  inside_->options.max_bytes = bytes;
}

void Log::Reconfigure(const LogOptions& options) {
  {
    const std::lock_guard lock(inside_->append_mutex);
    inside_->options.segment_bytes = options.segment_bytes;
    inside_->options.max_bytes = options.max_bytes;
  }
  inside_->syncer->SetPolicy(options.sync, options.interval);
}

uint64_t Log::Retain(uint64_t max_bytes, int64_t oldest_ns) {
  return inside_->Drop([&](LogOffset, int64_t newest_ns) {
    return newest_ns < oldest_ns || (max_bytes > 0 && inside_->contents->bytes() > max_bytes);
  });
}

LogStats Log::stats() const {
  const Inside& in = *inside_;
  LogStats stats;
  stats.id = id();
  stats.segments = in.contents->segments();
  stats.bytes = in.contents->bytes();
  const LogSyncer::Counts counts = in.syncer->counts();
  stats.syncs = counts.syncs;
  stats.sync_ns = counts.sync_ns;
  stats.waiting = counts.waiting;
  stats.failure = in.syncer->failure();
  stats.durable_end = durable_end();
  {
    std::lock_guard lock(in.append_mutex);
    stats.appended_records = in.appended_records;
    stats.appended_bytes = in.appended_bytes;
    stats.refused = in.refused;
    stats.newest_time_ns = in.newest_ns == INT64_MIN ? 0 : in.newest_ns;
    stats.end = end();
  }
  std::lock_guard lock(in.drop_mutex);
  stats.begin = begin();
  stats.dropped_bytes = in.dropped_bytes;
  stats.holds = in.holds;
  return stats;
}

void Log::Close() {
  Inside& in = *inside_;
  {
    std::lock_guard lock(in.append_mutex);
    if (std::exchange(in.closed, true)) return;
  }
  in.syncer->Stop();
  in.contents->Close();
  in.lock.reset();
}

}  // namespace catamaran
