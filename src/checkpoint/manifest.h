/* manifest.h - the manifest of a checkpoint: what it is of, and its parts with their checksums. Its text is one line of JSON
 * and a second one with the checksum of the first. */
#ifndef HW_CHECKPOINT_MANIFEST_H
#define HW_CHECKPOINT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checkpoint/log.h"
#include "hawser/status.h"

enum { HW_TOKEN_SIZE = 17, HW_CHECKPOINT_NAME = 96 };

/* What a part is of. */
typedef enum hw_checkpoint_kind {
    HW_CHECKPOINT_DRIVER, /* index 0 */
    HW_CHECKPOINT_NODE,   /* by node of the job that wrote it */
    HW_CHECKPOINT_BLOCK   /* by block */
} hw_checkpoint_kind;
enum { HW_CHECKPOINT_KINDS = 3 };

/* A part that is on disk. Plain bytes, which a node can send to node 0. */
typedef struct hw_checkpoint_part {
    uint32_t kind, index;
    uint64_t bytes, checksum;
    char file[HW_CHECKPOINT_NAME]; /* in the folder */
} hw_checkpoint_part;

typedef struct hw_checkpoint_metric {
    const char *name;
    double value; /* NaN: unknown */
} hw_checkpoint_metric;

/* The facts of a checkpoint. Of one that was read, hw_checkpoint_free frees all; who writes one owns what it points to. */
typedef struct hw_checkpoint {
    uint64_t number;               /* set by hw_folder_begin */
    char token[HW_TOKEN_SIZE];     /* of the job that wrote it; set by hw_folder_begin */
    char file[HW_CHECKPOINT_NAME]; /* set by hw_folder_commit and by a read */
    const char *build, *program, *loop;
    uint64_t run;   /* runs of the job that ended before this one */
    bool ended;     /* it is of the end of its run, which a job that goes on does not repeat */
    uint64_t clock; /* of the loop */
    double seconds; /* of the run, over all its starts */
    double time;    /* seconds since 1970 */
    uint32_t workers;
    uint64_t bytes;       /* of all parts; set by hw_folder_commit and by a read */
    const char *identity; /* lines that the run which goes on must have as well (hw_checkpoint_same) */
    const hw_checkpoint_metric *metrics;
    size_t metric_count;
    const hw_checkpoint_part *parts;
    size_t part_count;
    hw_log_mark logs[HW_LOGS];
    void *owned; /* of one that was read */
} hw_checkpoint;

/* Writes the text of a manifest; the caller frees it. */
hawser_status hw_checkpoint_print(const hw_checkpoint *checkpoint, char **text, hawser_error *error) HAWSER_MUST_USE;
/* Reads the text of a manifest. Any bytes are allowed. `path` is for messages, and its last component must be the name of
 * this manifest. */
hawser_status hw_checkpoint_parse(const char *text, size_t length, const char *path, hw_checkpoint **checkpoint,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Likewise from a file. */
hawser_status hw_checkpoint_read(const char *path, hw_checkpoint **checkpoint, hawser_error *error) HAWSER_MUST_USE;
void hw_checkpoint_free(hw_checkpoint *checkpoint);

/* Finds a part. Returns NULL if there is none. */
const hw_checkpoint_part *hw_checkpoint_find(const hw_checkpoint *checkpoint, hw_checkpoint_kind kind, uint32_t index);

/* Checks that a checkpoint is of the run that `here` describes (its build, workers and identity). Returns HAWSER_BAD_OPTION
 * with the first difference. `folder` is for the message. */
hawser_status hw_checkpoint_same(const hw_checkpoint *there, const hw_checkpoint *here, const char *folder,
                                 hawser_error *error) HAWSER_MUST_USE;

/* Names of files in a folder: "checkpoint-00000012-TOKEN.json" of a manifest, and of a part the same with
 * ".block-3.safetensors". Reading returns false for every other name. label->part: it is no manifest. label->kind is
 * HW_CHECKPOINT_KINDS for a file that a killed process left. */
void hw_checkpoint_name(char name[HW_CHECKPOINT_NAME], uint64_t number, const char *token);
void hw_checkpoint_part_name(char name[HW_CHECKPOINT_NAME], uint64_t number, const char *token, hw_checkpoint_kind kind,
                             uint32_t index);
typedef struct hw_checkpoint_label {
    uint64_t number;
    char token[HW_TOKEN_SIZE];
    bool part;
    uint32_t kind, index;
} hw_checkpoint_label;
bool hw_checkpoint_read_name(const char *name, hw_checkpoint_label *label);
/* Returns "block 3", for messages. */
const char *hw_checkpoint_part_text(uint32_t kind, uint32_t index, char text[40]);

#endif
