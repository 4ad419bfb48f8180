// bench/serve/soak/raw_http.h
//
// Bytes to an HTTP server as a hostile client sends them, and what came back. Nothing here throws
// for what the server does.
//
// Thread safety: functions may be called concurrently; a SlowConnections is for one thread.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace catamaran::bench {

struct RawAnswers {
  std::vector<int> statuses;  // of all answers; empty: none came
  std::string text;           // as received
};

enum class AfterSending {
  kWait,       // until the server closes the connection, or a while
  kHalfClose,  // says that no more comes, and waits
  kReset,      // goes away at once; no answers
};
RawAnswers SendRaw(int port, std::string_view bytes, AfterSending then);

// "POST PATH", with a body of JSON.
std::string PostText(std::string_view path, std::string_view json);

// Connections whose requests never end.
class SlowConnections {
 public:
  SlowConnections(int port, int count) : port_(port), sockets_(static_cast<size_t>(count), -1) {}
  ~SlowConnections();
  SlowConnections(const SlowConnections&) = delete;
  SlowConnections& operator=(const SlowConnections&) = delete;
  // One more line on each; those that the server has closed begin anew.
  void Step();
  int64_t closed() const { return closed_; }      // by the server
  int64_t answered() const { return answered_; }  // with 200

 private:
  const int port_;
  std::vector<int> sockets_;
  int64_t closed_ = 0, answered_ = 0;
};

}  // namespace catamaran::bench
