#include "data/source/input.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/wide.h"
#include "data/source/npz.h"
#include "data/source/zip.h"

static hawser_status start(hw_input *input, hw_budget *budget, hawser_error *error)
{
    memset(input, 0, sizeof *input);
    input->budget = budget;
    input->readers = 1;
    input->all_mapped = true;
    input->line = 1;
    input->stop = -1;
    if (pthread_mutex_init(&input->lock, NULL) != 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a lock");
    if (pthread_cond_init(&input->turn, NULL) != 0) {
        pthread_mutex_destroy(&input->lock);
        return hawser_fail(error, HAWSER_NO_MEMORY, "cannot make a condition");
    }
    input->has_lock = true;
    return HAWSER_OK;
}

static hawser_status add_file(hw_input *input, const char *name, hw_input_file **file, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&input->files, &input->capacity, input->count + 1, "a list of files", error));
    *file = &input->files[input->count];
    memset(*file, 0, sizeof **file);
    HAWSER_TRY(hw_copy_text(&(*file)->name, name, error));
    input->count++;
    return HAWSER_OK;
}

/* With a cancellation, does not wait for the writer of a pipe: the first read does, and can be cancelled. */
static int open_path(const hw_input *input, const char *path)
{
    if (input->budget->cancellation == NULL)
        return open(path, O_RDONLY | O_CLOEXEC);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

/* Puts an array of a mapped .npz archive in the archive's place. */
static hawser_status take_array(hw_input *input, hw_input_file *file, const char *path, hawser_error *error)
{
    size_t split = hw_npz_split(path), bytes = 0;
    void *pages = NULL;
    if (!hw_is_zip(file->map, file->bytes))
        return split == 0 ? HAWSER_OK
                          : hawser_fail(error, HAWSER_BAD_INPUT, "%s: '%.*s' is no .npz archive, by its first bytes", path,
                                        (int)split, path);
    const char *name = split != 0 ? path + split + 1 : NULL;
    HAWSER_TRY(hw_npz_unpack(file->map, file->bytes, path, name, input->budget, &pages, &bytes, &file->sparse, error));
    if (pages == NULL)
        return HAWSER_OK;
    (void)munmap((void *)(uintptr_t)file->map, file->bytes);
    file->map = file->unpacked = pages;
    file->bytes = file->to = file->unpacked_bytes = bytes;
    file->borrowed = true;
    return HAWSER_OK;
}

/* Opens a path, or the archive of FILE.npz:NAME. */
static int open_named(const hw_input *input, const char *path)
{
    size_t split = hw_npz_split(path);
    if (split == 0)
        return open_path(input, path);
    char *archive = strndup(path, split);
    int fd = archive != NULL ? open_path(input, archive) : -1;
    int code = errno;
    free(archive);
    errno = code;
    return fd;
}

/* Attaches a file: a plain regular file is mapped, a pipe becomes a stream, an archive is opened in its turn. Takes over
 * fd. */
static hawser_status attach(hw_input *input, hw_input_file *file, const char *path, int fd, hawser_error *error)
{
    struct stat facts;
    hawser_status status = HAWSER_OK;
    unsigned char first[8];
    if (fstat(fd, &facts) != 0)
        status = hawser_fail(error, HAWSER_IO, "%s: cannot examine it: %s", file->name, strerror(errno));
    else if (S_ISDIR(facts.st_mode))
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: is a directory; name the files in it, for example '%s/*'",
                             file->name, file->name);
    else if (S_ISREG(facts.st_mode) && facts.st_size == 0)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: is empty", file->name);
    if (status != HAWSER_OK) {
        close(fd);
        return status;
    }
    file->bytes = S_ISREG(facts.st_mode) ? (uint64_t)facts.st_size : 0;
    bool again = S_ISREG(facts.st_mode) && strcmp(path, "-") != 0; /* it can be opened again */
    ssize_t count = S_ISREG(facts.st_mode) && lseek(fd, 0, SEEK_CUR) == 0 ? pread(fd, first, sizeof first, 0) : -1;
    if (count > 0 && hw_packing_of(first, (size_t)count) == HW_PLAIN) {
        void *map = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            file->map = map;
            file->to = file->bytes;
            close(fd);
            return take_array(input, file, path, error);
        }
    }
    input->all_mapped = false;
    if (!again)
        return hw_stream_open(fd, file->name, input->budget, &file->stream, error);
    close(fd);
    return HAWSER_OK;
}

static hawser_status need_stream(const hw_input *input, hw_input_file *file, hawser_error *error)
{
    if (file->map != NULL || file->stream != NULL || file->ended)
        return HAWSER_OK;
    int fd = open_path(input, file->name);
    if (fd < 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot open: %s%s", file->name, strerror(errno), hw_machine_advice(errno));
    return hw_stream_open(fd, file->name, input->budget, &file->stream, error);
}

static void end_stream(hw_input *input, hw_input_file *file)
{
    if (file->stream == NULL)
        return;
    file->consumed = hw_stream_consumed(file->stream);
    file->ended = true;
    hw_stream_close(file->stream);
    file->stream = NULL;
    hw_pages_free(input->budget, file->head, file->head_capacity);
    file->head = NULL;
    file->head_used = file->head_capacity = 0;
}

static hawser_status open_one(hw_input *input, const char *path, hawser_error *error)
{
    hw_input_file *file;
    bool standard = strcmp(path, "-") == 0;
    HAWSER_TRY(add_file(input, standard ? "standard input" : path, &file, error));
    int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open_named(input, path);
    if (fd < 0)
        return hawser_fail(error, HAWSER_IO, "%s: cannot open: %s%s", file->name, strerror(errno), hw_machine_advice(errno));
    return attach(input, file, path, fd, error);
}

/* An existing name is itself, even if it has a star. */
static bool is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL && access(path, F_OK) != 0;
}

static hawser_status open_pattern(hw_input *input, const char *path, hawser_error *error)
{
    if (!is_pattern(path))
        return open_one(input, path, error);
    glob_t found;
    int outcome = glob(path, 0, NULL, &found);
    hawser_status status = HAWSER_OK;
    if (outcome == GLOB_NOMATCH)
        status = hawser_fail(error, HAWSER_IO, "%s: no file matches", path);
    else if (outcome != 0)
        status = hawser_fail(error, outcome == GLOB_NOSPACE ? HAWSER_NO_MEMORY : HAWSER_IO, "%s: cannot list matching files",
                             path);
    for (size_t i = 0; status == HAWSER_OK && i < found.gl_pathc; i++)
        status = open_one(input, found.gl_pathv[i], error);
    if (outcome == 0)
        globfree(&found);
    return status;
}

hawser_status hw_input_only(const char *path, char **name, hawser_error *error)
{
    glob_t found = {0};
    *name = NULL;
    if (!is_pattern(path) || glob(path, 0, NULL, &found) != 0)
        return hw_copy_text(name, path, error);
    hawser_status status = found.gl_pathc == 1 ? hw_copy_text(name, found.gl_pathv[0], error) : HAWSER_OK;
    globfree(&found);
    return status;
}

hawser_status hw_input_open(hw_input *input, const char *const *paths, size_t count, hw_budget *budget, hawser_error *error)
{
    HAWSER_TRY(start(input, budget, error));
    if (count == 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "no input file was named");
    for (size_t i = 0; i < count; i++)
        HAWSER_TRY(open_pattern(input, paths[i], error));
    return HAWSER_OK;
}

hawser_status hw_input_memory(hw_input *input, const char *name, const char *text, size_t bytes, hw_budget *budget,
                              hawser_error *error)
{
    HAWSER_TRY(start(input, budget, error));
    hw_input_file *file;
    HAWSER_TRY(add_file(input, name, &file, error));
    if (bytes == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is empty", name);
    file->map = text;
    file->bytes = file->to = bytes;
    file->borrowed = true;
    return HAWSER_OK;
}

void hw_input_close(hw_input *input)
{
    for (size_t i = 0; i < input->count; i++) {
        hw_input_file *file = &input->files[i];
        if (file->map != NULL && !file->borrowed)
            munmap((void *)(uintptr_t)file->map, file->bytes);
        hw_pages_free(input->budget, file->unpacked, file->unpacked_bytes);
        hw_stream_close(file->stream);
        hw_pages_free(input->budget, file->head, file->head_capacity);
        free(file->rows);
        free(file->name);
    }
    free(input->files);
    if (input->has_lock) {
        pthread_cond_destroy(&input->turn);
        pthread_mutex_destroy(&input->lock);
    }
    memset(input, 0, sizeof *input);
}

/* Bytes between two places of a mapped file from which the next row is known. */
enum { ROWS_EACH = 1 << 16 };

/* Returns where the first line of a file's text begins that is no comment. */
static const char *first_row(const hw_input *input, const char *text, const char *end)
{
    if (end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    return input->comments ? hw_csv_pass_comments(text, end) : text;
}

/* Returns where a row starts at or after `least`. `at` is the start of a row, or of the file, whose first row is longer than
 * that. */
static const char *row_from(const hw_input *input, const hw_input_file *file, const char *at, const char *least,
                            const char **open)
{
    const char *end = file->map + file->bytes, *row = at == file->map ? first_row(input, at, end) : at;
    *open = NULL;
    if (row >= end)
        return end;
    return hw_row_after(row, least > row ? least : row + 1, end, input->delimiter, open);
}

static hawser_status find_rows(const hw_input *input, hw_input_file *file, hawser_error *error)
{
    uint64_t count = file->bytes / ROWS_EACH + 1;
    const char *open, *at = file->map;
    HAWSER_TRY(HW_NEW(&file->rows, count, "the places of rows", error));
    for (uint64_t k = 1; k < count; k++) {
        const char *least = file->map + k * ROWS_EACH;
        if (at < least)
            at = row_from(input, file, at, least, &open);
        file->rows[k] = (uint64_t)(at - file->map);
        hw_text_done(file, least - ROWS_EACH, least);
        if (k % 64 == 0)
            HAWSER_TRY(hw_cancellation_check(input->budget->cancellation, error));
    }
    return HAWSER_OK;
}

hawser_status hw_input_rows(hw_input *input, bool comments, bool quoted, char delimiter, bool anywhere, hawser_error *error)
{
    input->comments = comments;
    input->quoted = quoted;
    input->delimiter = delimiter;
    for (size_t i = 0; i < input->count; i++)
        if (quoted && anywhere && input->files[i].map != NULL && input->files[i].rows == NULL)
            HAWSER_TRY(find_rows(input, &input->files[i], error));
    return HAWSER_OK;
}

uint64_t hw_line_from(const hw_input *input, const hw_input_file *file, uint64_t offset)
{
    if (offset == 0 || offset >= file->bytes)
        return offset < file->bytes ? offset : file->bytes;
    if (file->rows != NULL) {
        const char *open;
        uint64_t row = file->rows[offset / ROWS_EACH];
        return row >= offset ? row
                             : (uint64_t)(row_from(input, file, file->map + row, file->map + offset, &open) - file->map);
    }
    const char *first = input->comments ? first_row(input, file->map, file->map + file->bytes) : file->map;
    if (offset < (uint64_t)(first - file->map))
        offset = (uint64_t)(first - file->map) + 1; /* comments stay with the first row, which may be a header */
    if (offset >= file->bytes)
        return file->bytes;
    const char *found = memchr(file->map + offset - 1, '\n', file->bytes - offset + 1);
    return found != NULL ? (uint64_t)(found - file->map) + 1 : file->bytes;
}

void hw_input_part(hw_input *input, uint32_t part, uint32_t parts)
{
    uint64_t total = 0, before = 0;
    if (part == HW_PART_OWN)
        return;
    for (size_t i = 0; i < input->count; i++)
        total += input->files[i].bytes;
    uint64_t low = hw_share_of(total, part, parts), high = hw_share_of(total, part + 1, parts);
    for (size_t i = 0; i < input->count; i++) {
        hw_input_file *file = &input->files[i];
        uint64_t begin = low > before ? low - before : 0, end = high > before ? high - before : 0;
        if (file->map != NULL) {
            file->from = hw_line_from(input, file, begin);
            file->to = hw_line_from(input, file, end);
        } else {
            file->skipped = part + 1 < parts ? before < low || before >= high : before < low;
        }
        before += file->bytes;
    }
    input->offset = input->files[0].from;
}

void hw_input_share(hw_input *input, uint32_t readers, size_t chunk_bytes)
{
    enum { LEAST = 1 << 16, STREAM = 1 << 18, MOST = 4 << 20, CHUNKS_EACH = 16 };
    uint64_t total = 0;
    for (size_t i = 0; i < input->count; i++)
        total += input->files[i].map != NULL ? input->files[i].to - input->files[i].from : input->files[i].bytes;
    uint64_t share = total / ((uint64_t)readers * CHUNKS_EACH);
    share = share < LEAST ? LEAST : share > MOST ? MOST : share;
    input->chunk_bytes = chunk_bytes != 0 ? chunk_bytes : input->all_mapped ? (size_t)share : STREAM;
    input->readers = readers;
    if (input->all_mapped && total / input->chunk_bytes + 1 < readers)
        input->readers = (uint32_t)(total / input->chunk_bytes + 1);
}

/* Enlarges a budgeted buffer to `needed` bytes and the slack, and keeps its bytes. */
static hawser_status make_space(hw_input *input, char **buffer, size_t *capacity, size_t needed, hawser_error *error)
{
    size_t wanted = needed + HW_CHUNK_SLACK;
    if (wanted <= *capacity)
        return HAWSER_OK;
    void *pages = *buffer;
    hawser_status status =
        hw_pages_grow(input->budget, &pages, capacity, wanted > 2 * *capacity ? wanted : 2 * *capacity, error);
    *buffer = pages;
    return status;
}

hawser_status hw_check_text(const hw_input_file *file, uint64_t line, const char *begin, const char *end,
                            hawser_error *error)
{
    const char *found = end > begin ? memchr(begin, '\0', (size_t)(end - begin)) : NULL;
    if (found == NULL)
        return HAWSER_OK;
    const char *row = found;
    while (row > begin && row[-1] != '\n')
        row--;
    line += hw_count(begin, row, '\n');
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s:%llu:%llu: is a zero byte, which text cannot have; is this a binary file?", file->name,
                       (unsigned long long)line, (unsigned long long)(found - row) + 1);
}

/* Refuses more text for one row than the input's size explains: a few bytes of an archive can unpack to many gigabytes. */
static hawser_status check_length(const hw_input_file *file, uint64_t line, uint64_t bytes, hawser_error *error)
{
    uint64_t packed = hw_stream_consumed(file->stream);
    if (bytes <= HW_LINE_FREE + HW_LINE_SHARE * packed)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "%s:%llu: no row ends within %llu MiB of text, which were unpacked from %llu bytes; is this an archive "
        "of text?",
        file->name, (unsigned long long)line, (unsigned long long)bytes >> 20, (unsigned long long)packed);
}

/* Returns whether a head has a whole line that is not empty. */
static bool has_line(const hw_input_file *file)
{
    if (file->head_used == 0)
        return false;
    const char *at = file->head, *end = at + file->head_used;
    if (file->head_used >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    while (at < end && (*at == '\n' || *at == '\r'))
        at++;
    return at < end && memchr(at, '\n', (size_t)(end - at)) != NULL;
}

/* Keeps a failure of an eager input until the lines that were read before it are distributed. */
static hawser_status keep_failure(hw_input *input, hawser_status status, const hawser_error *error)
{
    input->late = status;
    if (error != NULL)
        input->late_error = *error;
    return HAWSER_OK;
}

/* `wait`: also of an eager input some bytes are waited for. */
static hawser_status extend_head(hw_input *input, hw_input_file *file, size_t wanted, bool wait, size_t *got,
                                 hawser_error *error)
{
    *got = 0;
    if (wanted <= file->head_used)
        return HAWSER_OK;
    HAWSER_TRY(need_stream(input, file, error));
    HAWSER_TRY(make_space(input, &file->head, &file->head_capacity, wanted, error));
    bool ended = false;
    size_t space = wanted - file->head_used;
    char *to = file->head + file->head_used;
    hawser_status status = input->eager ? hw_stream_read_some(file->stream, to, space, wait, -1, got, &ended, error)
                                        : hw_stream_read(file->stream, to, space, got, error);
    file->head_used += *got;
    file->in_head = input->eager ? ended || status != HAWSER_OK : *got < space;
    return input->eager && status != HAWSER_OK && has_line(file) ? keep_failure(input, status, error) : status;
}

bool hw_input_is_all(const hw_input *input, size_t file)
{
    return input->files[file].map != NULL || input->files[file].in_head;
}

hawser_status hw_input_first(hw_input *input, size_t number, size_t least, const char **text, size_t *bytes,
                             hawser_error *error)
{
    hw_input_file *file = &input->files[number];
    size_t got;
    do
        HAWSER_TRY(file->map == NULL ? extend_head(input, file, least, !has_line(file), &got, error) : HAWSER_OK);
    while (file->map == NULL && input->eager && got > 0 && !has_line(file));
    *text = file->map != NULL ? file->map : file->head;
    *bytes = file->map != NULL ? file->bytes : file->head_used;
    return *bytes > 0 ? HAWSER_OK : hawser_fail(error, HAWSER_BAD_INPUT, "%s: is empty", file->name);
}

hawser_status hw_input_head(hw_input *input, size_t number, size_t least, const char **text, size_t *bytes,
                            hawser_error *error)
{
    hw_input_file *file = &input->files[number];
    HAWSER_TRY(hw_input_first(input, number, least, text, bytes, error));
    for (size_t got = 1, seen = 0; file->map == NULL && got > 0; seen = file->head_used - got) {
        const char *head = file->head, *end = head + file->head_used;
        if (seen > 0 || least > HW_LINE_FREE)
            HAWSER_TRY(check_length(file, 1 + hw_count(head, end, '\n'), file->head_used, error));
        if (memchr(head + seen, '\n', file->head_used - seen) != NULL)
            break;
        HAWSER_TRY(hw_check_text(file, 1, head + seen, end, error));
        HAWSER_TRY(extend_head(input, file, 2 * file->head_used, !has_line(file), &got, error));
    }
    *text = file->map != NULL ? file->map : file->head;
    *bytes = file->map != NULL ? file->bytes : file->head_used;
    return HAWSER_OK;
}

hawser_status hw_input_head_on(hw_input *input, size_t number, const char **text, size_t *bytes, bool *more,
                               hawser_error *error)
{
    hw_input_file *file = &input->files[number];
    size_t got = 0;
    if (input->late != HAWSER_OK)
        return hawser_fail(error, input->late, "%s", input->late_error.text);
    if (!hw_input_is_all(input, number))
        HAWSER_TRY(extend_head(input, file, 2 * file->head_used, true, &got, error));
    *text = file->map != NULL ? file->map : file->head;
    *bytes = file->map != NULL ? file->bytes : file->head_used;
    *more = got > 0;
    return HAWSER_OK;
}

hawser_status hw_input_whole(hw_input *input, size_t number, uint64_t most, const char **text, size_t *bytes, void **buffer,
                             size_t *capacity, hawser_error *error)
{
    hw_input_file *file = &input->files[number];
    *buffer = NULL;
    *capacity = 0;
    if (file->map == NULL) { /* the head becomes the whole file */
        most = most < SIZE_MAX / 4 ? most : SIZE_MAX / 4;
        size_t least = file->head_used > 0 ? file->head_used : 1 << 20, got = 1;
        while (got > 0 && file->head_used <= most) {
            least = 2 * least <= most ? 2 * least : (size_t)most + 1;
            HAWSER_TRY(extend_head(input, file, least, !has_line(file), &got, error));
        }
        *bytes = file->head_used;
        *buffer = *bytes > 0 ? file->head : NULL;
        *capacity = *bytes > 0 ? file->head_capacity : 0;
        if (*bytes == 0)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is empty", file->name);
        file->head = NULL;
        file->head_capacity = 0;
        *text = *buffer;
        input->text += *bytes;
        end_stream(input, file);
        return HAWSER_OK;
    }
    *text = file->map;
    *bytes = file->bytes;
    input->text += *bytes;
    return HAWSER_OK;
}

static void close_line(char *buffer, size_t *bytes)
{
    if (buffer[*bytes - 1] != '\n')
        buffer[(*bytes)++] = '\n';
    memset(buffer + *bytes, 0, HW_CHUNK_SLACK - 1);
}

/* Copies a file's last chunk, because nothing after a mapping may be read. */
hawser_status hw_chunk_cut(hw_input *input, const hw_input_file *file, uint64_t offset, uint64_t limit, hw_chunk *chunk,
                           hawser_error *error)
{
    enum {
        LONG = 8 << 20
    }; /* more than any chunk of shorter lines, whatever the threads: the same check refuses the same line */
    HAWSER_TRY(hw_cancellation_check(input->budget->cancellation, error));
    uint64_t left = limit - offset;
    const char *begin = file->map + offset, *end = begin + left, *whole = file->map + file->bytes;
    const char *next = end, *open = NULL;
    if (left > input->chunk_bytes && input->quoted) {
        next = row_from(input, file, begin, begin + input->chunk_bytes, &open);
    } else if (left > input->chunk_bytes) {
        const char *found = memchr(begin + input->chunk_bytes - 1, '\n', left - input->chunk_bytes + 1);
        next = found != NULL ? found + 1 : end;
    }
    next = whole - next > HW_CHUNK_SLACK ? next : end;
    /* No row follows an open quote, at which the parser fails. */
    end = open != NULL && next - open > HW_QUOTED_MOST ? open + HW_QUOTED_MOST : next;
    chunk->file = file;
    chunk->first = offset == 0;
    chunk->offset = offset;
    chunk->line = 0;
    chunk->next = (uint64_t)(next - file->map);
    chunk->begin = begin;
    chunk->end = end;
    /* Searches only implausibly long lines. The line number is needed only in a failure, so lines are counted from the
     * first. */
    if ((size_t)(end - begin) > LONG && memchr(begin, '\0', (size_t)(end - begin)) != NULL)
        HAWSER_TRY(hw_check_text(file, hw_chunk_line(chunk, begin), begin, end, error));
    if (whole - end <= HW_CHUNK_SLACK) {
        size_t bytes = (size_t)(end - begin);
        HAWSER_TRY(make_space(input, &chunk->buffer, &chunk->capacity, bytes + 1, error));
        memcpy(chunk->buffer, begin, bytes);
        close_line(chunk->buffer, &bytes);
        chunk->begin = chunk->buffer;
        chunk->end = chunk->buffer + bytes;
    }
    return HAWSER_OK;
}

/* Returns whether some line is neither empty nor a comment of any format. The text ends with a line end. */
static bool has_row(const char *at, const char *end)
{
    for (; at < end; at++) {
        while (*at == ' ' || *at == '\t' || *at == '\r')
            at++;
        if (*at == '#' || *at == '%')
            at = memchr(at, '\n', (size_t)(end - at));
        else if (*at != '\n')
            return true;
    }
    return false;
}

/* Refuses a run of chunks without a row that is longer than the input's size can explain. */
static hawser_status check_rowless(hw_input *input, const hw_input_file *file, const hw_chunk *chunk, hawser_error *error)
{
    if (input->documents || has_row(chunk->begin, chunk->end)) {
        input->rowless = 0;
        return HAWSER_OK;
    }
    if (input->rowless == 0)
        input->rowless_line = chunk->line;
    input->rowless += (uint64_t)(chunk->end - chunk->begin);
    return check_length(file, input->rowless_line, input->rowless, error);
}

/* Returns how many bytes of a stream's text, which starts with a row, are whole rows; all, if a quote is open for too long,
 * at which the parser fails. */
static size_t whole_rows(const hw_input *input, const char *text, size_t used)
{
    const char *end = text + used, *open = NULL, *at = text;
    if (used == 0 || !input->quoted) {
        at = used > 0 ? memrchr(text, '\n', used) : NULL;
        return at != NULL ? (size_t)(at + 1 - text) : 0;
    }
    if (input->offset == 0)
        at = first_row(input, text, end);
    const char *last = at < end ? hw_row_last(at, end, input->delimiter, &open) : at;
    if (open != NULL && end - open > HW_QUOTED_MOST)
        return used;
    return last > at ? (size_t)(last - text) : 0; /* comments stay with the first row, which may be a header */
}

/* Appends text to a buffer until it has `wanted` bytes, or of an eager input what can be read without waiting. `rows`: bytes
 * of whole rows in the buffer, before which it waits. If that fails behind a row, the failure is kept until the row is
 * distributed. */
static hawser_status read_on(hw_input *input, const hw_input_file *file, char *buffer, size_t *used, size_t rows,
                             size_t wanted, bool *ended, hawser_error *error)
{
    size_t got = 0;
    if (!input->eager) {
        HAWSER_TRY(hw_stream_read(file->stream, buffer + *used, wanted - *used, &got, error));
        *used += got;
        *ended = *used < wanted;
        return HAWSER_OK;
    }
    if (input->late != HAWSER_OK)
        return HAWSER_OK;
    hawser_status status =
        hw_stream_read_some(file->stream, buffer + *used, wanted - *used, rows == 0, input->stop, &got, ended, error);
    *used += got;
    if (status == HAWSER_OK || whole_rows(input, buffer, *used) == 0) {
        input->stopped |= status == HAWSER_OK && got == 0 && !*ended && rows == 0;
        return status;
    }
    return keep_failure(input, status, error);
}

/* Takes what the last chunk left over, reads further, and leaves over what follows the last line end. */
static hawser_status cut_stream(hw_input *input, hw_input_file *file, hw_chunk *chunk, hawser_error *error)
{
    HAWSER_TRY(need_stream(input, file, error));
    size_t used = file->head_used, end = 0, wanted = input->chunk_bytes;
    HAWSER_TRY(make_space(input, &chunk->buffer, &chunk->capacity, used > wanted ? used : wanted, error));
    if (used > 0)
        memcpy(chunk->buffer, file->head, used);
    for (bool ended = false; end == 0 && !ended && !input->stopped;) {
        if (used < wanted) {
            size_t rows = input->eager ? whole_rows(input, chunk->buffer, used) : 0;
            HAWSER_TRY(make_space(input, &chunk->buffer, &chunk->capacity, wanted, error));
            HAWSER_TRY(read_on(input, file, chunk->buffer, &used, rows, wanted, &ended, error));
        }
        end = whole_rows(input, chunk->buffer, used);
        if (ended)
            end = used;
        if (end == 0 && !ended) {
            HAWSER_TRY(hw_check_text(file, input->line, chunk->buffer, chunk->buffer + used, error));
            HAWSER_TRY(check_length(file, input->line, used, error));
        }
        if (!input->eager || used >= wanted)
            wanted = 2 * (used > wanted ? used : wanted);
    }
    HAWSER_TRY(make_space(input, &file->head, &file->head_capacity, used - end, error));
    if (used > end)
        memcpy(file->head, chunk->buffer + end, used - end);
    file->head_used = used - end;
    chunk->begin = chunk->end = chunk->buffer;
    if (end > 0) {
        close_line(chunk->buffer, &end);
        chunk->end = chunk->buffer + end;
    }
    chunk->line = input->line;
    chunk->next = input->offset + end;
    input->line += hw_count(chunk->begin, chunk->end, '\n');
    return check_rowless(input, file, chunk, error);
}

/* Cuts a chunk, in this reader's turn and under the lock. */
static hawser_status cut(hw_input *input, hw_chunk *chunk, bool *more, hawser_error *error)
{
    *more = false;
    const hw_input_file *now = &input->files[input->file < input->count ? input->file : 0];
    if (input->late != HAWSER_OK && whole_rows(input, now->head, now->head_used) == 0)
        return hawser_fail(error, input->late, "%s", input->late_error.text);
    while (input->file < input->count && !input->stopped) {
        hw_input_file *file = &input->files[input->file];
        chunk->file = file;
        chunk->first = input->offset == 0;
        chunk->offset = input->offset;
        if (file->skipped)
            chunk->begin = chunk->end = NULL;
        else if (file->map == NULL)
            HAWSER_TRY(cut_stream(input, file, chunk, error));
        else if (input->offset < file->to)
            HAWSER_TRY(hw_chunk_cut(input, file, input->offset, file->to, chunk, error));
        else
            chunk->begin = chunk->end = NULL;
        if (chunk->begin != chunk->end) {
            input->offset = chunk->next;
            input->text += (uint64_t)(chunk->end - chunk->begin);
            chunk->sequence = input->sequence++;
            *more = true;
            return HAWSER_OK;
        }
        if (input->stopped)
            return HAWSER_OK;
        if (file->map == NULL && chunk->first && !file->skipped)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is empty", file->name);
        end_stream(input, file);
        input->file++;
        input->offset = input->file < input->count ? input->files[input->file].from : 0;
        input->line = 1;
        input->rowless = 0;
    }
    return HAWSER_OK;
}

hawser_status hw_input_next(hw_input *input, uint32_t reader, hw_chunk *chunk, bool *more, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    *more = false;
    pthread_mutex_lock(&input->lock);
    while (!input->stopped && input->sequence % input->readers != reader)
        pthread_cond_wait(&input->turn, &input->lock);
    chunk->sequence = input->sequence;
    if (!input->stopped)
        status = cut(input, chunk, more, error);
    if (!*more)
        input->stopped = true;
    pthread_cond_broadcast(&input->turn);
    pthread_mutex_unlock(&input->lock);
    return status;
}

void hw_input_stop(hw_input *input)
{
    pthread_mutex_lock(&input->lock);
    input->stopped = true;
    pthread_cond_broadcast(&input->turn);
    pthread_mutex_unlock(&input->lock);
}

void hw_text_done(const hw_input_file *file, const char *from, const char *to)
{
    if (file->map == NULL || file->borrowed)
        return;
    uintptr_t page = 4096, begin = ((uintptr_t)from + page - 1) / page * page, end = (uintptr_t)to / page * page;
    if (end > begin)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void hw_chunk_done(const hw_chunk *chunk)
{
    if (chunk->begin != chunk->buffer)
        hw_text_done(chunk->file, chunk->begin, chunk->end);
}

void hw_chunk_release(hw_input *input, hw_chunk *chunk)
{
    hw_pages_free(input->budget, chunk->buffer, chunk->capacity);
    memset(chunk, 0, sizeof *chunk);
}

/* Returns how many bytes of text a byte of the archives read so far has unpacked to. */
static double text_ratio(const hw_input *input)
{
    double text = 0, packed = 0;
    for (size_t i = 0; i < input->count; i++) {
        const hw_input_file *file = &input->files[i];
        if (file->stream == NULL || hw_stream_packing(file->stream) == HW_PLAIN)
            continue;
        text += (double)file->head_used;
        packed += (double)hw_stream_consumed(file->stream);
    }
    return packed > 0 ? text / packed : 1;
}

uint64_t hw_input_text_bytes(const hw_input *input)
{
    double sum = 0, ratio = text_ratio(input);
    for (size_t i = 0; i < input->count; i++) {
        const hw_input_file *file = &input->files[i];
        bool plain = file->map != NULL || (file->stream != NULL && hw_stream_packing(file->stream) == HW_PLAIN);
        double bytes = file->map != NULL ? (double)(file->to - file->from) : file->skipped ? 0 : (double)file->bytes;
        sum += bytes * (plain ? 1 : ratio);
    }
    return (uint64_t)sum;
}

uint64_t hw_input_consumed(const hw_input *input)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < input->count; i++) {
        const hw_input_file *file = &input->files[i];
        uint64_t dealt = file->map != NULL ? file->to - file->from : file->skipped ? 0 : file->bytes;
        sum += file->stream != NULL ? hw_stream_consumed(file->stream) : file->ended ? file->consumed : dealt;
    }
    return sum;
}

bool hw_is_file(const char *path)
{
    struct stat facts;
    size_t split = hw_npz_split(path);
    char *archive = split != 0 ? strndup(path, split) : NULL;
    bool found = stat(archive != NULL ? archive : path, &facts) == 0 && !S_ISDIR(facts.st_mode);
    free(archive);
    return found;
}
