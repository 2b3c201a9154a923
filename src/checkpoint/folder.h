/*
 * folder.h - a folder with the checkpoints of one job.
 *
 * A checkpoint is there when its manifest is: parts are written first, each whole, and the manifest gets its name by link().
 * When a job opens a folder, it writes its own token before that of the job that has it. Until the new job is accepted or
 * refused, the other one writes and deletes nothing. A job that no longer finds its token there writes no manifest and
 * deletes nothing. All names contain the token, so two jobs never write one file.
 *
 * Node 0 opens the folder. Other nodes write and read parts by part.h, if they see node 0's probe.
 */
#ifndef HW_CHECKPOINT_FOLDER_H
#define HW_CHECKPOINT_FOLDER_H

#include "checkpoint/manifest.h"
#include "checkpoint/part.h"
#include "hawser/messages.h"

enum {
    HW_KEEP_LEAST = 2,
    HW_ENDS_MOST = 32,         /* ends of runs that stay until the job ends, besides the newest checkpoints */
    HW_FOLDER_PATIENCE = 3600, /* seconds that a job waits for another to be accepted, before it takes the folder back */
};

/* An open folder; one thread at a time. */
typedef struct hw_folder {
    char *path;                                         /* absolute */
    char *given;                                        /* the user's, for messages */
    char token[HW_TOKEN_SIZE], previous[HW_TOKEN_SIZE]; /* previous: of the job before; "" if there was none */
    uint32_t keep;
    uint64_t number;      /* of the newest checkpoint that was begun */
    uint64_t found, seen; /* checkpoints from `found` to `seen`, without the first, were damaged when one was looked for */
    double waits_since;   /* hw_seconds of when another job was seen first that is not yet accepted; 0: there is none */
    bool made;            /* by this job */
    bool failing;         /* the last attempt failed, and a warning was printed */
} hw_folder;

/* Makes the folder if it is missing, and writes a token, with that of the job that has the folder behind it. keep:
 * checkpoints that are kept, at least 2. On node 0. */
hawser_status hw_folder_open(const char *path, uint32_t keep, hw_folder **folder, hawser_error *error) HAWSER_MUST_USE;
/* The job is accepted: the folder is its own, and the job that had it ends when it looks. Returns HAWSER_BAD_OPTION if
 * another job has opened the folder since. Call it before the first checkpoint and before hw_folder_clear. */
hawser_status hw_folder_accept(const hw_folder *folder, hawser_error *error) HAWSER_MUST_USE;
/* Deletes all checkpoints. */
hawser_status hw_folder_clear(const hw_folder *folder, hawser_error *error) HAWSER_MUST_USE;
void hw_folder_free(hw_folder *folder);

/* Returns whether a folder of this path on this node is the one in which node 0 has this token. Network file systems may
 * remember for 30 s that the probe was missing, so ask again later. */
bool hw_folder_shared(const char *path, const char *token);

/* Finds the newest whole checkpoint, all parts of which were read and checked. A damaged one is reported in one line that
 * names the file, and the one before it is taken. *checkpoint is NULL if the folder has no manifest. Returns
 * HAWSER_BAD_INPUT if none of them is whole. The caller frees *checkpoint. */
hawser_status hw_folder_find(hw_folder *folder, hawser_messages *messages, hw_checkpoint **checkpoint,
                             hawser_error *error) HAWSER_MUST_USE;
/* Finds the ends of earlier runs than that of `from`, and reads and checks all their parts. A damaged one is reported in one
 * line, and left out. The caller frees *ends and each of them, also after a failure. */
hawser_status hw_folder_ends(const hw_folder *folder, const hw_checkpoint *from, hawser_messages *messages,
                             hw_checkpoint ***ends, size_t *count, hawser_error *error) HAWSER_MUST_USE;
/* Reads the newest sound manifest of a folder: it is whole, and all its parts are there with their lengths. Changes nothing.
 * *checkpoint is NULL if the folder has none. If a newer one is damaged, the result is HAWSER_OK, and *error names the file.
 * The caller frees *checkpoint. */
hawser_status hw_folder_newest(const char *path, hw_checkpoint **checkpoint, hawser_error *error) HAWSER_MUST_USE;

/* Reads the manifests of the ends of runs that are kept besides the newest checkpoint, by run. What hw_folder_newest says of
 * parts holds. The caller frees *ends and each of them, also after a failure. */
hawser_status hw_folder_kept_ends(const char *path, const hw_checkpoint *newest, hw_checkpoint ***ends, size_t *count,
                                  hawser_error *error) HAWSER_MUST_USE;

/* Begins a checkpoint: sets its number and token. Deletes what attempts that failed have left. */
hawser_status hw_folder_begin(hw_folder *folder, hw_checkpoint *checkpoint, hawser_error *error) HAWSER_MUST_USE;
/* Writes the manifest, then deletes the oldest checkpoints. All parts are there. Ends of runs stay, but at most
 * HW_ENDS_MOST: those of the shortest runs are deleted. Returns HAWSER_BAD_OPTION if another job has replaced the token:
 * then the job ends. Every other failure leaves the checkpoint before. */
hawser_status hw_folder_commit(hw_folder *folder, hw_checkpoint *checkpoint, hawser_error *error) HAWSER_MUST_USE;
/* Ends an attempt of which `status` and `why` are the result. After a failure of the disk its parts are deleted, one warning
 * is printed for a series of failures, and the result is HAWSER_OK: the run goes on and tries again. Every other failure is
 * returned. */
hawser_status hw_folder_end(hw_folder *folder, const hw_checkpoint *checkpoint, hawser_status status,
                            const hawser_error *why, hawser_messages *messages, hawser_error *error) HAWSER_MUST_USE;

/* Puts back the token of the job before, which may still run, because this job was not accepted and has changed nothing.
 * Removes the folder if this job has made it, and it is empty. */
void hw_folder_give_back(const hw_folder *folder);

/* Deletes all checkpoints and the token: the program has ended. Leaves the folder and all other files in it. */
hawser_status hw_folder_remove(hw_folder *folder, hawser_error *error) HAWSER_MUST_USE;

#endif
