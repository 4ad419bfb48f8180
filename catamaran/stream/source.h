// stream/source.h
//
// Where records come from and where they go to, whatever carries them: a Log, files, later Kafka.
// A Source gives records in order and can say where it is, as Positions (a map of opaque texts,
// "topic/partition" to offset) that a commit stores and a later process seeks to. A Sink takes
// them.
//
// Thread safety: a Source is used by one thread at a time; a Sink by many.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "catamaran/base/error.h"
#include "catamaran/base/positions.h"

namespace catamaran {

struct StreamRecord {
  uint8_t type = 0;
  int64_t time_ns = 0;  // event time
  std::span<const std::byte> payload;
};

class Source {
 public:
  enum class Result : uint8_t { kRecord, kTimeout, kEnd };

  virtual ~Source() = default;

  // The next record, once there is one; its payload is good until the next call. kTimeout after
  // waiting in vain, kEnd when there will be no more. An Error for what cannot be read; the source
  // stays before it.
  virtual Result Next(StreamRecord& record, std::chrono::nanoseconds timeout) = 0;

  // Between the record that Next gave last and the next one. Only this source's own names are in
  // it, so that those of several sources can be put into one map.
  virtual Positions position() const = 0;

  // Goes on where a source of the same records was when it gave this. Names of others are ignored;
  // none of its own: the beginning. An Error if it is not one of these records, or they are gone.
  virtual void Seek(const Positions& positions) = 0;
};

class Sink {
 public:
  // Null: it is kept, as this sink's policy says. Else why that is not known.
  using Done = std::function<void(const Error* error)>;

  virtual ~Sink() = default;

  // Takes a record, in the order of calls; `done` is called once it is kept, from any thread. An
  // Error if it cannot be taken: then nothing was, `done` is not called, and a later try may go.
  virtual void Put(const StreamRecord& record, Done done) = 0;
};

}  // namespace catamaran
