// base/trace.h
//
// A Trace is what happened when, on which thread: spans with names, and numbers that change over
// time. It is written as the JSON that Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
// Who may be traced is given a `Trace*`, null when nobody looks, and says what it does:
//
//   const TraceName* decode = trace ? trace->Name("decode", "data") : nullptr;   // once
//   TraceSpan span(trace, decode);                                               // each time
//
// Every thread writes to memory of its own, without a lock but the first time. A thread that has
// written as many events as it may writes no more; they are counted, and the file says so.
//
// Thread safety: all methods may be called concurrently. WriteJson has what was complete when it
// was called.

#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include "catamaran/base/function_ref.h"
#include "catamaran/base/ticks.h"

namespace catamaran {

// What a span or a number is called, shown in each of its events.
struct TraceName {
  std::string name;
  std::string category;  // "op", "data", …: what one may filter by
  std::string detail;    // one line more, of the span that was clicked on; may be empty
};

class Trace {
 public:
  static constexpr size_t kEventsPerThread = size_t{1} << 20;  // 24 MiB, taken as it is needed

  explicit Trace(size_t events_per_thread = kEventsPerThread);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // It stays as long as the trace; equal ones are one. Takes a lock.
  const TraceName* Name(std::string_view name, std::string_view category = {},
                        std::string_view detail = {});

  // What the calling thread is called; unless told, "thread 3".
  void NameThread(std::string_view name);

  // From `begin` to `end`, in Ticks, on the calling thread. Spans of one thread lie beside or
  // inside each other.
  void Span(const TraceName* name, uint64_t begin, uint64_t end) { Add(name, begin, end); }
  // From now on the number is `value`.
  void Count(const TraceName* name, double value) {
    Add(name, Ticks() | kIsCount, std::bit_cast<uint64_t>(value));
  }

  // How many events were left out.
  uint64_t dropped() const;
  // How many there are.
  uint64_t size() const;

  // Calls `write` with the JSON, piece by piece.
  void WriteJson(FunctionRef<void(std::string_view)> write) const;

 private:
  struct Event {
    const TraceName* name;
    uint64_t begin;  // with kIsCount: a number, its bits in `end`
    uint64_t end;
  };
  struct Buffer;
  static constexpr uint64_t kIsCount = uint64_t{1} << 63;
  static constexpr size_t kChunk = 4096;

  void Add(const TraceName* name, uint64_t begin, uint64_t end);
  Buffer& OfThisThread();
  void WriteBuffer(const Buffer& buffer, double scale,
                   FunctionRef<void(std::string_view)> write) const;

  const uint64_t id_;  // no two traces of a process have one
  const size_t max_chunks_;
  const TickScale scale_;
  mutable std::mutex mutex_;
  std::deque<TraceName> names_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const TraceName*>
      by_text_;
  std::deque<Buffer> buffers_;
  std::map<std::thread::id, Buffer*> by_thread_;
};

// A span from here to the end of the block; nothing when the trace is null.
class TraceSpan {
 public:
  TraceSpan(Trace* trace, const TraceName* name)
      : trace_(trace), name_(name), begin_(trace != nullptr ? Ticks() : 0) {}
  ~TraceSpan() {
    if (trace_ != nullptr) trace_->Span(name_, begin_, Ticks());
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Trace* const trace_;
  const TraceName* const name_;
  const uint64_t begin_;
};

}  // namespace catamaran
