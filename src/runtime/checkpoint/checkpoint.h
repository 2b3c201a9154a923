/* checkpoint.h - shared by save.c, restore.c and tensors.c: the layout of a store's tables in a safetensors file. */
#ifndef HW_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define HW_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "checkpoint/checksum.h"
#include "runtime/store/asking.h"
#include "runtime/store/hub.h"
#include "runtime/store/remote.h"
#include "store/checkpoint.h"

/* Returns the rows of a table; `rows`: of a sparse one, by server. */
uint64_t hw_store_rows(const hw_table_spec *spec, const uint64_t *rows, uint32_t servers);

enum { HW_STORE_FACT = 512 }; /* bytes of the text that describes a table in a file */

/* Returns the pass over the tables in which a part is written, 0 or 1; -1: the table has no such part. */
int hw_store_pass_of(const hw_table_spec *spec, hw_part part);

/* Makes the header of the tables 0 .. tables - 1, padded; `rows` by table and server. The caller frees it. */
hawser_status hw_store_header(const hawser_store *store, uint32_t tables, const uint64_t *rows, char **text,
                              hawser_error *error) HAWSER_MUST_USE;

/* Has stand-alone servers save or load a file of this name. */
hawser_status hw_store_ask_file(hawser_store *store, hw_control_message word, const char *name,
                                hawser_error *error) HAWSER_MUST_USE;
/* Reads the descriptions of a file's tables from its header; the caller frees them. store: also checks the checksum, and
 * that tables which the store has are alike; NULL: does not. */
hawser_status hw_store_tables_of(const hawser_store *store, const char *path, hw_table_wire **tables, size_t *count,
                                 hawser_error *error) HAWSER_MUST_USE;
/* tensors.c: likewise from a header, without the checksum. */
hawser_status hw_store_tables_in(const hawser_store *store, const char *header, size_t length, const char *what,
                                 hw_table_wire **tables, size_t *count, hawser_error *error) HAWSER_MUST_USE;

/* A table of a file that is being loaded. */
typedef struct hw_saved_state {
    uint32_t table;
    uint64_t rows;
    uint64_t begin[3]; /* of its parts, in the file */
} hw_saved_state;
/* Reads a header: the tables of the file, which the store must have alike. `what` names the file. */
hawser_status hw_store_tensors(const hawser_store *store, const char *header, size_t length, uint64_t file_size,
                               const char *what, hw_saved_state **stored, size_t *count,
                               hawser_error *error) HAWSER_MUST_USE;

#endif
