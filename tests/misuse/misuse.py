#!/usr/bin/env python3
"""misuse.py HEADER... writes misuse_cases.h: calls of every public function with one thing wrong.

Each function's declaration gives its cases: a call with nothing wrong, one with each pointer NULL in turn, one with all of them NULL, one with
each enumeration out of range, and, of structs that are passed, one with each pointer or enumeration in them. tests/misuse/misuse.c has what
the calls are given (f->...) and says what must come of each. A function that this file does not know how to call is a case that fails.
"""

import re
import sys

# The inner-loop kernels of matrix.h, row_kernels.h and batches.h look at nothing but their numbers.
KERNELS = {"hawser_column_dot", "hawser_column_axpy", "hawser_column_moments", "hawser_scan", "hawser_scan_some",
           "hawser_combine", "hawser_multiply", "hawser_dot", "hawser_batch_gather"} | {
    name + end for end in ("", "_f32") for name in ("hawser_row_dot", "hawser_row_axpy", "hawser_row_distance", "hawser_row_distances", "hawser_row_squares",
                                                    "hawser_multiply_block", "hawser_accumulate_block", "hawser_distances", "hawser_nearest")}

# These return the exit code of a process: tests/integration/app.sh.
MAINS = {"hawser_app_main"}

# What a parameter is given, by its type and name, or by its type alone.
GIVEN = {
    "hawser_error *": "&f->error", "void *": "NULL", "FILE *": "f->out",
    "hawser_job *": "f->job", "const hawser_job *": "f->job", "hawser_program *": "f->program",
    "hawser_run *": "f->run", "const hawser_run *": "f->run", "hawser_store *": "f->store", "const hawser_store *": "f->store",
    "hawser_context *": "f->context", "const hawser_context *": "f->context",
    "hawser_progress *": "f->progress", "const hawser_progress *": "f->progress",
    "hawser_dataset *": "f->made_dataset", "const hawser_dataset *": "f->dataset",
    "hawser_schema *": "f->made_schema", "const hawser_schema *": "f->schema", "hawser_schema **": "&f->made_schema",
    "hawser_schema_column *": "&f->column_out",
    "hawser_model *": "f->model", "const hawser_model *": "f->model",
    "hawser_cancellation *": "f->cancellation", "hawser_cancellation **": "&f->made_cancellation",
    "hawser_options *": "f->options", "const hawser_options *": "f->options",
    "hawser_state *": "f->state", "hawser_operator *": "f->parent",
    "hawser_unit_function *": "f->unit", "hawser_observer *": "f->observer",
    "hawser_row_numbers *": "f->row_numbers",
    "hawser_local_solver *": "f->solver", "hawser_subproblem *": "NULL",
    "const hawser_matrix *": "&f->matrix", "const hawser_matrix * part": "&f->part",
    "const hawser_load *": "&f->load", "hawser_load *": "&f->load_out", "const hawser_generate *": "&f->generate",
    "hawser_rows *": "f->rows", "const hawser_rows *": "f->rows", "hawser_rows **": "&f->made_rows", "hawser_piece *": "&f->piece",
    "hawser_batches *": "&f->batches", "const hawser_batches *": "&f->batches", "hawser_batch *": "&f->batch_out", "hawser_mini_batch *": "&(hawser_mini_batch){0}", "struct hawser_context *": "f->context",
    "const hawser_batch *": "&f->batch", "hawser_matrix *": "&f->matrix_out",
    "hawser_beside *": "&f->beside", "const hawser_arrays *": "&(const hawser_arrays){.matrix = f->matrix}",
    "const hawser_algorithm *": "&probe_algorithm", "hawser_training *": "&(hawser_training){0}",
    "const hawser_training_input *": "&(const hawser_training_input){.options = f->options, .data = f->dataset}",
    "hawser_load_figures *": "&f->figures_out", "bool *": "&f->more",
    "const hawser_store_options *": "&f->store_options", "const hawser_table *": "&f->table",
    "const hawser_request *": "&f->request", "const hawser_serving *": "&f->serving",
    "hawser_store_figures *": "&f->store_figures", "hawser_ended *": "&f->ended", "hawser_table *": "&f->table_out", "hawser_chunk *": "&f->chunk", "hawser_moving_part *": "&f->moving_part",
    "hawser_job **": "&f->made_job", "hawser_run **": "&f->made_run", "hawser_store **": "&f->made_store",
    "hawser_dataset **": "&f->made_dataset", "hawser_model **": "&f->made_model", "hawser_options **": "&f->made_options",
    "hawser_messages *": "f->messages", "const hawser_messages *": "f->messages", "hawser_messages **": "&f->made_messages",
    "hawser_message *": "&f->message", "hawser_cluster *": "f->cluster", "const hawser_cluster *": "f->cluster", "hawser_cluster **": "&f->made_cluster",
    "const struct hawser_opening *": "&f->opening", "const hawser_opening *": "&f->opening",
    "const hawser_option *const *": "f->tables", "hawser_state *const *": "f->states",
    "const char *const *": "f->paths", "char *const *": "f->environment", "char **": "f->argv", "int *": "&f->argc",
    "const char *": "f->text", "char *": "f->text_out", "const char **": "&f->text_at",
    "const char * path": "f->path", "const char * name": "f->name", "const char * state": "f->name",
    "const char * metric": "f->metric", "const char * loop": "f->loop", "const char * format": '"words"',
    "const double *": "f->doubles", "double *": "f->doubles_out", "double **": "&f->truth", "const double **": "&f->doubles_at",
    "const float **": "&f->singles_at", "const int64_t **": "&f->longs_at", "const float *": "f->singles", "const int64_t *": "f->longs", "const int32_t *": "f->ints",
    "const uint32_t *": "f->columns", "const uint64_t *": "f->keys", "uint64_t *": "f->numbers_out",
    "uint32_t *": "&f->number", "uint32_t **": "&f->found", "size_t *": "f->sizes_out", "const size_t *": "f->dims", "const void *": "f->doubles",
    "hawser_type *": "&f->type_out",
    "hawser_vector *": "f->vector", "hawser_vector **": "&f->made_vector", "const hawser_vector_options *": "&f->vector_options",
    "const hawser_scatter *": "&f->scatter", "const hawser_gather_function *": "&f->gather_function", "hawser_vector_facts *": "&f->vector_facts",
    "hawser_gather_how": "HAWSER_GATHER_FUNCTION",
    "hawser_record *": "NULL", "const hawser_record *": "NULL", "hawser_record_function *": "f->visit", "hawser_scratch_visit *": "f->scratch_visit", "void **": "&f->bytes_out",
    "const hawser_state_spec *": '&(const hawser_state_spec){.name = "fresh", .kind = HAWSER_REPLICATED, .rows = 3}',
    "const hawser_unit_spec *": '&(const hawser_unit_spec){.name = "fresh", .run = f->unit}',
    "const hawser_adapt_spec *": '&(const hawser_adapt_spec){.loop = f->free_loop, .work_most = 2}',
    "const hawser_app_call *": "&(const hawser_app_call){0}", "int": "0",
    "hawser_rule": "(hawser_rule){0}", "hawser_until": "f->until", "hawser_sync": "f->sync",
    "hawser_split": "HAWSER_BY_COLUMN", "hawser_form": "HAWSER_AS_BF16", "hawser_plan_format": "HAWSER_PLAN_PHYSICAL", "hawser_type": "HAWSER_F64",
    "hawser_format": "HAWSER_SVMLIGHT", "hawser_source": "HAWSER_FROM_PROGRAM", "hawser_combine_by": "HAWSER_SUM",
    "hawser_status": "HAWSER_BAD_INPUT", "bool": "false", "double": "1.5",
    "size_t": "1", "uint32_t": "0", "uint64_t": "0", "uint64_t bound": "7",
}
# What functions are given that others are not.
SPECIAL = {
    ("hawser_rows_open", "load"): "&f->row_load", ("hawser_job_own_rows", "own"): "f->row_dataset", ("hawser_dataset_select", "dataset"): "f->row_dataset",
    ("hawser_job_own_rows", "rows"): "0", ("hawser_job_write_rows", "dataset"): "f->cut_dataset",
    ("hawser_schema_read", "text"): '"{\\"columns\\": []}"', ("hawser_schema_write", "text"): "&f->made_text",
    ("hawser_plan_text", "text"): "&f->made_text", ("hawser_run_log_view_text", "text"): "&f->made_text", ("hawser_train_plan", "text"): "&f->made_text",
    ("hawser_metric_declare", "name"): '"fresh"',
    ("hawser_part_lines", "state"): '"local"',
    ("hawser_cocoa", "name"): '"fresh"', ("hawser_cocoa", "alpha"): "f->local",
    ("hawser_cocoa", "v"): 'HAWSER_STATE(f->program, "v", HAWSER_REPLICATED, .rows = ROWS)',
    ("hawser_read_as", "numbers"): "&f->doubles_at", ("hawser_write_as", "numbers"): "&f->doubles_at",
    ("hawser_line_as", "state"): '"local"', ("hawser_line_as", "numbers"): "&f->doubles_at", ("hawser_prefetch_wait_as", "state"): '"stored"',
    ("hawser_prefetch_wait_as", "values"): "&f->doubles_at", ("hawser_result_as", "numbers"): "&f->doubles_at",
    ("hawser_result_range_as", "values"): "f->doubles_out",
    ("hawser_data_fetch", "state"): '"data"', ("hawser_data_beside", "state"): '"data"', ("hawser_data_batch", "state"): '"data"', ("hawser_data_replace", "state"): '"other"',
    ("hawser_part", "state"): '"local"',
    ("hawser_next_chunk", "state"): '"stored"', ("hawser_next_part", "state"): '"moving"', ("hawser_prefetch", "state"): '"stored"',
    ("hawser_model_get", "name"): '"tensor"', ("hawser_model_spread", "name"): '"tensor"',
    ("hawser_model_spread", "count"): "2", ("hawser_model_spread", "width"): "2", ("hawser_model_remove", "name"): '"absent"', ("hawser_model_text", "key"): '"fact"',
    ("hawser_model_tensor", "name"): "f->fresh", ("hawser_model_fact", "key"): "f->fresh",
    ("hawser_options_set", "key"): '"workers"', ("hawser_options_set", "value"): '"1"',
    ("hawser_options_file", "path"): "f->options_path", ("hawser_options_environment", "environment"): "f->environment",
    ("hawser_open_options", "options"): "f->options", ("hawser_open_with", "options"): "f->options", ("hawser_messages_free", "messages"): "NULL",
    ("hawser_cluster_open", "options"): "f->options", ("hawser_cluster_close", "cluster"): "NULL",
    ("hawser_load_from_options", "options"): "f->data_options",
    ("hawser_read_number", "text"): '"1.5"', ("hawser_algorithm_find", "name"): '"lasso"', ("hawser_algorithm_head", "name"): '"link"',
    ("hawser_job_agree", "own"): "HAWSER_OK", ("hawser_job_broadcast", "data"): "f->doubles_out",
    ("hawser_vector_gather", "array"): "f->doubles_out", ("hawser_vector_finish", "array"): "f->doubles_out",
    ("hawser_vector_close", "vector"): "NULL",
    ("hawser_model_from_bytes", "bytes"): "f->model_bytes", ("hawser_model_from_bytes", "size"): "f->model_size",
    ("hawser_model_load", "path"): "f->model_path", ("hawser_store_find", "name"): '"table"',
    ("hawser_store_load", "path"): "f->store_path", ("hawser_store_save", "path"): "f->store_path",
    ("hawser_run_program", "job"): "f->other_job", ("hawser_store_wait", "task"): "f->task", ("hawser_store_open", "job"): "f->other_job", ("hawser_store_wait_any", "tasks"): "f->tasks",
    ("hawser_print_number", "size"): "sizeof f->text_out", ("hawser_table_get", "out"): "f->doubles_out",
    ("hawser_table_inc", "table"): "f->near_table", ("hawser_table_get", "table"): "f->near_table",
    ("hawser_table_clock", "table"): "f->near_table", ("hawser_store_flush", "table"): "f->held_table",
    ("hawser_gram", "fresh"): "0", ("hawser_gram_rows", "fresh"): "0", ("hawser_gram_rows", "begin"): "0",
    ("hawser_gram_rows", "end"): "1", ("hawser_dataset_write", "begin"): "0", ("hawser_dataset_write", "end"): "ROWS",
    ("hawser_matrix_columns", "begin"): "0", ("hawser_matrix_rows", "begin"): "0",
    ("hawser_dataset_free", "dataset"): "NULL", ("hawser_job_fetch", "matrix"): "&f->matrix",
    ("hawser_progress_sync", "loop"): '"loop"', ("hawser_progress_work", "loop"): '"loop"', ("hawser_progress_share", "loop"): '"loop"',
    ("hawser_progress_share", "share"): "0.5", ("hawser_progress_quota", "state"): '"filtered"', ("hawser_progress_quota", "quota"): "8", ("hawser_progress_encoding", "state"): '"filtered"', ("hawser_progress_encoding", "form"): "HAWSER_EXACT", ("hawser_loop", "name"): '"fresh"', ("hawser_branch", "name"): '"fresh"',
    ("hawser_record_restore", "object"): "f->doubles_out", ("hawser_record_restore", "size"): "0",
    ("hawser_batch_pack", "memory"): "f->doubles_out", ("hawser_batch_pack", "bytes"): "sizeof f->doubles_out",
    ("hawser_store_clock", "first"): "0", ("hawser_store_clock", "last"): "0",
}
# Pointers that are documented to be optional: the call must end as the sound one does.
OPTIONAL = {
    ("*", "error"), ("*", "user"), ("*", "initial"), ("*", "weights"),
    ("hawser_dataset_from", "target"), ("hawser_dataset_generate", "truth"), ("hawser_model_get", "type"),
    ("hawser_schema_target", "count"), ("hawser_schema_print", "text"), ("hawser_escape", "text"),
    ("hawser_dataset_label", "text"), ("hawser_model_label", "schema"), ("hawser_model_label", "text"),
    ("hawser_model_get", "dims"), ("hawser_model_fact_at", "key"), ("hawser_model_fact_at", "value"),
    ("hawser_options_environment", "environment"), ("hawser_options_source", "where"), ("hawser_options_numbers", "count"),
    ("hawser_open_with", "opening"), ("hawser_cluster_open", "opening"), ("hawser_program_new", "name"),
    ("hawser_part_lines", "first"),
    ("hawser_branch", "name"), ("hawser_loop", "name"),
    ("hawser_scratch_size", "release"), ("hawser_scratch_record", "visit"),
    ("hawser_tests_record", "visit"), ("hawser_tests_record", "object"),
    ("hawser_process_record", "visit"), ("hawser_process_record", "object"),
    ("hawser_part", "first"), ("hawser_result_as", "count"),
    ("hawser_prefetch", "keys"), ("hawser_observe", "observer"),
    ("hawser_store_open", "options"), ("hawser_store_find", "table"), ("hawser_store_serve", "serving"),
    ("hawser_read_number", "value"), ("hawser_print_number", "text"), ("hawser_model_fits", "options"), ("hawser_plan_note", "note"), ("hawser_name_keywords", "text"),
    # A mistake that no program can remember, or that its first child remembers.
    ("hawser_cocoa", "reads"),
}
# In structs: pointers that are not optional. All others are.
NEEDED_FIELDS = {("hawser_vector_options", "name"), ("hawser_scatter", "values"), ("hawser_gather_function", "apply"),
                 ("hawser_generate", "kind"), ("hawser_table", "name"), ("hawser_matrix", "offsets"), ("hawser_matrix", "indices"),
                 ("hawser_matrix", "values"), ("hawser_batch", "rows"),
                 ("hawser_state_spec", "name"), ("hawser_unit_spec", "name"), ("hawser_unit_spec", "run"), ("hawser_adapt_spec", "loop")}
NEEDED_BY = {("hawser_push", "values"), ("hawser_push_pull", "values"), ("hawser_push_pull", "out"), ("hawser_pull", "out")}
# Sound calls that would end what the other cases need, never end, or need a file that an option names.
NO_SOUND_CALL = {"hawser_close", "hawser_run_free", "hawser_program_free", "hawser_options_free", "hawser_model_free",
                 "hawser_store_close", "hawser_store_serve", "hawser_interrupt", "hawser_open", "hawser_unit_fail",
                 "hawser_fail", "hawser_cancellation_free", "hawser_dataset_free", "hawser_rows_close", "hawser_prefetch_wait_as",
                 "hawser_job_fit", "hawser_job_init_numbers", "hawser_app_number", "hawser_data_beside", "hawser_data_batch"}
# A name that is not known is no mistake here: the value says so.
QUIET = {"hawser_progress_metric"}
# Layouts that a state or a view does not take: its numbers stay what they are.
UNCHECKED_STRUCTS = {("hawser_matrix_columns", "A"), ("hawser_matrix_rows", "A"), ("hawser_balance", "matrix"),
                     ("hawser_job_fetch", "matrix"), ("hawser_matrix_whole", "matrix"),
                     ("hawser_cocoa_rule", "sync")}  # the loop with this sync is refused


def strip(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"^#.*(\\\n.*)*$", "", text, flags=re.M)


def split_parameters(text):
    depth, parts, now = 0, [], ""
    for c in text:
        if c == "," and depth == 0:
            parts.append(now)
            now = ""
            continue
        depth += (c == "(") - (c == ")")
        now += c
    return [p.strip() for p in parts + [now] if p.strip() not in ("", "void")]


def parameter(text, array=" *"):
    """(type, name); a pointer to a function has the type 'function', an array that of a pointer, in a struct that of its elements."""
    text = " ".join(text.split())
    found = re.match(r".*\(\*(\w+)\)\(.*\)$", text)
    if found:
        return "function", found.group(1)
    text, arrays = re.subn(r"(\s*\[\w*\])+$", "", text)
    found = re.match(r"(.*?)(\w+)$", text)
    kind = found.group(1).strip() + (array if arrays else "")
    return kind.replace(" * ", " *").replace("* *", "**").strip(), found.group(2)


class Unknown(Exception):
    """A function that this file does not know how to call."""


class Function:
    def __init__(self, result, name, parameters):
        self.result, self.name = " ".join(result.split()), name
        self.variadic = "..." in parameters
        self.parameters = [parameter(p) for p in split_parameters(parameters) if p != "..."]


def read(paths):
    functions, enums, structs = [], set(), {}
    for path in paths:
        text = strip(open(path, encoding="utf-8").read())
        enums |= set(re.findall(r"typedef enum (\w+)", text))
        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\}", text, flags=re.S):
            structs[name] = [parameter(f, "") for f in body.split(";")
                             if f.strip() and not ("[" in f and "*" in f)]  # no array of pointers can be NULL
        declared = re.findall(r"HAWSER_API\s+([^;()]*?)\b(hawser_\w+)\s*\(((?:[^;()]|\([^;()]*\)(?:\([^;()]*\))?)*)\)"
                              r"(?:\s+HAWSER_\w+(?:\([^)]*\))?)*\s*;", text)
        if len(declared) != len(re.findall(r"^HAWSER_API", text, flags=re.M)):
            sys.exit(f"misuse.py: {path} declares functions in a form that is not understood")
        functions += [Function(*d) for d in declared]
    return functions, enums, structs


def is_pointer(kind):
    return kind.endswith("*") or kind == "function" or kind in ("hawser_unit_function", "hawser_observer")


def given(function, kind, name):
    spaced = kind + (" " if not kind.endswith("*") else " ") + name
    for key in ((function.name, name),):
        if key in SPECIAL:
            return SPECIAL[key]
    if kind == "function":
        return f"f->{name}"
    for key in (spaced, kind):
        if key in GIVEN:
            return GIVEN[key]
    raise Unknown(f"it takes '{kind} {name}'; say in tests/misuse what it is given")


def optional(function, name):
    return ("*", name) in OPTIONAL or (function.name, name) in OPTIONAL


def base_of(kind):
    return kind.replace("const ", "").rstrip(" *")


class Writer:
    def __init__(self):
        self.cases = []

    def case(self, function, words, arguments, expected, before=""):
        call = f"{function.name}({', '.join(arguments)})"
        if function.variadic and not arguments[-1] == "NULL":
            call = f"{function.name}({', '.join(arguments)})"
        where = ("IN_UNIT" if any("hawser_context" in k for k, _ in function.parameters) else
                 "IN_OBSERVER" if any("hawser_progress" in k for k, _ in function.parameters) else
                 "BUILDING" if builds(function) else "ANYWHERE")
        self.cases.append((where, words, before, function, call, expected))


def builds(function):
    return any(k in ("hawser_program *", "hawser_state *", "hawser_operator *") for k, _ in function.parameters) and \
        function.name not in ("hawser_plan_print", "hawser_plan_text", "hawser_run_program", "hawser_program_free")


def struct_cases(writer, function, structs, enums):
    for at, (kind, name) in enumerate(function.parameters):
        base = base_of(kind)
        if base not in structs or kind.count("*") > 1 or (is_pointer(kind) and not kind.startswith("const")) or \
           (function.name, name) in UNCHECKED_STRUCTS:
            continue
        sound = [given(function, k, n) for k, n in function.parameters]
        for field_kind, field in structs[base]:
            value = sound[at].lstrip("&")
            if field_kind in enums:
                wrong, expected = f"({field_kind})99", "REFUSED"
            elif is_pointer(field_kind) and field_kind != "struct hawser_residence *":
                needed = (base, field) in NEEDED_FIELDS or (function.name, field) in NEEDED_BY
                wrong, expected = "NULL", "REFUSED" if needed else "ANY"
            else:
                continue
            if base == "hawser_matrix" and field in ("offsets", "indices"):
                value = "f->sparse"
            before = f"{base} bad = {value}; bad.{field} = {wrong};"
            arguments = list(sound)
            arguments[at] = "&bad" if is_pointer(kind) else "bad"
            writer.case(function, f"{function.name}: {name}->{field} is {wrong}", arguments, expected, before)


def without(function, at):
    """What a call must come to whose parameter number `at` is NULL: where it is what the call is about, nothing is told to anybody."""
    if optional(function, function.parameters[at][1]):
        return "SOUND"
    return "NOTHING" if (at == 0 or function.name in QUIET) and function.result != "hawser_status" else "REFUSED"


def write_function(writer, function, structs, enums):
    sound = [given(function, k, n) for k, n in function.parameters]
    pointers = [i for i, (k, _) in enumerate(function.parameters) if is_pointer(k)]
    ends = function.name in NO_SOUND_CALL
    if not ends:
        writer.case(function, f"{function.name}: nothing is wrong", sound, "SOUND")
    for i in pointers:
        if sound[i] == "NULL" or (ends and optional(function, function.parameters[i][1]) and function.result == "hawser_status"):
            continue
        arguments = list(sound)
        arguments[i] = "NULL"
        writer.case(function, f"{function.name}: {function.parameters[i][1]} is NULL", arguments, without(function, i))
    if len(pointers) > 1:
        arguments = ["NULL" if i in pointers else a for i, a in enumerate(sound)]
        expected = "SOUND" if all(optional(function, function.parameters[i][1]) for i in pointers) else without(function, 0)
        if not (ends and expected == "SOUND"):
            writer.case(function, f"{function.name}: every pointer is NULL", arguments, expected)
    for i, (kind, name) in enumerate(function.parameters):
        for wrong in ("-1", "99") if kind in enums else ():
            arguments = list(sound)
            arguments[i] = f"({kind}){wrong}"
            expected = "ANY" if kind == "hawser_status" else "REFUSED"
            writer.case(function, f"{function.name}: {name} is {wrong}", arguments, expected)
    struct_cases(writer, function, structs, enums)


def main():
    functions, enums, structs = read(sys.argv[1:])
    writer = Writer()
    for function in functions:
        if function.name in KERNELS | MAINS or not function.parameters:
            continue
        try:
            write_function(writer, function, structs, enums)
        except Unknown as reason:
            writer.cases.append(("ANYWHERE", f"{function.name}: {reason}", "", None, "", ""))
    print("/* Written by tests/misuse/misuse.py. */")
    for number, (where, words, before, function, call, expected) in enumerate(writer.cases):
        if function is None:
            body = 'complain(f, "unknown");'
        elif function.name == "hawser_program_new":
            body = f"hawser_program_free({call}); check_nothing(f, ANY);"
        elif function.result == "hawser_status":
            body = f"check_status(f, {expected}, {call});"
        elif function.result.endswith("*"):
            body = f"check_pointer(f, {expected}, {call});"
        elif function.result in ("double",):
            body = f"check_number(f, {expected}, {call});"
        elif function.result in ("bool", "uint32_t", "uint64_t", "int64_t", "size_t", "hawser_form", "hawser_source"):
            body = f"check_number(f, {expected}, (double){call});"
        elif function.result == "int":  # a descriptor, or -1
            body = f"check_number(f, {expected}, (double){call} + 1);"
        elif function.result == "hawser_sync":
            body = f"check_number(f, {expected}, (double){call}.tightness);"
        elif function.result == "hawser_rule":
            body = f"check_number(f, {expected}, (double){call}.gain);"
        elif function.result == "hawser_matrix":
            body = f"check_number(f, {expected}, (double){call}.stored);"
        elif function.result == "void":
            body = f"{call}; check_nothing(f, {expected});"
        else:
            body = f'complain(f, "it returns {function.result}; say in tests/misuse what that means");'
        print(f"static void case_{number}(fixture *f)\n{{\n    {before}\n    {body}\n}}")
    print("static const misuse_case cases[] = {")
    for number, (where, words, *_) in enumerate(writer.cases):
        print(f'    {{{where}, "{words}", case_{number}}},')
    print("};")
    print(f"enum {{ FUNCTIONS = {len(functions)}, CASES = {len(writer.cases)} }};")


main()
