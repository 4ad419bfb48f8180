// cli/http_connection.h
//
// One connection to a service over HTTP/1.1, not encrypted, kept open from call to call.
//
// Thread safety: one thread at a time.

#pragma once

#include <string>
#include <string_view>

namespace catamaran::cli {

struct HttpAnswer {
  int status = 0;  // 0: no answer came
  std::string body;
  std::string problem;  // why, where none came
};

class HttpConnection {
 public:
  // `token` may be empty.
  HttpConnection(std::string host, int port, std::string token = "");
  ~HttpConnection() { Close(); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Connects if need be. Status 0 if the service cannot be reached, goes away, or takes longer than
  // ten seconds; the next call connects again.
  HttpAnswer Get(std::string_view path) { return Call("GET", path, ""); }
  HttpAnswer Post(std::string_view path, std::string_view body) { return Call("POST", path, body); }

 private:
  HttpAnswer Call(std::string_view method, std::string_view path, std::string_view body);
  // These throw an Error that says what went wrong.
  void Connect();
  void Send(std::string_view bytes);
  void ReceiveMore();
  HttpAnswer Receive();
  void Close();

  const std::string host_;
  const int port_;
  const std::string where_, authorization_;
  int socket_ = -1;
  std::string received_;
};

}  // namespace catamaran::cli
