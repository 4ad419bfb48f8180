#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/http/http_test_util.h"

namespace catamaran {

std::string TestAnswer::Header(std::string_view name) const {
  for (size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
    const std::string_view line = std::string_view(head).substr(at + 2);
    if (line.size() > name.size() && line[name.size()] == ':' && line.starts_with(name)) {
      return std::string(line.substr(name.size() + 2, line.find("\r\n") - name.size() - 2));
    }
  }
  return "";
}

TestClient::TestClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience = {.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    Fail("cannot connect to port {}", port);
  }
}

TestClient::~TestClient() { Hangup(); }

void TestClient::EndSending() { ::shutdown(socket_, SHUT_WR); }

void TestClient::Hangup() {
  ssl_.reset();
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

bool TestClient::StartTls(const std::string& roots, const TestCertificate* own) {
  const auto reader = [](const std::string& text) {
    return std::unique_ptr<BIO, decltype(&BIO_free)>(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  };
  context_.reset(SSL_CTX_new(TLS_client_method()));
  X509* root = PEM_read_bio_X509(reader(roots).get(), nullptr, nullptr, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), root);
  X509_free(root);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  if (own != nullptr) {
    X509* shown = PEM_read_bio_X509(reader(own->certificate).get(), nullptr, nullptr, nullptr);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(reader(own->key).get(), nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context_.get(), shown);
    SSL_CTX_use_PrivateKey(context_.get(), key);
    X509_free(shown);
    EVP_PKEY_free(key);
  }
  ssl_.reset(SSL_new(context_.get()));
  SSL_set1_host(ssl_.get(), "localhost");
  SSL_set_fd(ssl_.get(), socket_);
  return SSL_connect(ssl_.get()) == 1;
}

void TestClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                              : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server has closed it; Receive tells
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool TestClient::Fill() {
  char bytes[65536];
  const ssize_t got =
      ssl_ ? SSL_read(ssl_.get(), bytes, sizeof bytes) : ::recv(socket_, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(got));
  return true;
}

TestAnswer TestClient::Receive(bool head_only) {
  TestAnswer answer;
  size_t end = std::string::npos;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return answer;
  }
  answer.head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  const size_t length =
      head_only ? 0 : std::strtoul(answer.Header("Content-Length").c_str(), nullptr, 10);
  while (buffer_.size() < length) {
    if (!Fill()) return answer;
  }
  answer.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  answer.status = std::atoi(answer.head.substr(9, 3).c_str());
  return answer;
}

std::string TestClient::ReceiveLine() {
  size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (!Fill()) return "";
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

bool TestClient::IsClosed() {
  char byte = 0;
  if (ssl_) return SSL_read(ssl_.get(), &byte, 1) <= 0;
  return buffer_.empty() && ::recv(socket_, &byte, 1, 0) == 0;
}

TestAnswer TestClient::Call(std::string_view method, std::string_view target, std::string_view body,
                            std::string_view headers) {
  std::string request =
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}", method, target, headers);
  if (method == "POST") request += fmt::format("Content-Length: {}\r\n", body.size());
  request += "\r\n";
  request += body;
  Send(request);
  return Receive(method == "HEAD");
}

}  // namespace catamaran
