#include "catamaran/serve/wire/auth/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <functional>
#include <memory>
#include <string>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

std::string Text(const std::function<int(BIO*)>& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  CATAMARAN_CHECK(write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

void Extend(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  CATAMARAN_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `issuer` with its key, or by itself.
Certificate Make(const std::string& name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  Certificate made(X509_new(), &X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), issuer == nullptr ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509* const by = issuer == nullptr ? made.get() : issuer;
  X509_set_issuer_name(made.get(), X509_get_subject_name(by));
  if (issuer == nullptr) {
    Extend(made.get(), by, NID_basic_constraints, "critical,CA:TRUE");
  } else {
    Extend(made.get(), by, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  }
  CATAMARAN_CHECK(X509_sign(made.get(), issuer_key, EVP_sha256()) > 0);
  return made;
}

TestCertificate Write(X509* certificate, EVP_PKEY* key) {
  return {Text([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); }), Text([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace

TestAuthority MakeTestAuthority(const std::string& name) {
  const Key root_key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Certificate root = Make(name, root_key.get(), nullptr, root_key.get());
  const Certificate leaf = Make("localhost", key.get(), root.get(), root_key.get());
  return {Write(root.get(), root_key.get()), Write(leaf.get(), key.get())};
}

}  // namespace catamaran
