// cli/feed/row_feeder.h
//
// Rows of files as requests to learn from, to a service over HTTP. Each request has a key that is
// made of its rows and their place, so that rows which are sent again (since no answer came, or by
// a second run over the same file) count once. Columns that the model does not know are left out,
// as when it trains on files.
//
// Thread safety: one thread at a time.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "catamaran/data/row_block.h"
#include "cli/http_connection.h"
#include "cli/table/words.h"

namespace catamaran::cli {

struct FeederOptions {
  std::string model;
  std::string key;             // part of all keys: rows under another one count again
  int64_t request_rows = 256;  // at most
  std::string time_column;     // i64; empty: rows happen when the service gets them
  int64_t time_unit_ns = 1'000'000'000;
  double speed = 0;                   // seconds of the time column that pass in one; 0: no waiting
  double rate = 0;                    // rows a second at most; 0: no limit
  std::chrono::seconds patience{60};  // with a service that is busy or not there
};

class RowFeeder {
 public:
  RowFeeder(HttpConnection& connection, FeederOptions options);

  // Sends what the rows before left over as soon as it is a whole request. An Error if the service
  // refuses rows, with the number of the first of them, or is away for longer than the patience.
  void Add(const RowBlock& block);
  // Sends the rest, and waits until all has been learned from. Returns the status of learning, as
  // the service gives it.
  Json Finish();

  int64_t rows() const { return sent_; }          // that the service has acknowledged
  int64_t repeated() const { return repeated_; }  // requests that were made again

 private:
  void Send();
  void FindColumns(const Schema& schema);
  void KeepPace(int64_t time_ns) const;
  // The body of an answer; calls again while the service is busy.
  Json Call(const std::string& path, const std::string& body);
  [[noreturn]] void Refused(const HttpAnswer& answer) const;

  HttpConnection& connection_;
  const FeederOptions options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<int> columns_;   // that are sent; known from the first block on
  std::string lacking_;        // which columns of the service the file may have misspelt
  std::string body_;           // rows of the request that is being made
  int64_t waiting_ = 0;        // of them
  int64_t time_ns_ = 0;        // their time
  int64_t first_time_ns_ = 0;  // of all
  bool timed_ = false;         // first_time_ns_ is known
  int64_t sent_ = 0, repeated_ = 0;
  uint64_t log_offset_ = 0;  // behind the last row
};

}  // namespace catamaran::cli
