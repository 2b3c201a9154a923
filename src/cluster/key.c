/* key.c - job keys: makes them from the kernel's random numbers, writes them as hexadecimal digits, and reads them from
 * files that only their owner may read. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/place.h"

hawser_status hw_random_bytes(void *out, size_t size, hawser_error *error)
{
    ssize_t got;
    do
        got = getrandom(out, size, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)size)
        return hawser_fail(error, HAWSER_IO, "the system gives no random numbers: %s",
                           got < 0 ? strerror(errno) : "too few");
    return HAWSER_OK;
}

hawser_status hw_key_make(unsigned char key[32], hawser_error *error)
{
    return hw_random_bytes(key, 32, error);
}

void hw_key_text(const unsigned char *key, size_t length, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        *text++ = digits[key[i] >> 4];
        *text++ = digits[key[i] & 15];
    }
    *text = '\0';
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_zero(const unsigned char *key, size_t length)
{
    unsigned char any = 0;
    for (size_t i = 0; i < length; i++)
        any |= key[i];
    return any == 0;
}

/* No message contains the key itself. */
hawser_status hw_key_parse(const char *text, size_t digits, unsigned char key[HW_NET_KEY_MOST], size_t *length,
                           hawser_error *error)
{
    if (digits % 2 != 0 || digits < 2 * HW_NET_KEY_LEAST || digits > 2 * HW_NET_KEY_MOST)
        return hawser_fail(error, HAWSER_BAD_INPUT, "a job key of %zu characters: it has from %d to %d hexadecimal digits",
                           digits, 2 * HW_NET_KEY_LEAST, 2 * HW_NET_KEY_MOST);
    for (size_t i = 0; i < digits; i += 2) {
        int high = digit(text[i]), low = digit(text[i + 1]);
        if (high < 0 || low < 0)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "a job key with something else than a hexadecimal digit at character %zu",
                               high < 0 ? i + 1 : i + 2);
        key[i / 2] = (unsigned char)(high << 4 | low);
    }
    *length = digits / 2;
    return is_zero(key, *length) ? hawser_fail(error, HAWSER_BAD_INPUT, "a job key of zeros alone, which anybody can guess")
                                 : HAWSER_OK;
}

static hawser_status read_text(int fd, const char *path, char *text, size_t size, size_t *used, hawser_error *error)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot look at the key file: %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: a key file is a regular file", path);
    if (facts.st_uid != geteuid())
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: this key file belongs to user %u, who knows the key, and not to user %u, who runs this process; make a "
            "key of your own",
            path, (unsigned)facts.st_uid, (unsigned)geteuid());
    if ((facts.st_mode & 077) != 0)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "%s: others than its owner may use this key file (mode %04o); chmod 600 it, and make a new key if "
            "somebody may have read it",
            path, (unsigned)(facts.st_mode & 07777));
    *used = 0;
    while (*used < size) {
        ssize_t got = read(fd, text + *used, size - *used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hawser_fail(error, HAWSER_IO, "%s: cannot read the key file: %s", path, strerror(errno));
        if (got == 0)
            break;
        *used += (size_t)got;
    }
    return HAWSER_OK;
}

hawser_status hw_key_read(const char *path, unsigned char key[HW_NET_KEY_MOST], size_t *length, hawser_error *error)
{
    char text[2 * HW_NET_KEY_MOST + 64];
    size_t used = 0;
    hawser_error why = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot open the key file: %s; 'hawser key FILE' makes one", path,
                           strerror(errno));
    hawser_status status = read_text(fd, path, text, sizeof text, &used, error);
    (void)close(fd);
    if (status == HAWSER_OK) {
        while (used > 0 && strchr(" \t\r\n", text[used - 1]) != NULL && text[used - 1] != '\0')
            used--;
        status = hw_key_parse(text, used, key, length, &why);
        if (status != HAWSER_OK)
            status = hawser_fail(error, status, "%s: %s; 'hawser key FILE' makes one", path, why.text);
    }
    explicit_bzero(text, sizeof text);
    return status;
}

hawser_status hw_key_copy(const void *given, size_t bytes, unsigned char key[HW_NET_KEY_MOST], size_t *length,
                          hawser_error *error)
{
    if (bytes < HW_NET_KEY_LEAST || bytes > HW_NET_KEY_MOST)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a key of %zu bytes: it has from %d to %d", bytes, HW_NET_KEY_LEAST,
                           HW_NET_KEY_MOST);
    memcpy(key, given, bytes);
    *length = bytes;
    if (is_zero(key, bytes))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "a key of zeros alone, which anybody can guess");
    return HAWSER_OK;
}

hawser_status hw_key_take(const hw_place_options *options, hw_place *place, hawser_error *error)
{
    if (options->key == NULL)
        return hw_key_read(options->key_file, place->key, &place->key_length, error);
    if (options->key_file != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--key-file %s, but the program gives a key itself; leave one of them out", options->key_file);
    return hw_key_copy(options->key, options->key_length, place->key, &place->key_length, error);
}

hawser_status hw_key_write(const char *path, const unsigned char *key, size_t length, hawser_error *error)
{
    char text[2 * HW_NET_KEY_MOST + 2];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot make the key file: %s%s", path, strerror(errno),
                           errno == EEXIST ? "; a key that may be in use is not replaced: remove it first" : "");
    hw_key_text(key, length, text);
    text[2 * length] = '\n';
    ssize_t put = write(fd, text, 2 * length + 1);
    int code = put < 0 ? errno : ENOSPC;
    bool whole = put == (ssize_t)(2 * length + 1) && fsync(fd) == 0;
    explicit_bzero(text, sizeof text);
    if (close(fd) == 0 && whole)
        return HAWSER_OK;
    (void)unlink(path);
    return hawser_fail(error, HAWSER_IO, "%s: cannot write the key file: %s", path, strerror(code));
}
