#include "catamaran/base/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "catamaran/base/json_text.h"

namespace catamaran {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> next = 1;  // tells traces apart, nothing more
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// Written by one thread; `size` says how far others may read.
struct Trace::Buffer {
  int number = 0;
  std::string name;  // guarded by the trace's mutex
  std::unique_ptr<std::unique_ptr<Event[]>[]> chunks;
  std::atomic<size_t> size = 0;
  std::atomic<uint64_t> dropped = 0;
};

Trace::Trace(size_t events_per_thread)
    : id_(NextId()), max_chunks_((events_per_thread + kChunk - 1) / kChunk) {}

Trace::~Trace() = default;

const TraceName* Trace::Name(std::string_view name, std::string_view category,
                             std::string_view detail) {
  const std::lock_guard lock(mutex_);
  const auto found = by_text_.find({name, category, detail});
  if (found != by_text_.end()) return found->second;
  const TraceName& made =
      names_.emplace_back(std::string(name), std::string(category), std::string(detail));
  by_text_[{made.name, made.category, made.detail}] = &made;
  return &made;
}

Trace::Buffer& Trace::OfThisThread() {
  // Which buffer this thread used last, and of which trace: most threads know one only.
  thread_local uint64_t trace = 0;
  thread_local Buffer* buffer = nullptr;
  if (trace == id_) [[likely]]
    return *buffer;
  const std::lock_guard lock(mutex_);
  Buffer*& found = by_thread_[std::this_thread::get_id()];
  if (found == nullptr) {
    found = &buffers_.emplace_back();
    found->number = static_cast<int>(buffers_.size());
    found->name = fmt::format("thread {}", found->number);
    found->chunks = std::make_unique<std::unique_ptr<Event[]>[]>(max_chunks_);
  }
  trace = id_;
  buffer = found;
  return *found;
}

void Trace::NameThread(std::string_view name) {
  Buffer& buffer = OfThisThread();
  const std::lock_guard lock(mutex_);
  buffer.name = name;
}

void Trace::Add(const TraceName* name, uint64_t begin, uint64_t end) {
  Buffer& buffer = OfThisThread();
  const size_t i = buffer.size.load(std::memory_order_relaxed);
  const size_t chunk = i / kChunk;
  if (i % kChunk == 0) [[unlikely]] {
    if (chunk >= max_chunks_) {
      buffer.dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (!buffer.chunks[chunk]) buffer.chunks[chunk] = std::make_unique<Event[]>(kChunk);
  }
  buffer.chunks[chunk][i % kChunk] = {name, begin, end};
  buffer.size.store(i + 1, std::memory_order_release);
}

uint64_t Trace::dropped() const {
  const std::lock_guard lock(mutex_);
  uint64_t total = 0;
  for (const Buffer& buffer : buffers_) total += buffer.dropped.load(std::memory_order_relaxed);
  return total;
}

uint64_t Trace::size() const {
  const std::lock_guard lock(mutex_);
  uint64_t total = 0;
  for (const Buffer& buffer : buffers_) total += buffer.size.load(std::memory_order_acquire);
  return total;
}

void Trace::WriteBuffer(const Buffer& buffer, double scale,
                        FunctionRef<void(std::string_view)> write) const {
  const size_t size = buffer.size.load(std::memory_order_acquire);
  std::vector<Event> events(size);
  for (size_t i = 0; i < size; ++i) events[i] = buffer.chunks[i / kChunk][i % kChunk];
  const auto when = [](const Event& e) { return e.begin & ~kIsCount; };
  // Spans come when they end; in the file the outer one is before those inside it.
  std::stable_sort(events.begin(), events.end(), [&](const Event& a, const Event& b) {
    if (when(a) != when(b)) return when(a) < when(b);
    return (a.begin & kIsCount) == 0 && (b.begin & kIsCount) == 0 && a.end > b.end;
  });
  // Both ends are rounded to nanoseconds first: what lay inside something stays inside it.
  const auto nanoseconds = [&](uint64_t ticks) -> int64_t {
    return std::llround(static_cast<double>(static_cast<int64_t>(ticks - scale_.first_tick())) *
                        scale);
  };
  std::string text;
  for (const Event& event : events) {
    text = ",\n{\"name\":";
    AppendJsonQuoted(text, event.name->name);
    const int64_t begin = nanoseconds(when(event));
    if ((event.begin & kIsCount) != 0) {
      const double value = std::bit_cast<double>(event.end);
      fmt::format_to(std::back_inserter(text),
                     ",\"ph\":\"C\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"args\":{{\"value\":{}}}}}",
                     buffer.number, static_cast<double>(begin) * 1e-3,
                     std::isfinite(value) ? value : 0.0);
    } else {
      text += ",\"cat\":";
      AppendJsonQuoted(text, event.name->category.empty() ? "span" : event.name->category);
      fmt::format_to(std::back_inserter(text),
                     ",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}",
                     buffer.number, static_cast<double>(begin) * 1e-3,
                     static_cast<double>(nanoseconds(event.end) - begin) * 1e-3);
      if (!event.name->detail.empty()) {
        text += ",\"args\":{\"at\":";
        AppendJsonQuoted(text, event.name->detail);
        text += '}';
      }
      text += '}';
    }
    write(text);
  }
}

void Trace::WriteJson(FunctionRef<void(std::string_view)> write) const {
  const double scale = scale_.NanosecondsPerTick();
  std::vector<std::pair<const Buffer*, std::string>> threads;
  uint64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Buffer& buffer : buffers_) {
      threads.emplace_back(&buffer, buffer.name);
      dropped += buffer.dropped.load(std::memory_order_relaxed);
    }
  }
  write(
      fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"dropped_events\":{}}},"
                  "\"traceEvents\":[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,"
                  "\"tid\":0,\"args\":{{\"name\":\"catamaran\"}}}}",
                  dropped));
  for (const auto& [buffer, name] : threads) {
    std::string text = fmt::format(
        ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":",
        buffer->number);
    AppendJsonQuoted(text, name);
    write(text + "}}");
  }
  for (const auto& [buffer, name] : threads) WriteBuffer(*buffer, scale, write);
  write("\n]}\n");
}

}  // namespace catamaran
