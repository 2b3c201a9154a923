/* rescue.h - saves the model of a training whose own file cannot be written. */
#ifndef HW_CLI_RESCUE_H
#define HW_CLI_RESCUE_H

#include "cli/cli.h"

/* Saves a model under `path`. If that fails, reports it, tries again while --grace allows, and then saves the model in a new
 * folder in TMPDIR or /tmp. *kept is that file, else NULL; the caller frees it. HAWSER_IO then names the file, or reports
 * that the model is lost. */
hawser_status hw_rescue_model(const hw_call *call, const hawser_job *job, const hawser_model *model, const char *path,
                              char **kept, hawser_error *error) HAWSER_MUST_USE;

#endif
