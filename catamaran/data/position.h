// data/position.h
//
// Where a reader is: bytes that only the reader that made them understands. They may be stored and
// used by a later process; reading on from a position gives the rows that reading on would have
// given. The empty position is the beginning of any data.
//
// Readers build theirs with a PositionWriter and take them apart with a PositionReader, which
// refuses what another kind of reader made.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace catamaran {

struct Position {
  std::string bytes;

  friend bool operator==(const Position&, const Position&) = default;
};

class PositionWriter {
 public:
  // `kind` is the name of the kind of reader.
  explicit PositionWriter(std::string_view kind) { Put(kind); }

  void Put(int64_t value);
  void Put(std::string_view text);
  Position Take() { return std::move(position_); }

 private:
  Position position_;
};

// Every method is an Error that begins with `what` (the path of the data) if the position is not
// one that a reader of this kind has made. REQUIRES: the position is not empty and outlives this.
class PositionReader {
 public:
  PositionReader(const Position& position, std::string_view kind, std::string_view what);

  int64_t GetInt();
  std::string_view GetString();
  // There must be nothing more.
  void End() const;

 private:
  [[noreturn]] void FailDamaged() const;

  std::string_view rest_;
  const std::string what_;
};

}  // namespace catamaran
