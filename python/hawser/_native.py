"""Structs, enumerations and functions of include/hawser/*.h. Written by python/tools/native.py: do not edit."""
# ruff: noqa
from ctypes import *  # noqa: F403
from ctypes import CDLL, POINTER, CFUNCTYPE, Structure
from typing import Any

VERSION = '0.1.0'
DIGEST = 'b42b07d0cce97f27bb2861fad264b54c06964ea029fc387171e4e76869163e47'

HAWSER_OK = 0
HAWSER_STOP = 1
HAWSER_VIEW_CHANGED = 2
HAWSER_BAD_ARGUMENT = -1
HAWSER_BAD_OPTION = -2
HAWSER_BAD_INPUT = -3
HAWSER_IO = -4
HAWSER_NO_MEMORY = -5
HAWSER_BAD_PROGRAM = -6
HAWSER_NOT_FINITE = -7
HAWSER_DIVERGED = -8
HAWSER_PEER_LOST = -9
HAWSER_TIMEOUT = -10
HAWSER_INTERNAL = -11
HAWSER_FLAG = 0
HAWSER_INTEGER = 1
HAWSER_NUMBER = 2
HAWSER_BYTES = 3
HAWSER_SECONDS = 4
HAWSER_WORD = 5
HAWSER_TEXT = 6
HAWSER_PATH = 7
HAWSER_NUMBERS = 8
HAWSER_FROM_DEFAULT = 0
HAWSER_FROM_PROGRAM = 1
HAWSER_FROM_FILE = 2
HAWSER_FROM_ENVIRONMENT = 3
HAWSER_FROM_COMMAND_LINE = 4
HAWSER_FROM_CALL = 5
HAWSER_F64 = 0
HAWSER_F32 = 1
HAWSER_I64 = 2
HAWSER_I32 = 3
HAWSER_DENSE = 0
HAWSER_CSC = 1
HAWSER_CSR = 2
HAWSER_DENSE_ROWS = 3
HAWSER_NUMERIC = 0
HAWSER_CATEGORY = 1
HAWSER_DATE = 2
HAWSER_BY_COLUMN = 0
HAWSER_BY_ROW = 1
HAWSER_WHOLE = 2
HAWSER_FETCHED = 3
HAWSER_GUESS = 0
HAWSER_SVMLIGHT = 1
HAWSER_CSV = 2
HAWSER_MATRIX_MARKET = 3
HAWSER_NPY = 4
HAWSER_CACHE = 5
HAWSER_IDX = 6
HAWSER_DOCUMENTS = 7
HAWSER_BSP = 0
HAWSER_SSP = 1
HAWSER_TAP = 2
HAWSER_DELAY = 3
HAWSER_CENTRIC = 4
HAWSER_EXACT = 0
HAWSER_AS_BF16 = 1
HAWSER_AS_F16 = 2
HAWSER_AS_INT8 = 3
HAWSER_DATA = 1
HAWSER_REPLICATED = 2
HAWSER_PARTITIONED = 3
HAWSER_LOCAL = 4
HAWSER_STORED = 5
HAWSER_MOVING = 6
HAWSER_ENTRIES = 7
HAWSER_SUM = 0
HAWSER_MAX = 1
HAWSER_MIN = 2
HAWSER_LAST = 3
HAWSER_PLAN_LOGICAL = 0
HAWSER_PLAN_PHYSICAL = 1
HAWSER_PLAN_LOGICAL_DOT = 2
HAWSER_PLAN_PHYSICAL_DOT = 3
HAWSER_PLAN_JSON = 4
HAWSER_NOTE = 0
HAWSER_WARNING = 1
HAWSER_DROPPED = 2
HAWSER_CAUSE_NONE = 0
HAWSER_CAUSE_LINK = 1
HAWSER_CAUSE_WORKER = 2
HAWSER_CAUSE_TURNS = 3
HAWSER_CAUSE_OTHER = 4
HAWSER_MEASURES = 24
HAWSER_ENDED_TASK = 1
HAWSER_VECTOR_VALUES = 0
HAWSER_VECTOR_DELTAS = 1
HAWSER_GATHER_AVERAGE = 0
HAWSER_GATHER_SUM = 1
HAWSER_GATHER_REPLACE = 2
HAWSER_GATHER_FUNCTION = 3


# The classes come before the fields, since structs have pointers to each other.


class hawser_error(Structure):
    status: int
    text: bytes


class hawser_cancellation(Structure):
    pass


class hawser_option(Structure):
    key: bytes | None
    kind: int
    value: bytes | None
    bounds: bytes | None
    unit: bytes | None
    help: bytes | None
    group: bytes | None
    letter: bytes


class hawser_options(Structure):
    pass


class hawser_cluster(Structure):
    pass


class hawser_member(Structure):
    number: int
    host: int
    incarnation: int
    name: bytes | None
    address: bytes | None


class hawser_membership(Structure):
    number: int
    token: bytes | None
    node: int
    count: int
    members: Any


class hawser_residence(Structure):
    pass


class hawser_matrix(Structure):
    rows: int
    cols: int
    stored: int
    layout: int
    type: int
    offsets: Any
    indices: Any
    values: Any
    stride: int
    first: int
    residence: Any
    mapped: bool


class hawser_dataset(Structure):
    pass


class hawser_schema(Structure):
    pass


class hawser_schema_column(Structure):
    name: bytes | None
    kind: int
    first: int
    count: int
    levels: Any


class hawser_load(Structure):
    format: int
    target: bytes | None
    outputs: bool
    weights: bytes | None
    offset: bytes | None
    groups: bytes | None
    exposure: bytes | None
    names: bytes | None
    header: int
    delimiter: bytes
    select: bytes | None
    ignore: bytes | None
    categories: bytes | None
    dates: bytes | None
    missing: bytes | None
    text: bytes | None
    min_length: int
    counts: bool
    guess_text: bool
    min_documents: bytes | None
    max_documents: bytes | None
    max_words: int
    stop_words: bytes | None
    means: Any
    index_base: int
    schema: Any
    unseen_zero: bool
    labels: int
    target_optional: bool
    target_place: int
    id: bytes | None
    columns: int
    type: int
    rows_layout: int
    full_dense: bool
    split: int
    like: Any
    threads: int
    memory_limit: int
    part: int
    parts: int
    cancellation: Any


class hawser_arrays(Structure):
    matrix: hawser_matrix
    offsets32: Any
    target: Any
    weights: Any
    offset: Any
    groups: Any
    names: Any
    target_name: bytes | None
    outputs: hawser_matrix
    output_names: Any
    release: Any
    user: Any
    target_words: Any
    target_word_count: int


class hawser_beside(Structure):
    first: int
    count: int
    target: Any
    weights: Any
    offset: Any
    groups: Any
    outputs: Any


class hawser_load_figures(Structure):
    format: int
    index_base: int
    base_guessed: bool
    format_assumed: bool
    header_guessed: int
    bytes_read: int
    bytes_text: int
    seconds: float
    unseen_entries: int
    unseen_columns: int
    rows_dropped: int
    unknown_words: int
    text_rules: int
    text_length: int
    memory_estimate: int
    memory_taken: int
    parted: bool
    readers: int
    rows_read: Any
    target_column: int
    target_file: bool
    rows_moved: int
    bytes_here: int


class hawser_rows(Structure):
    pass


class hawser_piece(Structure):
    number: int
    data: Any
    ids: Any


class hawser_generate(Structure):
    kind: bytes | None
    rows: int
    cols: int
    per_row: float
    nonzeros: int
    noise: float
    seed: int


class hawser_model(Structure):
    pass


class hawser_job(Structure):
    pass


class hawser_program(Structure):
    pass


class hawser_state(Structure):
    pass


class hawser_operator(Structure):
    pass


class hawser_context(Structure):
    pass


class hawser_progress(Structure):
    pass


class hawser_run(Structure):
    pass


class hawser_sync(Structure):
    tightness: int
    staleness: int


class hawser_merging(Structure):
    state: Any
    sum: Any
    first: int
    count: int
    blocks: int
    clock: int
    user: Any


class hawser_state_spec(Structure):
    name: bytes | None
    kind: int
    type: int
    rows: int
    cols: int
    by_column: bool
    each: bool
    along: Any
    by_value: bool
    initial: Any
    initial_blocks: int
    data: Any
    matrix: Any
    split: int
    costs: Any
    damping: float
    gain: float
    merge: Any
    merge_user: Any
    derive: Any
    form: int
    filter: bytes | None
    quota: int
    max_held: int
    tie: Any
    lines: int
    offsets: Any
    parts: int
    cut: Any
    owner: Any
    owner_user: Any
    function: bytes | None
    parameters: Any
    summed: bool
    expect: int
    keep: bool
    where: bytes | None


class hawser_until(Structure):
    clocks: int
    seconds: float
    metric: bytes | None
    below: float
    change: float
    patience: int
    test: Any
    user: Any
    remembers: int


class hawser_unit_spec(Structure):
    name: bytes | None
    run: Any
    one: bool
    reads: Any
    updates: Any
    sync: Any
    reduces: int
    where: bytes | None


class hawser_message(Structure):
    kind: int
    node: int
    time: float
    dropped: int
    text: bytes


class hawser_messages(Structure):
    pass


class hawser_record(Structure):
    pass


class hawser_adapt_spec(Structure):
    loop: Any
    work_least: float
    work_most: float
    shares: bool
    staleness_most: int
    metric: bytes | None
    metric_is_gap: bool
    state: Any
    gain_of: Any


class hawser_opening(Structure):
    messages: Any
    cancellation: Any
    cluster: Any
    key: Any
    key_length: int
    node: int
    own_signals: bool
    short_calls: bool


class hawser_worker_figures(Structure):
    cpu_seconds: float
    wait_seconds: float
    wait_input_seconds: float
    wait_credit_seconds: float
    wait_reduction_seconds: float
    last_clock_seconds: float
    clocks: int
    bytes_sent: int
    bytes_received: int
    messages_sent: int
    peak_rss: int
    node: int


class hawser_link(Structure):
    to: int
    transport: bytes
    messages_sent: int
    bytes_sent: int
    busy_seconds: float


class hawser_accept_figures(Structure):
    node: int
    admitted: int
    wrong_key: int
    malformed: int
    timed_out: int
    evicted: int
    late_messages: int
    foreign_messages: int
    last: bytes


class hawser_flow(Structure):
    name: bytes | None
    state: bool
    messages: int
    bytes_plain: int
    bytes_sent: int


class hawser_event_figures(Structure):
    name: bytes | None
    loop: bool
    count: int
    seconds: float
    wait_seconds: float
    bytes: int
    least_seconds: float
    most_seconds: float


class hawser_fit_number(Structure):
    metric: bytes
    value: float


class hawser_policy_change(Structure):
    run: int
    clock: int
    loop: bytes
    state: bytes
    sync: Any
    gain: Any
    work: Any
    share: Any
    block: int
    quota: Any
    form: Any
    by: bytes
    reason: bytes
    fit: Any


class hawser_cause_figures(Structure):
    clocks: int
    seconds: float
    waited: float
    measure: float
    number: int


class hawser_figures(Structure):
    clocks: int
    seconds: float
    bytes_exchanged: int
    workers: int
    worker: Any
    nodes: int
    links: Any
    link_count: int
    accepts: Any
    accept_count: int
    most_lead: int
    staleness: Any
    staleness_count: int
    repeatable: bytes | None
    stop_reason: bytes | None
    flows: Any
    flow_count: int
    coalesced: int
    interrupted_by: bytes | None
    interrupted_signal: int
    changes: Any
    change_count: int
    changes_left_out: int
    events: Any
    event_count: int
    causes: Any
    chosen: bytes | None
    checkpoints: int
    checkpoint_wait_seconds: float


class hawser_training_input(Structure):
    options: Any
    data: Any
    validation: Any
    init: Any
    observer: Any
    observer_user: Any
    result_on_lead: bool
    lower: Any
    upper: Any
    penalty_factors: Any
    folds: Any
    origin: Any
    held: int


class hawser_fact(Structure):
    name: bytes | None
    value: float


class hawser_metric_row(Structure):
    name: bytes | None
    help: bytes | None
    always: bool
    traced: bool
    progress: bool
    exponent: bool
    axis: bytes | None
    log_axis: bool
    target: Any
    counts: bool
    may_rise: Any


class hawser_evaluation_input(Structure):
    model: Any
    rows: int
    outputs: int
    scored: Any
    weights: Any
    words: Any
    threshold: float


class hawser_measure(Structure):
    name: bytes | None
    value: float
    why: bytes
    values: Any
    lines: int
    width: int
    columns: Any
    heads: Any


class hawser_measure_row(Structure):
    name: bytes | None
    help: bytes | None


class hawser_path(Structure):
    count: int
    planned: int
    ended: bytes | None
    name: bytes | None
    parameter: Any
    objective: Any
    error: Any
    standard_error: Any
    folds: int
    fold_errors: Any
    fold_weights: Any
    folds_ended: bytes | None
    error_name: bytes | None
    columns: int
    outputs: int
    intercept: Any
    offsets: Any
    index: Any
    value: Any
    chosen: int
    least: int
    one_se: int


class hawser_topic_words(Structure):
    topics: int
    share: Any
    offsets: Any
    columns: Any
    probability: Any


class hawser_head(Structure):
    name: bytes | None
    width: Any
    label: Any
    compute: Any
    labels: bool


class hawser_topic(Structure):
    name: bytes | None
    title: bytes | None
    text: bytes | None


class hawser_training(Structure):
    model: Any
    run: Any
    facts: Any
    stop_reason: bytes
    interrupted: bool
    failure: hawser_error
    policy: bytes
    assumed: bytes
    notes: Any
    closing: Any


class hawser_algorithm(Structure):
    name: bytes | None
    summary: bytes | None
    citations: bytes | None
    user: Any
    rows: Any
    metrics: Any
    topics: Any
    split: int
    all_columns: bool
    no_target: bool
    no_offset: bool
    counts: bool
    no_weights: bool
    train: Any
    init_use: Any
    starts: bytes | None
    centres: Any
    plan: Any
    heads: Any
    log_link: bool
    evaluate: Any
    measures: Any
    coefficients: Any
    topic_words: Any
    path: Any
    choose: Any
    member_rows: Any


class hawser_batches(Structure):
    rows: int
    size: int
    seed: int
    stream: int
    in_order: bool
    whole: bool
    epoch: int
    next: int


class hawser_batch(Structure):
    rows: Any
    count: int
    epoch: int
    number: int
    last: bool


class hawser_mini_batch(Structure):
    rows: hawser_matrix
    numbers: Any
    target: Any
    weights: Any
    offset: Any
    epoch: int
    last: bool


class hawser_rule(Structure):
    damping: float
    gain: float
    merge: Any
    user: Any


class hawser_subproblem(Structure):
    A: Any
    coordinates: int
    first: int
    size: int
    alpha: Any
    v: Any
    sigma: float


class hawser_moving_part(Structure):
    number: int
    first_line: int
    lines: int
    first: int
    count: int
    values: Any
    type: int


class hawser_store(Structure):
    pass


class hawser_applying(Structure):
    type: int
    width: int
    rows: int
    values: Any
    memory: Any
    updates: Any
    parameters: Any


class hawser_function(Structure):
    name: bytes | None
    memory: int
    parameters: int
    check: Any
    apply: Any
    types: int


class hawser_store_filter(Structure):
    name: bytes | None


class hawser_store_options(Structure):
    functions: Any
    function_count: int
    filters: Any
    filter_count: int
    servers: int
    threads: int
    workers: int
    list_bytes: int
    cache_bytes: int
    timeout: float
    at: bytes | None
    key_file: bytes | None
    key: Any
    key_length: int
    queue: bool


class hawser_table(Structure):
    name: bytes | None
    type: int
    width: int
    sparse: bool
    first: int
    count: int
    last: int
    function: bytes | None
    parameters: Any
    data_centric: bool
    delay: int
    summed: bool
    rounding: int
    filter: bytes | None
    level: float
    staleness: int


class hawser_request(Structure):
    table: int
    keys: Any
    count: int
    first: int
    last: int
    values: Any
    out: Any
    least: int
    worker: int
    iteration: int
    reread: bool
    oldest: Any
    after: Any
    after_count: int
    done: Any
    user: Any


class hawser_ended(Structure):
    kind: int
    status: int
    task: int
    user: Any


class hawser_serving(Structure):
    key_file: bytes | None
    address_file: bytes | None
    directory: bytes | None
    load: bytes | None
    save: bytes | None
    ready: Any
    warn: Any
    unsaved: Any
    listening: Any
    damaged: Any
    argument: Any


class hawser_store_figures(Structure):
    tasks: int
    messages: int
    bytes_sent: int
    bytes_received: int
    rows_held: int
    bytes_plain: int
    lists_known: int
    lists_resent: int
    rows_cached: int
    rows_pulled: int
    rows_evicted: int
    cache_bytes: int
    served_requests: int
    served_refused: int
    served_deferred: int
    keys: int
    bytes: int
    clock_ranges: int


class hawser_chunk(Structure):
    block: int
    first: int
    count: int
    type: int
    values: Any


class hawser_vector(Structure):
    pass


class hawser_vector_options(Structure):
    name: bytes | None
    type: int
    count: int
    content: int
    sparse: bool
    width: int
    dataflow: bytes | None
    edges: bytes | None
    sync: bytes | None
    waits: bool
    any_number: bool
    rounding: int


class hawser_scatter(Structure):
    iteration: int
    values: Any
    keys: Any
    key_count: int
    to: Any
    to_count: int


class hawser_arrival(Structure):
    replica: int
    iteration: int
    scatters: int
    values: Any
    count: int
    keys: Any
    key_count: int


class hawser_gather_function(Structure):
    apply: Any
    user: Any


class hawser_vector_facts(Structure):
    generation: int
    replica: int
    replicas: int
    sources: Any
    source_count: int
    receivers: Any
    receiver_count: int
    sent: int
    sent_bytes: int
    overwritten: int
    added: int
    memory: int


hawser_unit_function = CFUNCTYPE(c_int, POINTER(hawser_context))
hawser_owner = CFUNCTYPE(c_uint32, c_uint32, c_uint64, c_uint32, c_void_p)
hawser_observer = CFUNCTYPE(None, POINTER(hawser_progress), c_void_p)
hawser_record_function = CFUNCTYPE(None, POINTER(hawser_record), c_void_p)
hawser_scratch_visit = CFUNCTYPE(None, POINTER(hawser_record), POINTER(hawser_context))
hawser_gain_of = CFUNCTYPE(c_double, c_double, c_uint32, c_void_p)
hawser_local_solver = CFUNCTYPE(c_int, POINTER(hawser_context), POINTER(hawser_subproblem))
hawser_row_numbers = CFUNCTYPE(c_int, c_size_t, c_size_t, POINTER(c_double), c_void_p)
hawser_error._fields_ = [
    ("status", c_int),
    ("text", c_char * 1000),
]
hawser_option._fields_ = [
    ("key", c_char_p),
    ("kind", c_int),
    ("value", c_char_p),
    ("bounds", c_char_p),
    ("unit", c_char_p),
    ("help", c_char_p),
    ("group", c_char_p),
    ("letter", c_char),
]
hawser_member._fields_ = [
    ("number", c_uint32),
    ("host", c_uint32),
    ("incarnation", c_uint64),
    ("name", c_char_p),
    ("address", c_char_p),
]
hawser_membership._fields_ = [
    ("number", c_uint64),
    ("token", c_char_p),
    ("node", c_uint32),
    ("count", c_uint32),
    ("members", POINTER(hawser_member)),
]
hawser_matrix._fields_ = [
    ("rows", c_size_t),
    ("cols", c_size_t),
    ("stored", c_uint64),
    ("layout", c_int),
    ("type", c_int),
    ("offsets", POINTER(c_uint64)),
    ("indices", POINTER(c_uint32)),
    ("values", c_void_p),
    ("stride", c_size_t),
    ("first", c_size_t),
    ("residence", POINTER(hawser_residence)),
    ("mapped", c_bool),
]
hawser_schema_column._fields_ = [
    ("name", c_char_p),
    ("kind", c_int),
    ("first", c_size_t),
    ("count", c_size_t),
    ("levels", POINTER(c_char_p)),
]
hawser_load._fields_ = [
    ("format", c_int),
    ("target", c_char_p),
    ("outputs", c_bool),
    ("weights", c_char_p),
    ("offset", c_char_p),
    ("groups", c_char_p),
    ("exposure", c_char_p),
    ("names", c_char_p),
    ("header", c_int),
    ("delimiter", c_char),
    ("select", c_char_p),
    ("ignore", c_char_p),
    ("categories", c_char_p),
    ("dates", c_char_p),
    ("missing", c_char_p),
    ("text", c_char_p),
    ("min_length", c_uint32),
    ("counts", c_bool),
    ("guess_text", c_bool),
    ("min_documents", c_char_p),
    ("max_documents", c_char_p),
    ("max_words", c_size_t),
    ("stop_words", c_char_p),
    ("means", POINTER(c_double)),
    ("index_base", c_int),
    ("schema", POINTER(hawser_schema)),
    ("unseen_zero", c_bool),
    ("labels", c_int),
    ("target_optional", c_bool),
    ("target_place", c_size_t),
    ("id", c_char_p),
    ("columns", c_size_t),
    ("type", c_int),
    ("rows_layout", c_int),
    ("full_dense", c_bool),
    ("split", c_int),
    ("like", POINTER(hawser_dataset)),
    ("threads", c_uint32),
    ("memory_limit", c_uint64),
    ("part", c_uint32),
    ("parts", c_uint32),
    ("cancellation", POINTER(hawser_cancellation)),
]
hawser_arrays._fields_ = [
    ("matrix", hawser_matrix),
    ("offsets32", POINTER(c_uint32)),
    ("target", POINTER(c_double)),
    ("weights", POINTER(c_double)),
    ("offset", POINTER(c_double)),
    ("groups", POINTER(c_double)),
    ("names", POINTER(c_char_p)),
    ("target_name", c_char_p),
    ("outputs", hawser_matrix),
    ("output_names", POINTER(c_char_p)),
    ("release", CFUNCTYPE(None, c_void_p)),
    ("user", c_void_p),
    ("target_words", POINTER(c_char_p)),
    ("target_word_count", c_size_t),
]
hawser_beside._fields_ = [
    ("first", c_size_t),
    ("count", c_size_t),
    ("target", POINTER(c_double)),
    ("weights", POINTER(c_double)),
    ("offset", POINTER(c_double)),
    ("groups", POINTER(c_double)),
    ("outputs", POINTER(c_double) * 64),
]
hawser_load_figures._fields_ = [
    ("format", c_int),
    ("index_base", c_int),
    ("base_guessed", c_bool),
    ("format_assumed", c_bool),
    ("header_guessed", c_int),
    ("bytes_read", c_uint64),
    ("bytes_text", c_uint64),
    ("seconds", c_double),
    ("unseen_entries", c_uint64),
    ("unseen_columns", c_uint64),
    ("rows_dropped", c_uint64),
    ("unknown_words", c_uint64),
    ("text_rules", c_uint32),
    ("text_length", c_uint32),
    ("memory_estimate", c_uint64),
    ("memory_taken", c_uint64),
    ("parted", c_bool),
    ("readers", c_uint32),
    ("rows_read", POINTER(c_uint64)),
    ("target_column", c_size_t),
    ("target_file", c_bool),
    ("rows_moved", c_uint64),
    ("bytes_here", c_uint64),
]
hawser_piece._fields_ = [
    ("number", c_uint64),
    ("data", POINTER(hawser_dataset)),
    ("ids", POINTER(c_char_p)),
]
hawser_generate._fields_ = [
    ("kind", c_char_p),
    ("rows", c_size_t),
    ("cols", c_size_t),
    ("per_row", c_double),
    ("nonzeros", c_size_t),
    ("noise", c_double),
    ("seed", c_uint64),
]
hawser_sync._fields_ = [
    ("tightness", c_int),
    ("staleness", c_uint32),
]
hawser_merging._fields_ = [
    ("state", POINTER(c_double)),
    ("sum", POINTER(c_double)),
    ("first", c_size_t),
    ("count", c_size_t),
    ("blocks", c_uint32),
    ("clock", c_uint64),
    ("user", c_void_p),
]
hawser_state_spec._fields_ = [
    ("name", c_char_p),
    ("kind", c_int),
    ("type", c_int),
    ("rows", c_size_t),
    ("cols", c_size_t),
    ("by_column", c_bool),
    ("each", c_bool),
    ("along", POINTER(hawser_state)),
    ("by_value", c_bool),
    ("initial", c_void_p),
    ("initial_blocks", c_uint32),
    ("data", POINTER(hawser_dataset)),
    ("matrix", POINTER(hawser_matrix)),
    ("split", c_int),
    ("costs", POINTER(c_double)),
    ("damping", c_double),
    ("gain", c_double),
    ("merge", CFUNCTYPE(None, POINTER(hawser_merging))),
    ("merge_user", c_void_p),
    ("derive", hawser_unit_function),
    ("form", c_int),
    ("filter", c_char_p),
    ("quota", c_uint64),
    ("max_held", c_uint64),
    ("tie", POINTER(hawser_state)),
    ("lines", c_size_t),
    ("offsets", POINTER(c_size_t)),
    ("parts", c_uint32),
    ("cut", POINTER(c_size_t)),
    ("owner", hawser_owner),
    ("owner_user", c_void_p),
    ("function", c_char_p),
    ("parameters", POINTER(c_double)),
    ("summed", c_bool),
    ("expect", c_size_t),
    ("keep", c_bool),
    ("where", c_char_p),
]
hawser_until._fields_ = [
    ("clocks", c_uint64),
    ("seconds", c_double),
    ("metric", c_char_p),
    ("below", c_double),
    ("change", c_double),
    ("patience", c_uint64),
    ("test", CFUNCTYPE(c_bool, POINTER(hawser_progress), c_void_p)),
    ("user", c_void_p),
    ("remembers", c_size_t),
]
hawser_unit_spec._fields_ = [
    ("name", c_char_p),
    ("run", hawser_unit_function),
    ("one", c_bool),
    ("reads", POINTER(hawser_state) * 32),
    ("updates", POINTER(hawser_state) * 32),
    ("sync", POINTER(hawser_sync)),
    ("reduces", c_size_t),
    ("where", c_char_p),
]
hawser_message._fields_ = [
    ("kind", c_uint32),
    ("node", c_uint32),
    ("time", c_double),
    ("dropped", c_uint64),
    ("text", c_char * 1000),
]
hawser_adapt_spec._fields_ = [
    ("loop", POINTER(hawser_operator)),
    ("work_least", c_double),
    ("work_most", c_double),
    ("shares", c_bool),
    ("staleness_most", c_uint32),
    ("metric", c_char_p),
    ("metric_is_gap", c_bool),
    ("state", POINTER(hawser_state)),
    ("gain_of", hawser_gain_of),
]
hawser_opening._fields_ = [
    ("messages", POINTER(hawser_messages)),
    ("cancellation", POINTER(hawser_cancellation)),
    ("cluster", POINTER(hawser_cluster)),
    ("key", c_void_p),
    ("key_length", c_size_t),
    ("node", c_uint32),
    ("own_signals", c_bool),
    ("short_calls", c_bool),
]
hawser_worker_figures._fields_ = [
    ("cpu_seconds", c_double),
    ("wait_seconds", c_double),
    ("wait_input_seconds", c_double),
    ("wait_credit_seconds", c_double),
    ("wait_reduction_seconds", c_double),
    ("last_clock_seconds", c_double),
    ("clocks", c_uint64),
    ("bytes_sent", c_uint64),
    ("bytes_received", c_uint64),
    ("messages_sent", c_uint64),
    ("peak_rss", c_uint64),
    ("node", c_uint64),
]
hawser_link._fields_ = [
    ("from", c_uint32),
    ("to", c_uint32),
    ("transport", c_char * 24),
    ("messages_sent", c_uint64),
    ("bytes_sent", c_uint64),
    ("busy_seconds", c_double),
]
hawser_accept_figures._fields_ = [
    ("node", c_uint32),
    ("admitted", c_uint64),
    ("wrong_key", c_uint64),
    ("malformed", c_uint64),
    ("timed_out", c_uint64),
    ("evicted", c_uint64),
    ("late_messages", c_uint64),
    ("foreign_messages", c_uint64),
    ("last", c_char * 384),
]
hawser_flow._fields_ = [
    ("name", c_char_p),
    ("state", c_bool),
    ("messages", c_uint64),
    ("bytes_plain", c_uint64),
    ("bytes_sent", c_uint64),
]
hawser_event_figures._fields_ = [
    ("name", c_char_p),
    ("loop", c_bool),
    ("count", c_uint64),
    ("seconds", c_double),
    ("wait_seconds", c_double),
    ("bytes", c_uint64),
    ("least_seconds", c_double),
    ("most_seconds", c_double),
]
hawser_fit_number._fields_ = [
    ("metric", c_char * 32),
    ("value", c_double),
]
hawser_policy_change._fields_ = [
    ("run", c_uint64),
    ("clock", c_uint64),
    ("loop", c_char * 64),
    ("state", c_char * 64),
    ("sync", hawser_sync * 2),
    ("gain", c_double * 2),
    ("work", c_double * 2),
    ("share", c_double * 2),
    ("block", c_uint32),
    ("quota", c_uint64 * 2),
    ("form", c_int * 2),
    ("by", c_char * 100),
    ("reason", c_char * 160),
    ("fit", hawser_fit_number * 4),
]
hawser_cause_figures._fields_ = [
    ("clocks", c_uint64),
    ("seconds", c_double),
    ("waited", c_double),
    ("measure", c_double),
    ("number", c_uint32),
]
hawser_figures._fields_ = [
    ("clocks", c_uint64),
    ("seconds", c_double),
    ("bytes_exchanged", c_uint64),
    ("workers", c_uint32),
    ("worker", POINTER(hawser_worker_figures)),
    ("nodes", c_uint32),
    ("links", POINTER(hawser_link)),
    ("link_count", c_size_t),
    ("accepts", POINTER(hawser_accept_figures)),
    ("accept_count", c_size_t),
    ("most_lead", c_uint32),
    ("staleness", POINTER(c_uint64)),
    ("staleness_count", c_size_t),
    ("repeatable", c_char_p),
    ("stop_reason", c_char_p),
    ("flows", POINTER(hawser_flow)),
    ("flow_count", c_size_t),
    ("coalesced", c_uint64),
    ("interrupted_by", c_char_p),
    ("interrupted_signal", c_int),
    ("changes", POINTER(hawser_policy_change)),
    ("change_count", c_size_t),
    ("changes_left_out", c_uint64),
    ("events", POINTER(hawser_event_figures)),
    ("event_count", c_size_t),
    ("causes", hawser_cause_figures * 5),
    ("chosen", c_char_p),
    ("checkpoints", c_uint64),
    ("checkpoint_wait_seconds", c_double),
]
hawser_training_input._fields_ = [
    ("options", POINTER(hawser_options)),
    ("data", POINTER(hawser_dataset)),
    ("validation", POINTER(hawser_dataset)),
    ("init", POINTER(hawser_model)),
    ("observer", hawser_observer),
    ("observer_user", c_void_p),
    ("result_on_lead", c_bool),
    ("lower", POINTER(c_double)),
    ("upper", POINTER(c_double)),
    ("penalty_factors", POINTER(c_double)),
    ("folds", POINTER(c_double)),
    ("origin", POINTER(c_double)),
    ("held", c_uint64),
]
hawser_fact._fields_ = [
    ("name", c_char_p),
    ("value", c_double),
]
hawser_metric_row._fields_ = [
    ("name", c_char_p),
    ("help", c_char_p),
    ("always", c_bool),
    ("traced", c_bool),
    ("progress", c_bool),
    ("exponent", c_bool),
    ("axis", c_char_p),
    ("log_axis", c_bool),
    ("target", CFUNCTYPE(c_double, POINTER(hawser_options), POINTER(hawser_progress))),
    ("counts", c_bool),
    ("may_rise", CFUNCTYPE(c_bool, POINTER(hawser_options), POINTER(hawser_progress))),
]
hawser_evaluation_input._fields_ = [
    ("model", POINTER(hawser_model)),
    ("rows", c_size_t),
    ("outputs", c_size_t),
    ("scored", POINTER(c_double)),
    ("weights", POINTER(c_double)),
    ("words", POINTER(c_char_p)),
    ("threshold", c_double),
]
hawser_measure._fields_ = [
    ("name", c_char_p),
    ("value", c_double),
    ("why", c_char * 120),
    ("values", POINTER(c_double)),
    ("lines", c_size_t),
    ("width", c_size_t),
    ("columns", POINTER(c_char_p)),
    ("heads", POINTER(c_double)),
]
hawser_measure_row._fields_ = [
    ("name", c_char_p),
    ("help", c_char_p),
]
hawser_path._fields_ = [
    ("count", c_size_t),
    ("planned", c_size_t),
    ("ended", c_char_p),
    ("name", c_char_p),
    ("parameter", POINTER(c_double)),
    ("objective", POINTER(c_double)),
    ("error", POINTER(c_double)),
    ("standard_error", POINTER(c_double)),
    ("folds", c_size_t),
    ("fold_errors", POINTER(c_double)),
    ("fold_weights", POINTER(c_double)),
    ("folds_ended", c_char_p),
    ("error_name", c_char_p),
    ("columns", c_size_t),
    ("outputs", c_size_t),
    ("intercept", POINTER(c_double)),
    ("offsets", POINTER(c_int64)),
    ("index", POINTER(c_int64)),
    ("value", POINTER(c_double)),
    ("chosen", c_size_t),
    ("least", c_size_t),
    ("one_se", c_size_t),
]
hawser_topic_words._fields_ = [
    ("topics", c_size_t),
    ("share", POINTER(c_double)),
    ("offsets", POINTER(c_size_t)),
    ("columns", POINTER(c_size_t)),
    ("probability", POINTER(c_double)),
]
hawser_head._fields_ = [
    ("name", c_char_p),
    ("width", CFUNCTYPE(c_size_t, POINTER(hawser_model))),
    ("label", CFUNCTYPE(c_double, POINTER(hawser_model), c_size_t)),
    ("compute", CFUNCTYPE(c_int, POINTER(hawser_model), POINTER(hawser_dataset), POINTER(c_double), POINTER(hawser_error))),
    ("labels", c_bool),
]
hawser_topic._fields_ = [
    ("name", c_char_p),
    ("title", c_char_p),
    ("text", c_char_p),
]
hawser_training._fields_ = [
    ("model", POINTER(hawser_model)),
    ("run", POINTER(hawser_run)),
    ("facts", hawser_fact * 32),
    ("stop_reason", c_char * 64),
    ("interrupted", c_bool),
    ("failure", hawser_error),
    ("policy", c_char * 400),
    ("assumed", c_char * 300),
    ("notes", c_char * 300 * 8),
    ("closing", c_char * 120 * 4),
]
hawser_algorithm._fields_ = [
    ("name", c_char_p),
    ("summary", c_char_p),
    ("citations", c_char_p),
    ("user", c_void_p),
    ("rows", POINTER(hawser_option)),
    ("metrics", POINTER(hawser_metric_row)),
    ("topics", POINTER(hawser_topic)),
    ("split", c_int),
    ("all_columns", c_bool),
    ("no_target", c_bool),
    ("no_offset", c_bool),
    ("counts", c_bool),
    ("no_weights", c_bool),
    ("train", CFUNCTYPE(c_int, POINTER(hawser_algorithm), POINTER(hawser_job), POINTER(hawser_training_input), POINTER(hawser_training), POINTER(hawser_error))),
    ("init_use", CFUNCTYPE(c_char_p, POINTER(hawser_options))),
    ("starts", c_char_p),
    ("centres", CFUNCTYPE(c_bool, POINTER(hawser_options))),
    ("plan", CFUNCTYPE(c_int, POINTER(hawser_algorithm), POINTER(hawser_job), POINTER(hawser_training_input), c_int, c_void_p, POINTER(hawser_error))),
    ("heads", POINTER(hawser_head)),
    ("log_link", c_bool),
    ("evaluate", CFUNCTYPE(c_int, POINTER(hawser_evaluation_input), POINTER(hawser_measure), POINTER(hawser_error))),
    ("measures", POINTER(hawser_measure_row)),
    ("coefficients", CFUNCTYPE(c_int, POINTER(hawser_model), c_uint64, c_void_p, POINTER(hawser_error))),
    ("topic_words", CFUNCTYPE(c_int, POINTER(hawser_model), c_uint64, POINTER(hawser_topic_words), POINTER(hawser_error))),
    ("path", CFUNCTYPE(c_int, POINTER(hawser_algorithm), POINTER(hawser_model), POINTER(hawser_path), POINTER(hawser_error))),
    ("choose", CFUNCTYPE(c_int, POINTER(hawser_model), c_char_p, POINTER(hawser_error))),
    ("member_rows", POINTER(hawser_option)),
]
hawser_batches._fields_ = [
    ("rows", c_uint64),
    ("size", c_uint64),
    ("seed", c_uint64),
    ("stream", c_uint64),
    ("in_order", c_bool),
    ("whole", c_bool),
    ("epoch", c_uint64),
    ("next", c_uint64),
]
hawser_batch._fields_ = [
    ("rows", POINTER(c_size_t)),
    ("count", c_size_t),
    ("epoch", c_uint64),
    ("number", c_uint64),
    ("last", c_bool),
]
hawser_mini_batch._fields_ = [
    ("rows", hawser_matrix),
    ("numbers", POINTER(c_size_t)),
    ("target", POINTER(c_double)),
    ("weights", POINTER(c_double)),
    ("offset", POINTER(c_double)),
    ("epoch", c_uint64),
    ("last", c_bool),
]
hawser_rule._fields_ = [
    ("damping", c_double),
    ("gain", c_double),
    ("merge", CFUNCTYPE(None, POINTER(hawser_merging))),
    ("user", c_void_p),
]
hawser_subproblem._fields_ = [
    ("A", POINTER(hawser_matrix)),
    ("coordinates", c_size_t),
    ("first", c_size_t),
    ("size", c_size_t),
    ("alpha", POINTER(c_double)),
    ("v", POINTER(c_double)),
    ("sigma", c_double),
]
hawser_moving_part._fields_ = [
    ("number", c_uint32),
    ("first_line", c_size_t),
    ("lines", c_size_t),
    ("first", c_size_t),
    ("count", c_size_t),
    ("values", c_void_p),
    ("type", c_int),
]
hawser_applying._fields_ = [
    ("type", c_int),
    ("width", c_uint32),
    ("rows", c_size_t),
    ("values", c_void_p),
    ("memory", POINTER(c_double)),
    ("updates", c_void_p),
    ("parameters", POINTER(c_double)),
]
hawser_function._fields_ = [
    ("name", c_char_p),
    ("memory", c_uint32),
    ("parameters", c_uint32),
    ("check", CFUNCTYPE(c_char_p, POINTER(c_double))),
    ("apply", CFUNCTYPE(None, POINTER(hawser_applying))),
    ("types", c_uint32),
]
hawser_store_filter._fields_ = [
    ("name", c_char_p),
    ("pass", CFUNCTYPE(c_bool, c_uint64, c_void_p, c_uint32, c_double)),
]
hawser_store_options._fields_ = [
    ("functions", POINTER(hawser_function)),
    ("function_count", c_size_t),
    ("filters", POINTER(hawser_store_filter)),
    ("filter_count", c_size_t),
    ("servers", c_uint32),
    ("threads", c_uint32),
    ("workers", c_uint32),
    ("list_bytes", c_size_t),
    ("cache_bytes", c_size_t),
    ("timeout", c_double),
    ("at", c_char_p),
    ("key_file", c_char_p),
    ("key", c_void_p),
    ("key_length", c_size_t),
    ("queue", c_bool),
]
hawser_table._fields_ = [
    ("name", c_char_p),
    ("type", c_int),
    ("width", c_uint32),
    ("sparse", c_bool),
    ("first", c_uint64),
    ("count", c_uint64),
    ("last", c_uint64),
    ("function", c_char_p),
    ("parameters", c_double * 8),
    ("data_centric", c_bool),
    ("delay", c_uint64),
    ("summed", c_bool),
    ("rounding", c_int),
    ("filter", c_char_p),
    ("level", c_double),
    ("staleness", c_uint64),
]
hawser_request._fields_ = [
    ("table", c_uint32),
    ("keys", POINTER(c_uint64)),
    ("count", c_size_t),
    ("first", c_uint64),
    ("last", c_uint64),
    ("values", c_void_p),
    ("out", c_void_p),
    ("least", c_uint64),
    ("worker", c_uint32),
    ("iteration", c_uint64),
    ("reread", c_bool),
    ("oldest", POINTER(c_uint64)),
    ("after", POINTER(c_uint64)),
    ("after_count", c_size_t),
    ("done", CFUNCTYPE(None, c_void_p, c_uint64, c_int)),
    ("user", c_void_p),
]
hawser_ended._fields_ = [
    ("kind", c_uint32),
    ("status", c_int),
    ("task", c_uint64),
    ("user", c_void_p),
]
hawser_serving._fields_ = [
    ("key_file", c_char_p),
    ("address_file", c_char_p),
    ("directory", c_char_p),
    ("load", c_char_p),
    ("save", c_char_p),
    ("ready", CFUNCTYPE(None, c_void_p, c_char_p)),
    ("warn", CFUNCTYPE(None, c_void_p, c_char_p)),
    ("unsaved", CFUNCTYPE(c_bool, c_void_p, c_char_p)),
    ("listening", CFUNCTYPE(None, c_void_p, c_char_p)),
    ("damaged", CFUNCTYPE(None, c_void_p, c_char_p)),
    ("argument", c_void_p),
]
hawser_store_figures._fields_ = [
    ("tasks", c_uint64),
    ("messages", c_uint64),
    ("bytes_sent", c_uint64),
    ("bytes_received", c_uint64),
    ("rows_held", c_uint64),
    ("bytes_plain", c_uint64),
    ("lists_known", c_uint64),
    ("lists_resent", c_uint64),
    ("rows_cached", c_uint64),
    ("rows_pulled", c_uint64),
    ("rows_evicted", c_uint64),
    ("cache_bytes", c_uint64),
    ("served_requests", c_uint64),
    ("served_refused", c_uint64),
    ("served_deferred", c_uint64),
    ("keys", c_uint64),
    ("bytes", c_uint64),
    ("clock_ranges", c_uint64),
]
hawser_chunk._fields_ = [
    ("block", c_uint32),
    ("first", c_size_t),
    ("count", c_size_t),
    ("type", c_int),
    ("values", c_void_p),
]
hawser_vector_options._fields_ = [
    ("name", c_char_p),
    ("type", c_int),
    ("count", c_size_t),
    ("content", c_int),
    ("sparse", c_bool),
    ("width", c_uint32),
    ("dataflow", c_char_p),
    ("edges", c_char_p),
    ("sync", c_char_p),
    ("waits", c_bool),
    ("any_number", c_bool),
    ("rounding", c_int),
]
hawser_scatter._fields_ = [
    ("iteration", c_uint64),
    ("values", c_void_p),
    ("keys", POINTER(c_uint64)),
    ("key_count", c_size_t),
    ("to", POINTER(c_uint32)),
    ("to_count", c_size_t),
]
hawser_arrival._fields_ = [
    ("replica", c_uint32),
    ("iteration", c_uint64),
    ("scatters", c_uint64),
    ("values", c_void_p),
    ("count", c_size_t),
    ("keys", POINTER(c_uint64)),
    ("key_count", c_size_t),
]
hawser_gather_function._fields_ = [
    ("apply", CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(hawser_arrival))),
    ("user", c_void_p),
]
hawser_vector_facts._fields_ = [
    ("generation", c_uint32),
    ("replica", c_uint32),
    ("replicas", c_uint32),
    ("sources", POINTER(c_uint32)),
    ("source_count", c_size_t),
    ("receivers", POINTER(c_uint32)),
    ("receiver_count", c_size_t),
    ("sent", c_uint64),
    ("sent_bytes", c_uint64),
    ("overwritten", c_uint64),
    ("added", c_uint64),
    ("memory", c_uint64),
]

FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "hawser_status_name": (c_char_p, [c_int]),
    "hawser_cancellation_new": (c_int, [POINTER(POINTER(hawser_cancellation)), POINTER(hawser_error)]),
    "hawser_cancel": (None, [POINTER(hawser_cancellation)]),
    "hawser_cancellation_watch": (c_int, [POINTER(hawser_cancellation), c_int, POINTER(hawser_error)]),
    "hawser_cancellation_reset": (None, [POINTER(hawser_cancellation)]),
    "hawser_cancellation_free": (None, [POINTER(hawser_cancellation)]),
    "hawser_options_new": (c_int, [POINTER(POINTER(hawser_option)), POINTER(POINTER(hawser_options)), POINTER(hawser_error)]),
    "hawser_options_free": (None, [POINTER(hawser_options)]),
    "hawser_options_set": (c_int, [POINTER(hawser_options), c_char_p, c_char_p, c_int, c_char_p, POINTER(hawser_error)]),
    "hawser_options_file": (c_int, [POINTER(hawser_options), c_char_p, POINTER(hawser_error)]),
    "hawser_options_environment": (c_int, [POINTER(hawser_options), POINTER(c_char_p), POINTER(hawser_error)]),
    "hawser_options_arguments": (c_int, [POINTER(hawser_options), POINTER(c_int), POINTER(c_char_p), POINTER(hawser_error)]),
    "hawser_options_has": (c_bool, [POINTER(hawser_options), c_char_p]),
    "hawser_options_flag": (c_bool, [POINTER(hawser_options), c_char_p]),
    "hawser_options_integer": (c_int64, [POINTER(hawser_options), c_char_p]),
    "hawser_options_number": (c_double, [POINTER(hawser_options), c_char_p]),
    "hawser_options_bytes": (c_uint64, [POINTER(hawser_options), c_char_p]),
    "hawser_options_text": (c_char_p, [POINTER(hawser_options), c_char_p]),
    "hawser_options_numbers": (POINTER(c_double), [POINTER(hawser_options), c_char_p, POINTER(c_size_t)]),
    "hawser_options_source": (c_int, [POINTER(hawser_options), c_char_p, POINTER(c_char_p)]),
    "hawser_read_number": (c_char_p, [c_char_p, POINTER(c_double)]),
    "hawser_print_number": (c_size_t, [c_char_p, c_size_t, c_double]),
    "hawser_options_row": (POINTER(hawser_option), [POINTER(hawser_options), c_size_t]),
    "hawser_cluster_open": (c_int, [POINTER(hawser_options), POINTER(hawser_opening), POINTER(POINTER(hawser_cluster)), POINTER(hawser_error)]),
    "hawser_cluster_close": (None, [POINTER(hawser_cluster)]),
    "hawser_cluster_view": (POINTER(hawser_membership), [POINTER(hawser_cluster)]),
    "hawser_matrix_columns": (hawser_matrix, [POINTER(hawser_matrix), c_size_t, c_size_t]),
    "hawser_matrix_rows": (hawser_matrix, [POINTER(hawser_matrix), c_size_t, c_size_t]),
    "hawser_column_dot": (c_double, [POINTER(hawser_matrix), c_size_t, POINTER(c_double)]),
    "hawser_column_axpy": (None, [POINTER(hawser_matrix), c_size_t, c_double, POINTER(c_double)]),
    "hawser_column_moments": (None, [POINTER(hawser_matrix), c_size_t, POINTER(c_double), c_double, c_double, POINTER(c_double), POINTER(c_double)]),
    "hawser_scan": (None, [POINTER(hawser_matrix), POINTER(c_double), POINTER(c_double)]),
    "hawser_scan_some": (None, [POINTER(hawser_matrix), POINTER(c_uint32), c_size_t, POINTER(c_double), POINTER(c_double)]),
    "hawser_combine": (None, [POINTER(hawser_matrix), POINTER(c_uint32), POINTER(c_double), c_size_t, POINTER(c_double)]),
    "hawser_multiply": (None, [POINTER(hawser_matrix), POINTER(c_double), c_double, POINTER(c_double)]),
    "hawser_gram": (c_int, [POINTER(hawser_matrix), POINTER(c_uint32), c_size_t, c_size_t, POINTER(c_double), POINTER(c_double), c_size_t, POINTER(hawser_error)]),
    "hawser_gram_rows": (c_int, [POINTER(hawser_matrix), c_size_t, c_size_t, POINTER(c_uint32), c_size_t, c_size_t, POINTER(c_double), POINTER(c_double), c_size_t, POINTER(hawser_error)]),
    "hawser_dot": (c_double, [c_size_t, POINTER(c_double), POINTER(c_double), POINTER(c_double)]),
    "hawser_kernels_name": (c_char_p, []),
    "hawser_data_rows": (POINTER(hawser_option), []),
    "hawser_load_follow": (c_int, [POINTER(hawser_load), POINTER(hawser_dataset), POINTER(POINTER(hawser_schema)), POINTER(hawser_error)]),
    "hawser_load_from_options": (c_int, [POINTER(hawser_options), POINTER(hawser_load), POINTER(hawser_error)]),
    "hawser_dataset_load": (c_int, [POINTER(c_char_p), c_size_t, POINTER(hawser_load), POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_dataset_free": (None, [POINTER(hawser_dataset)]),
    "hawser_dataset_from": (c_int, [POINTER(hawser_matrix), POINTER(c_double), POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_dataset_borrow": (c_int, [POINTER(hawser_arrays), POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_dataset_turn": (c_int, [POINTER(hawser_dataset), POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_dataset_intact": (c_int, [POINTER(hawser_dataset), POINTER(hawser_error)]),
    "hawser_dataset_centre": (c_int, [POINTER(hawser_dataset), POINTER(c_double), POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_dataset_select": (c_int, [POINTER(hawser_dataset), POINTER(c_uint32), c_size_t, POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_origin_of": (c_double, [POINTER(c_double), POINTER(c_double), c_size_t]),
    "hawser_dataset_matrix": (POINTER(hawser_matrix), [POINTER(hawser_dataset)]),
    "hawser_dataset_target": (POINTER(c_double), [POINTER(hawser_dataset)]),
    "hawser_dataset_weights": (POINTER(c_double), [POINTER(hawser_dataset)]),
    "hawser_dataset_offset": (POINTER(c_double), [POINTER(hawser_dataset)]),
    "hawser_dataset_groups": (POINTER(c_double), [POINTER(hawser_dataset)]),
    "hawser_matrix_whole": (c_int, [POINTER(hawser_matrix), POINTER(hawser_error)]),
    "hawser_dataset_means": (POINTER(c_double), [POINTER(hawser_dataset)]),
    "hawser_dataset_rounded": (c_int, [POINTER(hawser_dataset), c_size_t]),
    "hawser_dataset_column": (c_char_p, [POINTER(hawser_dataset), c_size_t]),
    "hawser_dataset_target_name": (c_char_p, [POINTER(hawser_dataset)]),
    "hawser_dataset_outputs": (c_size_t, [POINTER(hawser_dataset)]),
    "hawser_dataset_output": (POINTER(c_double), [POINTER(hawser_dataset), c_size_t]),
    "hawser_dataset_output_name": (c_char_p, [POINTER(hawser_dataset), c_size_t]),
    "hawser_dataset_beside": (c_int, [POINTER(hawser_dataset), c_size_t, c_size_t, POINTER(hawser_beside), POINTER(hawser_error)]),
    "hawser_dataset_cut": (POINTER(c_size_t), [POINTER(hawser_dataset), POINTER(c_uint32)]),
    "hawser_dataset_schema": (POINTER(hawser_schema), [POINTER(hawser_dataset)]),
    "hawser_schema_count": (c_size_t, [POINTER(hawser_schema)]),
    "hawser_schema_at": (c_bool, [POINTER(hawser_schema), c_size_t, POINTER(hawser_schema_column)]),
    "hawser_schema_target": (POINTER(c_char_p), [POINTER(hawser_schema), POINTER(c_size_t)]),
    "hawser_schema_print": (c_size_t, [POINTER(hawser_schema), c_size_t, c_char_p, c_size_t]),
    "hawser_escape": (c_size_t, [c_char_p, c_char_p, c_size_t]),
    "hawser_dataset_numbers": (c_char_p, [POINTER(hawser_dataset)]),
    "hawser_dataset_label": (c_size_t, [POINTER(hawser_dataset), c_size_t, c_char_p, c_size_t]),
    "hawser_schema_write": (c_int, [POINTER(hawser_schema), POINTER(c_char_p), POINTER(hawser_error)]),
    "hawser_schema_read": (c_int, [c_char_p, POINTER(POINTER(hawser_schema)), POINTER(hawser_error)]),
    "hawser_schema_free": (None, [POINTER(hawser_schema)]),
    "hawser_dataset_figures": (POINTER(hawser_load_figures), [POINTER(hawser_dataset)]),
    "hawser_dataset_assumed": (c_size_t, [POINTER(hawser_dataset), POINTER(hawser_options), c_char_p, c_size_t]),
    "hawser_rows_open": (c_int, [POINTER(c_char_p), c_size_t, POINTER(hawser_load), POINTER(POINTER(hawser_rows)), POINTER(hawser_error)]),
    "hawser_rows_next": (c_int, [POINTER(hawser_rows), POINTER(hawser_piece), POINTER(c_bool), POINTER(hawser_error)]),
    "hawser_rows_stop": (None, [POINTER(hawser_rows)]),
    "hawser_rows_loaded": (c_char_p, [POINTER(hawser_rows)]),
    "hawser_rows_id": (c_char_p, [POINTER(hawser_rows)]),
    "hawser_rows_figures": (None, [POINTER(hawser_rows), POINTER(hawser_load_figures)]),
    "hawser_rows_close": (None, [POINTER(hawser_rows)]),
    "hawser_dataset_save": (c_int, [POINTER(hawser_dataset), c_char_p, POINTER(hawser_error)]),
    "hawser_dataset_write": (c_int, [POINTER(hawser_dataset), c_size_t, c_size_t, c_int, c_char_p, POINTER(hawser_error)]),
    "hawser_balance": (None, [POINTER(hawser_matrix), c_size_t, POINTER(c_size_t)]),
    "hawser_dataset_generate": (c_int, [POINTER(hawser_generate), POINTER(POINTER(hawser_dataset)), POINTER(POINTER(c_double)), POINTER(hawser_error)]),
    "hawser_model_new": (c_int, [POINTER(POINTER(hawser_model)), POINTER(hawser_error)]),
    "hawser_model_free": (None, [POINTER(hawser_model)]),
    "hawser_model_tensor": (c_int, [POINTER(hawser_model), c_char_p, c_int, POINTER(c_size_t), c_void_p, POINTER(hawser_error)]),
    "hawser_model_fact": (c_int, [POINTER(hawser_model), c_char_p, c_char_p, POINTER(hawser_error)]),
    "hawser_model_spread": (c_int, [POINTER(hawser_model), c_char_p, POINTER(c_uint32), c_size_t, c_size_t, POINTER(hawser_error)]),
    "hawser_model_remove": (None, [POINTER(hawser_model), c_char_p]),
    "hawser_model_fits": (c_int, [POINTER(hawser_dataset), POINTER(hawser_options), POINTER(hawser_error)]),
    "hawser_model_get": (c_void_p, [POINTER(hawser_model), c_char_p, POINTER(c_int), POINTER(c_size_t)]),
    "hawser_model_text": (c_char_p, [POINTER(hawser_model), c_char_p]),
    "hawser_model_fact_at": (c_bool, [POINTER(hawser_model), c_size_t, POINTER(c_char_p), POINTER(c_char_p)]),
    "hawser_model_schema": (c_int, [POINTER(hawser_model), POINTER(POINTER(hawser_schema)), POINTER(hawser_error)]),
    "hawser_model_label": (c_size_t, [POINTER(hawser_model), POINTER(hawser_schema), c_size_t, c_char_p, c_size_t]),
    "hawser_model_save": (c_int, [POINTER(hawser_model), c_char_p, POINTER(hawser_error)]),
    "hawser_model_load": (c_int, [c_char_p, POINTER(POINTER(hawser_model)), POINTER(hawser_error)]),
    "hawser_model_to_bytes": (c_int, [POINTER(hawser_model), POINTER(c_void_p), POINTER(c_size_t), POINTER(hawser_error)]),
    "hawser_model_from_bytes": (c_int, [c_void_p, c_size_t, POINTER(POINTER(hawser_model)), POINTER(hawser_error)]),
    "hawser_version": (c_char_p, []),
    "hawser_headers_digest": (c_char_p, []),
    "hawser_program_new": (POINTER(hawser_program), [c_char_p, c_void_p]),
    "hawser_program_free": (None, [POINTER(hawser_program)]),
    "hawser_state_add": (POINTER(hawser_state), [POINTER(hawser_program), POINTER(hawser_state_spec)]),
    "hawser_scratch_size": (None, [POINTER(hawser_program), c_size_t, CFUNCTYPE(None, c_void_p)]),
    "hawser_metric_declare": (None, [POINTER(hawser_program), c_char_p, c_int]),
    "hawser_root": (POINTER(hawser_operator), [POINTER(hawser_program)]),
    "hawser_sequence": (POINTER(hawser_operator), [POINTER(hawser_operator)]),
    "hawser_parallel": (POINTER(hawser_operator), [POINTER(hawser_operator)]),
    "hawser_branch": (POINTER(hawser_operator), [POINTER(hawser_operator), c_char_p, CFUNCTYPE(c_bool, POINTER(hawser_progress), c_void_p), c_void_p]),
    "hawser_branch_remembers": (None, [POINTER(hawser_operator), c_size_t]),
    "hawser_loop": (POINTER(hawser_operator), [POINTER(hawser_operator), c_char_p, hawser_until, hawser_sync]),
    "hawser_unit_add": (POINTER(hawser_operator), [POINTER(hawser_operator), POINTER(hawser_unit_spec)]),
    "hawser_read_as": (c_int, [POINTER(hawser_context), c_char_p, c_int, c_void_p]),
    "hawser_write_as": (c_int, [POINTER(hawser_context), c_char_p, c_int, c_void_p]),
    "hawser_line_as": (c_int, [POINTER(hawser_context), c_char_p, c_size_t, c_int, c_bool, c_void_p]),
    "hawser_part": (c_size_t, [POINTER(hawser_context), c_char_p, POINTER(c_size_t)]),
    "hawser_part_lines": (c_size_t, [POINTER(hawser_context), c_char_p, POINTER(c_size_t)]),
    "hawser_data_beside": (c_int, [POINTER(hawser_context), c_char_p, POINTER(hawser_beside)]),
    "hawser_data_replace": (c_int, [POINTER(hawser_context), c_char_p, POINTER(hawser_matrix)]),
    "hawser_block": (c_uint32, [POINTER(hawser_context)]),
    "hawser_blocks": (c_uint32, [POINTER(hawser_context)]),
    "hawser_clock": (c_uint64, [POINTER(hawser_context)]),
    "hawser_user": (c_void_p, [POINTER(hawser_context)]),
    "hawser_scratch": (c_void_p, [POINTER(hawser_context)]),
    "hawser_gain": (c_double, [POINTER(hawser_context), c_char_p]),
    "hawser_damping": (c_double, [POINTER(hawser_context), c_char_p]),
    "hawser_yield": (c_int, [POINTER(hawser_context)]),
    "hawser_stopping": (c_bool, [POINTER(hawser_context)]),
    "hawser_random": (c_uint64, [POINTER(hawser_context)]),
    "hawser_random_below": (c_uint64, [POINTER(hawser_context), c_uint64]),
    "hawser_random_uniform": (c_double, [POINTER(hawser_context)]),
    "hawser_allreduce": (c_int, [POINTER(hawser_context), POINTER(c_double), c_size_t, c_int]),
    "hawser_report": (c_int, [POINTER(hawser_context), c_char_p, c_double]),
    "hawser_metric": (c_double, [POINTER(hawser_context), c_char_p]),
    "hawser_progress_metric": (c_double, [POINTER(hawser_progress), c_char_p]),
    "hawser_progress_set": (None, [POINTER(hawser_progress), c_char_p, c_double]),
    "hawser_progress_clock": (c_uint64, [POINTER(hawser_progress)]),
    "hawser_progress_clocks": (c_uint64, [POINTER(hawser_progress)]),
    "hawser_progress_seconds": (c_double, [POINTER(hawser_progress)]),
    "hawser_progress_loop": (c_char_p, [POINTER(hawser_progress)]),
    "hawser_progress_memory": (c_void_p, [POINTER(hawser_progress)]),
    "hawser_progress_stopping": (c_bool, [POINTER(hawser_progress)]),
    "hawser_observe": (None, [POINTER(hawser_job), hawser_observer, c_void_p]),
    "hawser_job_rows": (POINTER(hawser_option), []),
    "hawser_open": (c_int, [POINTER(c_int), POINTER(c_char_p), POINTER(POINTER(hawser_job)), POINTER(hawser_error)]),
    "hawser_open_options": (c_int, [POINTER(hawser_options), POINTER(POINTER(hawser_job)), POINTER(hawser_error)]),
    "hawser_close": (None, [POINTER(hawser_job)]),
    "hawser_job_workers": (c_uint32, [POINTER(hawser_job)]),
    "hawser_job_nodes": (c_uint32, [POINTER(hawser_job)]),
    "hawser_job_node": (c_uint32, [POINTER(hawser_job)]),
    "hawser_job_leads": (c_bool, [POINTER(hawser_job)]),
    "hawser_job_sync": (hawser_sync, [POINTER(hawser_job)]),
    "hawser_job_seed": (c_uint64, [POINTER(hawser_job)]),
    "hawser_job_damping": (c_double, [POINTER(hawser_job)]),
    "hawser_job_encoding": (c_int, [POINTER(hawser_job)]),
    "hawser_job_load": (c_int, [POINTER(hawser_job), POINTER(c_char_p), c_size_t, POINTER(hawser_load), POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_job_agree": (c_int, [POINTER(hawser_job), c_int, POINTER(hawser_error)]),
    "hawser_job_broadcast": (c_int, [POINTER(hawser_job), c_void_p, c_size_t, POINTER(hawser_error)]),
    "hawser_interrupt": (None, [POINTER(hawser_job)]),
    "hawser_plan_print": (c_int, [POINTER(hawser_job), POINTER(hawser_program), c_int, c_void_p, POINTER(hawser_error)]),
    "hawser_run_program": (c_int, [POINTER(hawser_job), POINTER(hawser_program), POINTER(POINTER(hawser_run)), POINTER(hawser_error)]),
    "hawser_run_free": (None, [POINTER(hawser_run)]),
    "hawser_result_as": (c_int, [POINTER(hawser_run), c_char_p, c_int, c_void_p, POINTER(c_size_t), POINTER(hawser_error)]),
    "hawser_result_size": (c_size_t, [POINTER(hawser_run), c_char_p]),
    "hawser_result_range_as": (c_int, [POINTER(hawser_run), c_char_p, c_size_t, c_size_t, c_int, c_void_p, POINTER(hawser_error)]),
    "hawser_result_metric": (c_double, [POINTER(hawser_run), c_char_p]),
    "hawser_messages_new": (c_int, [POINTER(POINTER(hawser_messages)), POINTER(hawser_error)]),
    "hawser_messages_free": (None, [POINTER(hawser_messages)]),
    "hawser_messages_next": (c_bool, [POINTER(hawser_messages), POINTER(hawser_message)]),
    "hawser_messages_descriptor": (c_int, [POINTER(hawser_messages)]),
    "hawser_record_reads": (c_bool, [POINTER(hawser_record)]),
    "hawser_record_bytes": (None, [POINTER(hawser_record), c_void_p, c_size_t]),
    "hawser_record_array": (None, [POINTER(hawser_record), POINTER(c_void_p), c_size_t, c_size_t, c_size_t]),
    "hawser_record_fail": (None, [POINTER(hawser_record), c_int, c_char_p]),
    "hawser_record_save": (c_int, [hawser_record_function, c_void_p, POINTER(c_void_p), POINTER(c_size_t), POINTER(hawser_error)]),
    "hawser_record_restore": (c_int, [hawser_record_function, c_void_p, c_void_p, c_size_t, POINTER(hawser_error)]),
    "hawser_scratch_record": (None, [POINTER(hawser_program), hawser_scratch_visit]),
    "hawser_tests_record": (None, [POINTER(hawser_program), hawser_record_function, c_void_p]),
    "hawser_process_record": (None, [POINTER(hawser_program), hawser_record_function, c_void_p]),
    "hawser_scratch_expect": (None, [POINTER(hawser_program), c_uint64, c_uint64]),
    "hawser_record_expect": (None, [POINTER(hawser_program), c_uint64, c_uint64, c_uint64]),
    "hawser_reduces_expect": (None, [POINTER(hawser_operator), c_size_t, c_size_t]),
    "hawser_result_expect": (None, [POINTER(hawser_state)]),
    "hawser_simulated_work": (None, [POINTER(hawser_context), c_uint64]),
    "hawser_touch": (c_int, [POINTER(hawser_context), c_char_p, c_size_t, c_size_t]),
    "hawser_publish": (c_int, [POINTER(hawser_context), c_char_p]),
    "hawser_progress_metric_name": (c_char_p, [POINTER(hawser_progress), c_size_t]),
    "hawser_progress_numbers": (None, [POINTER(hawser_progress), POINTER(c_char_p), c_size_t, POINTER(c_double)]),
    "hawser_metric_numbers_fits": (None, [POINTER(hawser_program), c_char_p]),
    "hawser_progress_gain": (None, [POINTER(hawser_progress), c_char_p, c_double]),
    "hawser_progress_sync": (None, [POINTER(hawser_progress), c_char_p, hawser_sync]),
    "hawser_progress_encoding": (None, [POINTER(hawser_progress), c_char_p, c_int]),
    "hawser_adapt": (None, [POINTER(hawser_program), POINTER(hawser_adapt_spec)]),
    "hawser_work": (c_double, [POINTER(hawser_context)]),
    "hawser_progress_work": (None, [POINTER(hawser_progress), c_char_p, c_double]),
    "hawser_progress_share": (None, [POINTER(hawser_progress), c_char_p, c_uint32, c_double]),
    "hawser_progress_quota": (None, [POINTER(hawser_progress), c_char_p, c_uint64]),
    "hawser_progress_change": (POINTER(hawser_policy_change), [POINTER(hawser_progress), c_size_t]),
    "hawser_open_with": (c_int, [POINTER(hawser_options), POINTER(hawser_opening), POINTER(POINTER(hawser_job)), POINTER(hawser_error)]),
    "hawser_job_programs": (None, [POINTER(hawser_job), c_uint32]),
    "hawser_job_idle": (c_int, [POINTER(hawser_job), c_char_p, c_char_p, POINTER(hawser_error)]),
    "hawser_job_fit": (None, [POINTER(hawser_job), c_uint64, c_uint64]),
    "hawser_job_init_given": (c_bool, [POINTER(hawser_job), c_char_p]),
    "hawser_job_init_numbers": (c_int, [POINTER(hawser_job), c_char_p, c_size_t, c_size_t, POINTER(c_double), POINTER(hawser_error)]),
    "hawser_job_grace_left": (c_double, [POINTER(hawser_job)]),
    "hawser_plan_note": (None, [POINTER(hawser_program), c_char_p]),
    "hawser_plan_text": (c_int, [POINTER(hawser_job), POINTER(hawser_program), c_int, POINTER(c_char_p), POINTER(hawser_error)]),
    "hawser_run_figures": (POINTER(hawser_figures), [POINTER(hawser_run)]),
    "hawser_run_log_view": (None, [POINTER(hawser_run), c_void_p]),
    "hawser_run_log_view_text": (c_int, [POINTER(hawser_run), POINTER(c_char_p), POINTER(hawser_error)]),
    "hawser_train": (c_int, [POINTER(hawser_algorithm), POINTER(hawser_job), POINTER(hawser_training_input), POINTER(hawser_training), POINTER(hawser_error)]),
    "hawser_train_plan": (c_int, [POINTER(hawser_algorithm), POINTER(hawser_job), POINTER(hawser_training_input), c_int, POINTER(c_char_p), POINTER(hawser_error)]),
    "hawser_algorithm_at": (POINTER(hawser_algorithm), [c_size_t]),
    "hawser_name_keywords": (None, [c_char_p]),
    "hawser_algorithm_head": (POINTER(hawser_head), [POINTER(hawser_algorithm), c_char_p]),
    "hawser_algorithm_find": (POINTER(hawser_algorithm), [c_char_p]),
    "hawser_batches_count": (c_uint64, [POINTER(hawser_batches)]),
    "hawser_batches_next": (c_int, [POINTER(hawser_batches), POINTER(c_size_t), POINTER(hawser_batch), POINTER(hawser_error)]),
    "hawser_batches_seek": (c_int, [POINTER(hawser_batches), c_uint64, POINTER(hawser_error)]),
    "hawser_batches_record": (None, [POINTER(hawser_record), c_void_p]),
    "hawser_batch_gather": (None, [POINTER(hawser_batch), POINTER(c_double), POINTER(c_double)]),
    "hawser_batch_bytes": (c_size_t, [POINTER(hawser_matrix), c_size_t]),
    "hawser_batch_pack": (c_int, [POINTER(hawser_matrix), POINTER(hawser_batch), c_void_p, c_size_t, POINTER(hawser_matrix), POINTER(hawser_error)]),
    "hawser_data_batch": (c_int, [POINTER(hawser_context), c_char_p, c_uint64, c_uint64, c_bool, POINTER(hawser_mini_batch)]),
    "hawser_subproblem_step": (None, [POINTER(hawser_subproblem), c_size_t, c_double]),
    "hawser_cocoa": (POINTER(hawser_operator), [POINTER(hawser_operator), c_char_p, hawser_local_solver, POINTER(hawser_state), POINTER(hawser_state), POINTER(POINTER(hawser_state))]),
    "hawser_cocoa_rule": (hawser_rule, [POINTER(hawser_job), c_double, hawser_sync]),
    "hawser_job_own_rows": (c_int, [POINTER(hawser_job), POINTER(hawser_dataset), c_size_t, c_size_t, POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_job_data": (c_int, [POINTER(hawser_job), POINTER(hawser_dataset), c_int, POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_job_same": (c_int, [POINTER(hawser_job), POINTER(hawser_dataset), c_int, POINTER(POINTER(hawser_dataset)), POINTER(hawser_error)]),
    "hawser_job_write_rows": (c_int, [POINTER(hawser_job), POINTER(hawser_dataset), c_char_p, c_size_t, hawser_row_numbers, c_void_p, POINTER(hawser_error)]),
    "hawser_job_origins": (c_int, [POINTER(hawser_job), POINTER(hawser_dataset), POINTER(POINTER(c_double)), POINTER(hawser_error)]),
    "hawser_job_occurring": (c_int, [POINTER(hawser_job), POINTER(hawser_dataset), POINTER(POINTER(c_uint32)), POINTER(c_size_t), POINTER(hawser_error)]),
    "hawser_job_loaded": (None, [POINTER(hawser_job), POINTER(hawser_dataset)]),
    "hawser_job_depends": (c_int, [POINTER(hawser_job), c_char_p, c_void_p, c_size_t, POINTER(hawser_error)]),
    "hawser_job_last_run": (None, [POINTER(hawser_job)]),
    "hawser_job_fetch": (c_int, [POINTER(hawser_job), POINTER(hawser_matrix), POINTER(c_uint32), c_size_t, POINTER(hawser_error)]),
    "hawser_data_fetch": (c_int, [POINTER(hawser_context), c_char_p, POINTER(c_uint32), c_size_t]),
    "hawser_state_keep": (None, [POINTER(hawser_state)]),
    "hawser_kept_points": (None, [POINTER(hawser_program), c_uint32]),
    "hawser_progress_keep": (None, [POINTER(hawser_progress), c_uint32]),
    "hawser_progress_return": (None, [POINTER(hawser_progress), c_uint32]),
    "hawser_progress_has": (c_bool, [POINTER(hawser_progress), c_uint32]),
    "hawser_run_kept": (c_bool, [POINTER(hawser_run)]),
    "hawser_next_part": (c_int, [POINTER(hawser_context), c_char_p, POINTER(hawser_moving_part)]),
    "hawser_store_open": (c_int, [POINTER(hawser_job), POINTER(hawser_store_options), POINTER(POINTER(hawser_store)), POINTER(hawser_error)]),
    "hawser_store_close": (None, [POINTER(hawser_store)]),
    "hawser_store_table": (c_int, [POINTER(hawser_store), POINTER(hawser_table), POINTER(c_uint32), POINTER(hawser_error)]),
    "hawser_store_find": (c_int, [POINTER(hawser_store), c_char_p, POINTER(hawser_table), POINTER(c_uint32), POINTER(hawser_error)]),
    "hawser_push": (c_int, [POINTER(hawser_store), POINTER(hawser_request), POINTER(c_uint64), POINTER(hawser_error)]),
    "hawser_pull": (c_int, [POINTER(hawser_store), POINTER(hawser_request), POINTER(c_uint64), POINTER(hawser_error)]),
    "hawser_push_pull": (c_int, [POINTER(hawser_store), POINTER(hawser_request), POINTER(c_uint64), POINTER(hawser_error)]),
    "hawser_store_flush": (c_int, [POINTER(hawser_store), c_uint32, POINTER(c_uint64), POINTER(hawser_error)]),
    "hawser_store_clock": (c_int, [POINTER(hawser_store), c_uint32, c_uint32, c_uint64, c_uint64, c_uint64, POINTER(hawser_error)]),
    "hawser_store_wait": (c_int, [POINTER(hawser_store), c_uint64, POINTER(hawser_error)]),
    "hawser_store_wait_any": (c_int, [POINTER(hawser_store), POINTER(c_uint64), c_size_t, POINTER(c_size_t), POINTER(hawser_error)]),
    "hawser_store_wait_all": (c_int, [POINTER(hawser_store), POINTER(hawser_error)]),
    "hawser_store_barrier": (c_int, [POINTER(hawser_store), POINTER(hawser_error)]),
    "hawser_store_ended": (c_bool, [POINTER(hawser_store), POINTER(hawser_ended), POINTER(hawser_error)]),
    "hawser_store_descriptor": (c_int, [POINTER(hawser_store)]),
    "hawser_table_inc": (c_int, [POINTER(hawser_store), c_uint32, c_uint32, POINTER(c_uint64), c_size_t, c_void_p, POINTER(hawser_error)]),
    "hawser_table_get": (c_int, [POINTER(hawser_store), c_uint32, c_uint32, POINTER(c_uint64), c_size_t, c_void_p, POINTER(hawser_error)]),
    "hawser_table_clock": (c_int, [POINTER(hawser_store), c_uint32, c_uint32, POINTER(hawser_error)]),
    "hawser_store_save": (c_int, [POINTER(hawser_store), c_char_p, POINTER(hawser_error)]),
    "hawser_store_load": (c_int, [POINTER(hawser_store), c_char_p, POINTER(hawser_error)]),
    "hawser_store_serve": (c_int, [POINTER(hawser_store), POINTER(hawser_serving), POINTER(hawser_error)]),
    "hawser_store_figures_of": (None, [POINTER(hawser_store), POINTER(hawser_store_figures)]),
    "hawser_inc_as": (c_int, [POINTER(hawser_context), c_char_p, POINTER(c_uint64), c_int, c_void_p, c_size_t]),
    "hawser_next_chunk": (c_int, [POINTER(hawser_context), c_char_p, POINTER(hawser_chunk)]),
    "hawser_prefetch": (c_int, [POINTER(hawser_context), c_char_p, POINTER(c_uint64), c_size_t, c_size_t]),
    "hawser_prefetch_wait_as": (c_int, [POINTER(hawser_context), c_char_p, c_int, c_void_p]),
    "hawser_vector_open": (c_int, [POINTER(hawser_job), POINTER(hawser_vector_options), POINTER(POINTER(hawser_vector)), POINTER(hawser_error)]),
    "hawser_vector_scatter": (c_int, [POINTER(hawser_vector), POINTER(hawser_scatter), POINTER(hawser_error)]),
    "hawser_vector_gather": (c_int, [POINTER(hawser_vector), c_uint64, c_int, POINTER(hawser_gather_function), c_void_p, POINTER(hawser_error)]),
    "hawser_vector_barrier": (c_int, [POINTER(hawser_vector), POINTER(hawser_error)]),
    "hawser_vector_finish": (c_int, [POINTER(hawser_vector), c_void_p, POINTER(hawser_error)]),
    "hawser_vector_describe": (c_int, [POINTER(hawser_vector), POINTER(hawser_vector_facts), POINTER(hawser_error)]),
    "hawser_vector_close": (None, [POINTER(hawser_vector)]),
}


def bind(library: CDLL) -> None:
    """Gives each function of the library its types."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
