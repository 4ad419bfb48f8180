// cli/demo/http_connection.h
//
// One HTTP connection to a service on this machine, kept open from call to call: what the demo's
// people come by.
//
// Thread safety: one thread at a time.

#pragma once

#include <string>
#include <string_view>

namespace catamaran::cli {

struct HttpAnswer {
  int status = 0;  // 0: no answer came
  std::string body;
};

class HttpConnection {
 public:
  explicit HttpConnection(int port) : port_(port) {}
  ~HttpConnection() { Close(); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Connects if need be. Status 0 if the service cannot be reached, goes away, or takes longer than
  // ten seconds; the next call connects again.
  HttpAnswer Get(std::string_view path) { return Call("GET", path, ""); }
  HttpAnswer Post(std::string_view path, std::string_view body) { return Call("POST", path, body); }

 private:
  HttpAnswer Call(std::string_view method, std::string_view path, std::string_view body);
  bool Connect();
  bool Send(std::string_view bytes);
  bool ReceiveMore();
  bool Receive(HttpAnswer& answer);
  void Close();

  const int port_;
  int socket_ = -1;
  std::string received_;
};

}  // namespace catamaran::cli
