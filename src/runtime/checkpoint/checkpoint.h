/* checkpoint.h - what save.c, restore.c and tensors.c share: how a store's tables lie in a safetensors file. */
#ifndef HW_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define HW_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/checksum.h"
#include "runtime/store/asking.h"
#include "runtime/store/hub.h"
#include "runtime/store/remote.h"
#include "store/checkpoint.h"

/* Rows of a table; `rows`: of a sparse one, by server. */
uint64_t hw_store_rows(const hw_table_spec *spec, const uint64_t *rows, uint32_t servers);

enum { HW_STORE_FACT = 512 }; /* bytes of what a file says of a table */

/* In which pass over the tables a part is written: 0, 1; -1: the table has no such part. */
int hw_store_pass_of(const hw_table_spec *spec, hw_part part);

/* The header of the tables 0 .. tables - 1, padded; `rows` by table and server. Released by free(). */
hawser_status hw_store_header(const hawser_store *store, uint32_t tables, const uint64_t *rows, char **text,
                              hawser_error *error) HAWSER_MUST_USE;

/* Has servers that run on their own save or load a file of this name. */
hawser_status hw_store_ask_file(hawser_store *store, hw_control_message word, const char *name,
                                hawser_error *error) HAWSER_MUST_USE;
/* What tables a file has, as its header says it, by whoever reads it; the caller frees them. store: its checksum is right too, and those that the
 * store has are the same there; NULL: that is not looked at. */
hawser_status hw_store_tables_of(const hawser_store *store, const char *path, hw_table_wire **tables, size_t *count,
                                 hawser_error *error) HAWSER_MUST_USE;
/* tensors.c: the same of a header, but for the checksum. */
hawser_status hw_store_tables_in(const hawser_store *store, const char *header, size_t length, const char *what,
                                 hw_table_wire **tables, size_t *count, hawser_error *error) HAWSER_MUST_USE;

/* A table of a file that is read. */
typedef struct hw_saved_state {
    uint32_t table;
    uint64_t rows;
    uint64_t begin[3]; /* of its parts, in the file */
} hw_saved_state;
/* Reads a header: the tables of the file, each of which the store has alike; `what` names the file. */
hawser_status hw_store_tensors(const hawser_store *store, const char *header, size_t length, uint64_t file_size,
                               const char *what, hw_saved_state **stored, size_t *count,
                               hawser_error *error) HAWSER_MUST_USE;

#endif
