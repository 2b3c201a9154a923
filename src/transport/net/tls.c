#include "transport/net/tls.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"

/* AES-GCM under one key is safe for about 2^24 full records; the key is changed long before. */
#define BYTES_A_KEY (UINT64_C(1) << 36)

struct hw_tls_contexts {
    SSL_CTX *client, *server;
    BIO_METHOD *socket;
};

struct hw_tls {
    SSL *ssl;
    int fd;
    pthread_mutex_t mutex; /* an SSL object is for one thread at a time; one call moves one record */
    int failure;           /* errno of the socket */
    uint64_t written;      /* bytes under this key */
    unsigned char key[HW_SECRET];
    char identity[200];
};

/* The socket for OpenSSL, whose own socket BIO would raise SIGPIPE. */
static int bio_write(BIO *bio, const char *from, int size)
{
    hw_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t moved = send(tls->fd, from, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_write(bio);
    else if (moved < 0)
        tls->failure = errno;
    return (int)moved;
}

static int bio_read(BIO *bio, char *to, int size)
{
    hw_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t moved = recv(tls->fd, to, (size_t)size, MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_read(bio);
    else if (moved <= 0)
        tls->failure = moved == 0 ? ECONNRESET : errno; /* a regular end is reported by SSL_read itself */
    return (int)moved;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

/* Makes a session that holds nothing but the key. */
static SSL_SESSION *session_of(SSL *ssl, const hw_tls *tls)
{
    static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session != NULL && cipher != NULL && SSL_SESSION_set1_master_key(session, tls->key, HW_SECRET) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int use_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity, size_t *length, SSL_SESSION **session)
{
    const hw_tls *tls = SSL_get_app_data(ssl);
    *session = NULL;
    if (digest != NULL && !EVP_MD_is_a(digest, "SHA256"))
        return 1; /* no key for that identity */
    *identity = (const unsigned char *)tls->identity;
    *length = strlen(tls->identity);
    *session = session_of(ssl, tls);
    return *session != NULL;
}

static int find_key(SSL *ssl, const unsigned char *identity, size_t length, SSL_SESSION **session)
{
    const hw_tls *tls = SSL_get_app_data(ssl);
    *session = NULL;
    if (length == strlen(tls->identity) && memcmp(identity, tls->identity, length) == 0)
        *session = session_of(ssl, tls);
    return 1; /* without a session the handshake fails: there is no certificate */
}

static SSL_CTX *make_context(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    if (context == NULL)
        return NULL;
    SSL_CTX_set_options(context,
                        SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1 && SSL_CTX_set_num_tickets(context, 0) == 1)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

hawser_status hw_tls_contexts_new(hw_tls_contexts **out, hawser_error *error)
{
    *out = NULL;
    hw_tls_contexts *made = NULL;
    HAWSER_TRY(HW_NEW(&made, 1, "the encryption's settings", error));
    made->client = make_context(TLS_client_method());
    made->server = make_context(TLS_server_method());
    made->socket = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "hawser channel");
    if (made->client == NULL || made->server == NULL || made->socket == NULL ||
        BIO_meth_set_write(made->socket, bio_write) != 1 || BIO_meth_set_read(made->socket, bio_read) != 1 ||
        BIO_meth_set_ctrl(made->socket, bio_control) != 1 || BIO_meth_set_create(made->socket, bio_create) != 1) {
        hw_tls_contexts_free(made);
        ERR_clear_error();
        return hawser_fail(error, HAWSER_IO, "OpenSSL cannot be set up for TLS 1.3: is it 3.0 or later, with AES-128-GCM?");
    }
    SSL_CTX_set_psk_use_session_callback(made->client, use_key);
    SSL_CTX_set_psk_find_session_callback(made->server, find_key);
    *out = made;
    return HAWSER_OK;
}

void hw_tls_contexts_free(hw_tls_contexts *contexts)
{
    if (contexts == NULL)
        return;
    SSL_CTX_free(contexts->client);
    SSL_CTX_free(contexts->server);
    BIO_meth_free(contexts->socket);
    free(contexts);
}

hw_tls *hw_tls_begin(hw_tls_contexts *contexts, int fd, bool server, const char *identity,
                     const unsigned char key[HW_SECRET])
{
    hw_tls *tls = NULL;
    if (HW_NEW(&tls, 1, "an encrypted connection", NULL) != HAWSER_OK)
        return NULL;
    if (pthread_mutex_init(&tls->mutex, NULL) != 0) {
        free(tls);
        return NULL;
    }
    tls->fd = fd;
    tls->ssl = SSL_new(server ? contexts->server : contexts->client);
    BIO *bio = tls->ssl == NULL ? NULL : BIO_new(contexts->socket);
    if (bio == NULL) {
        hw_tls_free(tls);
        return NULL;
    }
    memcpy(tls->key, key, HW_SECRET);
    (void)!snprintf(tls->identity, sizeof tls->identity, "%s", identity);
    BIO_set_data(bio, tls);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_app_data(tls->ssl, tls);
    if (server)
        SSL_set_accept_state(tls->ssl);
    else
        SSL_set_connect_state(tls->ssl);
    return tls;
}

hw_tls_progress hw_tls_shake(hw_tls *tls, atomic_int *failure)
{
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    int what = result == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, result);
    if (what == SSL_ERROR_WANT_READ)
        return HW_TLS_READ;
    if (what == SSL_ERROR_WANT_WRITE)
        return HW_TLS_WRITE;
    ERR_clear_error();
    hw_secret_forget(tls->key, sizeof tls->key);
    *failure = tls->failure;
    /* Otherwise a server with some certificate and without the key would pass. */
    return what == SSL_ERROR_NONE && SSL_session_reused(tls->ssl) == 1 ? HW_TLS_DONE : HW_TLS_FAILED;
}

void hw_tls_free(hw_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    hw_secret_forget(tls->key, sizeof tls->key);
    pthread_mutex_destroy(&tls->mutex);
    free(tls);
}

/* Translates a result of OpenSSL. With the mutex held. */
static ssize_t outcome(hw_tls *tls, int result, atomic_int *failure)
{
    int what = SSL_get_error(tls->ssl, result);
    ERR_clear_error();
    if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE)
        return HW_CHANNEL_AGAIN;
    if (what == SSL_ERROR_ZERO_RETURN)
        return HW_CHANNEL_END;
    *failure = tls->failure;
    return HW_CHANNEL_BROKEN;
}

ssize_t hw_tls_read(hw_tls *tls, void *to, size_t size, atomic_int *failure)
{
    size_t moved = 0;
    pthread_mutex_lock(&tls->mutex);
    ERR_clear_error();
    int result = SSL_read_ex(tls->ssl, to, size, &moved);
    ssize_t said = result == 1 ? (ssize_t)moved : outcome(tls, result, failure);
    pthread_mutex_unlock(&tls->mutex);
    return said;
}

ssize_t hw_tls_write(hw_tls *tls, const void *from, size_t size, atomic_int *failure)
{
    size_t moved = 0;
    pthread_mutex_lock(&tls->mutex);
    if (tls->written > BYTES_A_KEY && SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
        tls->written = 0; /* otherwise a record is half written, and the next write counts */
    ERR_clear_error();
    int result = SSL_write_ex(tls->ssl, from, size, &moved);
    tls->written += moved;
    ssize_t said = result == 1 ? (ssize_t)moved : outcome(tls, result, failure);
    pthread_mutex_unlock(&tls->mutex);
    return said == HW_CHANNEL_END ? HW_CHANNEL_BROKEN : said;
}

bool hw_tls_pending(hw_tls *tls)
{
    pthread_mutex_lock(&tls->mutex);
    bool pending = SSL_pending(tls->ssl) > 0; /* while a record is incomplete, epoll reports further bytes */
    pthread_mutex_unlock(&tls->mutex);
    return pending;
}
