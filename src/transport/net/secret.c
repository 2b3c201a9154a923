#include "transport/net/secret.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>

bool hw_secret_random(void *to, size_t size)
{
    return RAND_bytes(to, (int)size) == 1;
}

bool hw_secret_digest(const void *first, size_t first_size, const void *second, size_t second_size,
                      unsigned char digest[HW_SECRET])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(context, first, first_size) == 1 && EVP_DigestUpdate(context, second, second_size) == 1 &&
                EVP_DigestFinal_ex(context, digest, NULL) == 1;
    EVP_MD_CTX_free(context);
    return done;
}

bool hw_secret_derive(const unsigned char *key, size_t key_length, const char *purpose,
                      const unsigned char transcript[HW_SECRET], unsigned char derived[HW_SECRET])
{
    unsigned char info[64 + HW_SECRET];
    size_t length = strnlen(purpose, 64);
    memcpy(info, purpose, length);
    memcpy(info + length, transcript, HW_SECRET);
    /* OpenSSL's parameters are not const; it only reads them. */
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(size_t)key, key_length),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (char *)"hawser", 6),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, length + HW_SECRET),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf == NULL ? NULL : EVP_KDF_CTX_new(kdf);
    bool done = context != NULL && EVP_KDF_derive(context, derived, HW_SECRET, parameters) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return done;
}

bool hw_secret_mac(const unsigned char key[HW_SECRET], const void *data, size_t size, unsigned char mac[HW_WIRE_MAC])
{
    unsigned length = 0;
    return HMAC(EVP_sha256(), key, HW_SECRET, data, size, mac, &length) != NULL && length == HW_WIRE_MAC;
}

bool hw_secret_equal(const void *a, const void *b, size_t size)
{
    return CRYPTO_memcmp(a, b, size) == 0;
}

void hw_secret_forget(void *secret, size_t size)
{
    OPENSSL_cleanse(secret, size);
}
