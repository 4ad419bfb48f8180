// stream/log/log_test_util.h
//
// Records as tests like them: a type, a time and a text.

#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/stream/log/log.h"

namespace catamaran::testing {

struct Said {
  uint8_t type;
  int64_t time_ns;
  std::string text;
  friend bool operator==(const Said&, const Said&) = default;
};

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string AsText(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

inline Said SaidBy(const LogRecord& record) {
  return {record.type, record.time_ns, AsText(record.payload)};
}

// Record number i of what tests append: of different lengths, none among them.
inline Said Numbered(int i) {
  const size_t length = static_cast<size_t>(i * 7919 % 61);
  return {static_cast<uint8_t>(i), 1000 + i, std::string(length, static_cast<char>('a' + i % 26))};
}

inline LogOffset AppendTo(Log& log, const Said& said, LogOffset* begin = nullptr) {
  return log.Append(said.type, said.time_ns, AsBytes(said.text), begin);
}

// All that there is from the beginning on.
inline std::vector<Said> AllOf(Log& log) {
  std::vector<Said> all;
  LogCursor cursor = log.Follow(log.begin());
  LogRecord record;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    all.push_back(SaidBy(record));
  }
  return all;
}

// Whether `all` are Numbered(0), Numbered(1), …
inline bool AreNumbered(const std::vector<Said>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    if (!(all[i] == Numbered(static_cast<int>(i)))) return false;
  }
  return true;
}

template <class F>
std::string ErrorOf(F&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace catamaran::testing
