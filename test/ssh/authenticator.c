/*
 * An authenticator (FIDO) in software, for tests: keys of ECDSA P-256, whose handle is the private key itself. With a PIN in
 * AUTHENTICATOR_PIN it wants that PIN for keys that verify their user.
 *
 * The interface of OpenSSH for such libraries, version 10: sk-api.h and PROTOCOL.u2f of its source.
 */
#include <unistd.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/obj_mac.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { USER_VERIFIED = 4, FAILED = -1, UNSUPPORTED = -2, PIN_REQUIRED = -3, POINT = 65, NUMBER = 32 };

struct enrolled {
  uint8_t flags;
  uint8_t *public_key;
  size_t public_key_len;
  uint8_t *key_handle;
  size_t key_handle_len;
  uint8_t *signature;
  size_t signature_len;
  uint8_t *attestation_cert;
  size_t attestation_cert_len;
  uint8_t *authdata;
  size_t authdata_len;
};

struct signed_data {
  uint8_t flags;
  uint32_t counter;
  uint8_t *sig_r;
  size_t sig_r_len;
  uint8_t *sig_s;
  size_t sig_s_len;
};

uint32_t sk_api_version(void) { return 0x000a0000; }

int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t length, const char *application, uint8_t flags, const char *pin,
              void **options, struct enrolled **response) {
  if (alg != 0) return UNSUPPORTED;
  EC_KEY *key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  struct enrolled *made = calloc(1, sizeof *made);
  if (!key || !made || !EC_KEY_generate_key(key)) return FAILED;
  made->flags = flags;
  made->public_key_len = EC_KEY_key2buf(key, POINT_CONVERSION_UNCOMPRESSED, &made->public_key, NULL);
  made->key_handle_len = EC_KEY_priv2buf(key, &made->key_handle);
  /* ssh-keygen wants an attestation, and looks at none. */
  made->signature = calloc(1, made->signature_len = 1);
  made->attestation_cert = calloc(1, made->attestation_cert_len = 1);
  made->authdata = calloc(1, made->authdata_len = 1);
  EC_KEY_free(key);
  *response = made;
  return made->public_key_len == POINT && made->key_handle_len == NUMBER ? 0 : FAILED;
}

static uint8_t *number(const BIGNUM *from, size_t *length) {
  uint8_t *bytes = malloc(NUMBER);
  *length = NUMBER;
  BN_bn2binpad(from, bytes, NUMBER);
  return bytes;
}

int sk_sign(uint32_t alg, const uint8_t *data, size_t length, const char *application, const uint8_t *handle, size_t handle_length,
            uint8_t flags, const char *pin, void **options, struct signed_data **response) {
  const char *wanted = getenv("AUTHENTICATOR_PIN");
  if (alg != 0) return UNSUPPORTED;
  if (wanted && (flags & USER_VERIFIED) && (!pin || strcmp(pin, wanted) != 0)) return PIN_REQUIRED;
  /* Nobody touches a key at once: ssh ends its notice at the touch. */
  sleep(1);
  struct signed_data *made = calloc(1, sizeof *made);
  made->flags = flags;
  made->counter = 0x01020304;
  /* Hash of the application, flags, counter, hash of the message. */
  uint8_t text[SHA256_DIGEST_LENGTH + 5 + SHA256_DIGEST_LENGTH] = {0}, hash[SHA256_DIGEST_LENGTH];
  SHA256((const uint8_t *)application, strlen(application), text);
  memcpy(text + SHA256_DIGEST_LENGTH, (uint8_t[]){flags, 1, 2, 3, 4}, 5);
  SHA256(data, length, text + SHA256_DIGEST_LENGTH + 5);
  SHA256(text, sizeof text, hash);
  EC_KEY *key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  if (!EC_KEY_oct2priv(key, handle, handle_length)) return FAILED;
  ECDSA_SIG *signature = ECDSA_do_sign(hash, sizeof hash, key);
  if (!signature) return FAILED;
  made->sig_r = number(ECDSA_SIG_get0_r(signature), &made->sig_r_len);
  made->sig_s = number(ECDSA_SIG_get0_s(signature), &made->sig_s_len);
  ECDSA_SIG_free(signature);
  EC_KEY_free(key);
  *response = made;
  return 0;
}

int sk_load_resident_keys(const char *pin, void **options, void ***keys, size_t *count) { return UNSUPPORTED; }
