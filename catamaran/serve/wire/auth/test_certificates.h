// serve/wire/auth/test_certificates.h
//
// Certificates for tests, made on the spot: an authority, and one that it signed for localhost.

#pragma once

#include <string>

namespace catamaran {

struct TestCertificate {
  std::string certificate, key;  // PEM
};

struct TestAuthority {
  TestCertificate root;
  TestCertificate localhost;  // signed by root, for localhost and 127.0.0.1, server and client
};

TestAuthority MakeTestAuthority(const std::string& name);

}  // namespace catamaran
