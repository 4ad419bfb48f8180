#include "catamaran/stream/log/log_contents.h"

#include <algorithm>

#include "catamaran/stream/log/log_format.h"

namespace catamaran {
namespace {

// Files that are open at a time for reading; segments are many, and descriptors are few.
constexpr size_t kMaxOpen = 32;

}  // namespace

void LogSegment::Read(LogOffset offset, std::span<std::byte> out) const {
  file->ReadExactly(log_format::kHeadBytes + (offset - first), out);
}

LogOffset LogContents::begin() const {
  std::lock_guard lock(mutex_);
  return entries_.empty() ? 0 : entries_.front().first;
}

LogOffset LogContents::end() const {
  std::lock_guard lock(mutex_);
  return end_;
}

uint64_t LogContents::segments() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

uint64_t LogContents::bytes() const {
  std::lock_guard lock(mutex_);
  if (entries_.empty()) return 0;
  return end_ - entries_.front().first + entries_.size() * log_format::kHeadBytes;
}

LogSegment LogContents::Find(LogOffset offset) const {
  std::lock_guard lock(mutex_);
  if (offset > end_ || entries_.empty()) {
    Fail(ErrorCode::kStorage, "{}: the log ends at {}; there is nothing at {}", directory_, end_,
         offset);
  }
  if (offset < entries_.front().first) {
    Fail(ErrorCode::kStorage, "{}: the log begins at {}; what was at {} has been dropped",
         directory_, entries_.front().first, offset);
  }
  auto found = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                [](LogOffset at, const Entry& entry) { return at < entry.first; });
  const bool sealed = found != entries_.end();
  LogSegment segment;
  segment.end = sealed ? found->first : end_;
  segment.sealed = sealed;
  --found;
  segment.first = found->first;
  segment.file = Open(*found);
  return segment;
}

bool LogContents::WaitBeyond(LogOffset offset, std::chrono::nanoseconds timeout) const {
  std::unique_lock lock(mutex_);
  if (end_ > offset || closed_ || timeout.count() <= 0) return end_ > offset;
  ++waiting_;
  // A wait of years would overflow the clock.
  more_.wait_for(lock, std::min<std::chrono::nanoseconds>(timeout, std::chrono::hours(24)),
                 [&] { return end_ > offset || closed_; });
  --waiting_;
  return end_ > offset;
}

bool LogContents::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

void LogContents::AddSegment(LogOffset first, int64_t newest_ns) {
  std::lock_guard lock(mutex_);
  entries_.push_back({first, newest_ns, nullptr});
  end_ = std::max(end_, first);
}

void LogContents::SetEnd(LogOffset end) {
  std::lock_guard lock(mutex_);
  end_ = end;
  if (waiting_ > 0) more_.notify_all();
}

void LogContents::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  more_.notify_all();
}

bool LogContents::Second(LogOffset* first, int64_t* newest_ns) const {
  std::lock_guard lock(mutex_);
  if (entries_.size() < 2) return false;
  *first = entries_[1].first;
  *newest_ns = entries_[1].newest_ns;
  return true;
}

void LogContents::DropFirst() {
  std::lock_guard lock(mutex_);
  CATAMARAN_CHECK(entries_.size() > 1);
  std::erase(open_, entries_.front().first);
  entries_.pop_front();
}

std::string LogContents::FirstPath() const {
  std::lock_guard lock(mutex_);
  return PathOf(entries_.front().first);
}

std::string LogContents::PathOf(LogOffset first) const {
  return JoinPath(directory_, log_format::SegmentName(first));
}

const std::shared_ptr<const RandomReadFile>& LogContents::Open(Entry& entry) const {
  if (entry.file != nullptr) return entry.file;
  entry.file = fs_.OpenRead(PathOf(entry.first));
  open_.push_back(entry.first);
  if (open_.size() > kMaxOpen) {
    for (Entry& other : entries_) {
      if (other.first == open_.front()) other.file = nullptr;
    }
    open_.pop_front();
  }
  return entry.file;
}

}  // namespace catamaran
