#include "catamaran/serve/wire/auth/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr size_t kMaxFile = size_t{1} << 20;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio Reader(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

Certificate FirstCertificate(const std::string& text, const std::string& path) {
  Certificate certificate(PEM_read_bio_X509(Reader(text).get(), nullptr, nullptr, nullptr),
                          &X509_free);
  ERR_clear_error();
  if (certificate == nullptr) Fail("{}: there is no certificate in it (PEM text)", path);
  return certificate;
}

// A key that wants a password is refused instead of asking for one.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

TlsKeys LoadTlsKeys(const FileSystem& fs, const std::string& certificate, const std::string& key,
                    const std::string& client_roots) {
  TlsKeys keys;
  keys.certificate = fs.ReadAll(certificate, kMaxFile);
  keys.key = fs.ReadAll(key, kMaxFile);
  const Certificate shown = FirstCertificate(keys.certificate, certificate);
  const Key held(PEM_read_bio_PrivateKey(Reader(keys.key).get(), nullptr, &NoPassword, nullptr),
                 &EVP_PKEY_free);
  if (held == nullptr) {
    ERR_clear_error();
    Fail("{}: there is no private key in it (PEM text, without a password)", key);
  }
  if (X509_check_private_key(shown.get(), held.get()) != 1) {
    ERR_clear_error();
    Fail("{}: this key is not that of the certificate {}", key, certificate);
  }
  if (!client_roots.empty()) {
    keys.client_roots = fs.ReadAll(client_roots, kMaxFile);
    FirstCertificate(keys.client_roots, client_roots);
  }
  return keys;
}

}  // namespace catamaran
