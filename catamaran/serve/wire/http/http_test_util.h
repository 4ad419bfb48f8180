// serve/wire/http/http_test_util.h
//
// An HttpServer over a TestServer, and a client of it that sends what it is told, byte by byte if
// need be.

#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "catamaran/serve/wire/auth/test_certificates.h"
#include "catamaran/serve/wire/http/http_server.h"
#include "catamaran/serve/wire/test_server.h"

namespace catamaran {

struct HttpFixture {
  explicit HttpFixture(const HttpOptions& options = {}, Tokens with = {})
      : tokens(std::move(with)), gateway(server, metrics, tokens), http(gateway, options) {}

  TestServer server;
  Metrics metrics;
  const Tokens tokens;
  Gateway gateway;
  HttpServer http;
};

struct TestAnswer {
  int status = 0;  // 0: the connection was closed without one
  std::string head, body;
  // The value of a header; empty if it is not there.
  std::string Header(std::string_view name) const;
};

class TestClient {
 public:
  explicit TestClient(int port);
  ~TestClient();
  TestClient(TestClient&&) = delete;

  // False if the handshake fails, or the server refuses the client's certificate.
  [[nodiscard]] bool StartTls(const std::string& roots, const TestCertificate* own);

  void Send(std::string_view bytes);
  // The next answer; waits ten seconds.
  TestAnswer Receive(bool head_only = false);
  // Up to the next line's end, which is taken too; empty also if the connection ends before.
  std::string ReceiveLine();
  // Whether the server closes the connection within ten seconds.
  bool IsClosed();
  // Sends no more; answers may still come. Not for TLS.
  void EndSending();
  // Sends no more, and reads no more.
  void Hangup();

  // A request with a body, and its answer.
  TestAnswer Call(std::string_view method, std::string_view target, std::string_view body = "",
                  std::string_view headers = "");

 private:
  bool Fill();

  int socket_ = -1;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, &SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
  std::string buffer_;
};

}  // namespace catamaran
