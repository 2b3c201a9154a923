#!/usr/bin/env python3
"""Mutants of the runtime: each changes one place of a copy of the sources, and the random programs (tests/unit/runtime_programs.c), or the
test that its line names, must notice it.

A place is found by its text, in which blanks do not matter, so it may move. If a text is gone or is no longer unique, the script fails and names it:
write the place's new text into the table. In the short form that is all; HAWSER_TEST_LONG=1 builds and runs each mutant, and `mutants.py WORD ...` tries those whose name has a WORD."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.environ.get("HAWSER_SOURCE", os.path.realpath(os.path.join(HERE, "..", "..")))
LEFT_OUT = {"build", ".git"}
SLOW = 240  # seconds without an answer after which a mutant counts as noticed: blocks wait for each other

PHASE, STAGES = "src/runtime/block/phase.c", "src/program/stages.c"
CUT, MERGE, RANGE, REPLICA = ("src/exchange/" + name for name in ("cut.c", "merge.c", "range.c", "replica.c"))
PLAN, BLOCKS, DRIVER = "src/program/parallelise.c", "src/data/share/blocks.c", "src/runtime/drive/driver.c"
NUMBERS, REDO = "src/exchange/numbers_typed.h", "src/runtime/block/redo.c"
KEEP = "src/exchange/keep.c"
EXCHANGED, LOCAL = "src/runtime/block/part_exchanged.c", "src/runtime/block/part_local.c"
COMBINE = "src/exchange/combine.c"
REMEMBER, CHANGES = "src/runtime/drive/remember.c", "src/runtime/drive/changes.c"
MOVING, MOVES = "src/runtime/block/part_moving.c", "test_runtime_moving"
ENTRIES, COUNTS, OF_ENTRIES = "src/program/entries.c", "src/runtime/job/entries.c", "test_runtime_entries"
EDGE, SPARSE, MIX = "src/vector/edge.c", "src/vector/sparse.c", "src/vector/mix.c"
VECTORS, ALTERED = "src/history/vectors.c", "test_history_alterations"
ROUNDING = "test_vector_rounding"
SERVERS, OVER_SERVERS = "src/runtime/vector/servers.c", "test_vector_servers"
SCATTER, GATHER, FINISH, MEAN, SLOTS = ("src/runtime/vector/" + name for name in ("scatter.c", "gather.c", "finish.c", "mean.c", "slots.c"))
LDA = "src/algorithms/lda/"
SAMPLER, LISTS, DRAWN, TOPICS = LDA + "sampler.c", LDA + "document_topics.c", "test_algorithms_lda_sampler", "test_algorithms_lda"
NEW = "test_algorithms_topics"
RECORD = "test_runtime_record"
WALKS = "test_runtime_change_walks"
WORLDS = "test_sim_jobs"
WORLDS_OF_PROGRAMS, WORLDS_OF_CHECKPOINTS, WORLDS_OF_VECTORS = "test_sim_programs", "test_sim_checkpoints", "test_sim_vectors"
WORLDS_OF_STORES, WORLDS_OF_SERVERS, ALL_ORDERS = "test_sim_stores", "test_sim_serve", "test_sim_orders"
LINKS, SIGNALS, CALLS = "test_sim_network", "test_sim_signals", "test_cluster_gathering"
PROGRAMS = "test_runtime_programs"  # must notice the mutants that name no other test
MUTANTS = [
    # Changes of loops while they run.
    ("guard: states do not return", "src/adapt/decide.c", "isnan(d->kept_y) ? HW_POINT_NONE : HW_POINT_RETURN;", "HW_POINT_NONE;", "test_runtime_guard"),
    ("guard: states that did harm are kept", "src/runtime/drive/points.c", "(hw_point_order){.returns = returns};", "(hw_point_order){.returns = false};", "test_runtime_guard"),
    ("guard: a metric that is not a number is no alarm", "src/adapt/decide.c", "return !isfinite(y) || y > d->best", "return y > d->best", "test_adapt_decide"),
    # Vectors.
    ("vectors: an item is sent while another thread adds to it", EDGE, "item == NULL || edge->begun ||", "item == NULL ||", "test_vector_edge"),
    ("vectors: values that are pending stay", EDGE, "edge->pending = item; }", "if (edge->pending == NULL) edge->pending = item; else hw_message_free(item); }", "test_vector_edge"),
    ("vectors: a flush does not send", EDGE, "edge->flushes = edge->pending != NULL;", "edge->flushes = false;", "test_vector_edge"),
    ("vectors: an acknowledgement counts once", EDGE, "edge->gathered = number;", "edge->gathered++;", "test_vector_edge"),
    ("vectors: ssp waits for one less", EDGE, "edge->newest >= iteration - slack ||", "edge->newest + 1 >= iteration - slack ||", "test_vector_edge"),
    ("vectors: a receiver that has ended is waited for", EDGE, "edge->ended = true; if (edge->begun", "if (edge->begun", "test_vector_edge"),
    ("vectors: a number on an edge may be skipped", EDGE, "item->epoch != edge->arrived + 1", "item->epoch <= edge->arrived", "test_vector_edge"),
    ("vectors: bsp takes later iterations", EDGE, "(*at)->envelope.clock <= iteration))", "(*at)->envelope.clock <= iteration + 1))", "test_vector_edge"),
    ("vectors: a mean divides by one more", "src/linalg/mean.c", "sum[i] /= divisor;", "sum[i] /= divisor + (divisor == 3);", "test_vector_nodes"),
    ("vectors: the own array comes first", GATHER, "vector->sources[s] > vector->self)) {", "true)) {", "test_vector_nodes"),
    ("vectors: a sum of deltas counts as one scatter", GATHER, "scatters += vector->deltas ? item->envelope.span : 1;", "scatters++;", "test_vector_calls"),
    ("vectors: a pending sum loses a scatter", SCATTER, "hw_terms_add(vector->type, pending->payload, scatter->values, vector->count);", "if (pending->envelope.span != 2) hw_terms_add(vector->type, pending->payload, scatter->values, vector->count);", "test_vector_calls"),
    ("vectors: what was not gathered is lost in the finish", FINISH, "if (item->envelope.length > 0) add_item(vector, array, item);", "if (item->envelope.span > 1) add_item(vector, array, item);", "test_vector_nodes"),
    ("vectors: a barrier keeps the older of two values", FINISH, "hw_message_free(sum); sum = item;", "sum->next = NULL; hw_message_free(item);", "test_vector_calls"),
    ("vectors: the mean of a finish lacks a replica", MEAN, "pieces[node] = node == 0 ? piece : mean->in[node].data;", "pieces[node] = node < 2 ? piece : mean->in[node].data;", "test_vector_nodes"),
    ("vectors: a slot is written again before its item is gathered", SLOTS, "> edge->gathered &&", "> edge->gathered + 1 &&", "test_vector_slots"),
    ("vectors: a barrier adds to a slot of another process", FINISH, "vector->deltas ? hw_vector_slots_own(vector, &sum, error) : HAWSER_OK;", "HAWSER_OK;", "test_vector_slots"),
    ("vectors: memory with another token is read", SLOTS, "right && memcmp(mapping->data, offer->token, sizeof offer->token) == 0 &&", "right &&", "test_vector_slots"),
    ("vectors: rows that both have are not added", SPARSE, "if (one && two && adds)", "if (one && two && adds && i > 0)", "test_vector_sparse"),
    ("vectors: of a key the older row counts", SPARSE, "one && (adds || !two)", "one", "test_vector_sparse"),
    ("vectors: a row that nobody holds changes", MEAN, "piece[r] = count > 0;", "piece[r] = 1; if (count == 0) memset(piece + at, 0, vector->shape.row);", "test_vector_sparse"),
    ("vectors: ssp over servers waits for one less", SERVERS, "return iteration - slack + 1;", "return iteration - slack;", OVER_SERVERS),
    ("vectors: bsp over servers takes later iterations", SERVERS, ".summed = vector->rules.sync == HW_VECTOR_BSP", ".summed = false", OVER_SERVERS),
    ("vectors: a replica gets its own delta from the servers", SERVERS, "hw_terms_add(vector->type, s->seen, scatter->values, vector->count);", "(void)0;", OVER_SERVERS),
    ("vectors: what the servers had is new again", MIX, "seen[i] = sum[i];", "if (i > 0) seen[i] = sum[i];", OVER_SERVERS),
    ("vectors: a replica that has ended counts in the mean", SERVERS, "count_at(vector, counts_of(vector, s->memory->pull), COUNT_ENDED);", "0;", OVER_SERVERS),
    ("vectors: servers wait for a replica that has ended", SERVERS, "HAWSER_TRY(end_clock(vector, LAST_CLOCK, error));", "HAWSER_TRY(end_clock(vector, vector->iteration + 1, error));", OVER_SERVERS),
    ("vectors: the pull of a cancelled gather counts", SERVERS, "HAWSER_TRY(end_task(vector, &vector->servers->pull, error)); /* of a gather that was cancelled */", "", OVER_SERVERS),
    ("vectors: replicas over servers begin apart", SERVERS, "if (least > 0 && !s->checked)", "if (least > 0 && s->checked)", OVER_SERVERS),
    ("history: a gather under bsp takes any iteration", VECTORS, "HW_EVENT_BSP && r->clock != r->first)", "HW_EVENT_BSP && r->clock > r->first + 100)", ALTERED),
    ("history: an item is taken torn", VECTORS, "|| of->digest != r->digest)", ")", ALTERED),
    ("history: a pending scatter is lost", VECTORS, ": r->span != scatters)", ": r->span > scatters)", ALTERED),
    ("history: an item has other numbers than its scatter", VECTORS, "return ((rounds(w) || of->digest == r->digest) && of->count == r->count) ||", "return true ||", ALTERED),
    ("history: replicas finish with other bits", VECTORS, "hw_record_of(one)->digest != r->digest)", "hw_record_of(one)->digest == r->digest + 1)", ALTERED),
    ("a mean of arrays drops its last term", "src/linalg/mean.c", "t < term_count && i < length", "t + 1 < term_count && i < length", "test_linalg_mean"),
    ("rounding to bf16 goes by way of a float", "src/codec/narrow.c", "hw_double_bits(size), half", "hw_double_bits((double)(float)size), half", "test_exchange_pack"),
    ("vectors: what rounding has left is forgotten", "src/runtime/vector/rounding.c", "hw_terms_add(vector->type, whole->payload, left, vector->count);", "(void)0;", ROUNDING),
    ("vectors: a pending sum is rounded twice", "src/runtime/vector/rounding.c", "add_left(vector, vector->left[receiver], *whole);", "memset(vector->left[receiver], 0, vector->bytes);", ROUNDING),
    ("vectors: the finish keeps what rounding has left", "src/runtime/vector/rest.c", "if (rest == NULL)", "hw_message_free(rest); if (true)", ROUNDING),
    ("vectors: int8 has one scale for all numbers", "src/vector/rounded.c", "int16_t exponent = (int16_t)scale_of(type, values, count);", "int16_t exponent = (int16_t)scale_of(type, values, count < 512 ? 1 : count);", ROUNDING),
    ("history: what rounding has left comes twice", VECTORS, "rounds(w) && w->ending && !edge->ended &&", "rounds(w) && w->ending && edge->items == 0 &&", ALTERED),
    ("vectors: an item is sent before it is recorded", "src/runtime/vector/receive.c", "hw_vector_record_sent(vector, vector->receivers[receiver], item);", "", ALTERED),
    # Topic models.
    ("topics: the token itself stays in the counts of its word", SAMPLER, "((double)(s->count[from] - 1) + s->beta) * inverse_of(s, s->total[from] - 1);", "((double)s->count[from] + s->beta) * inverse_of(s, s->total[from]);", DRAWN),
    ("topics: the token itself stays in the counts of its document", SAMPLER, "l->narrow[entry]--; double of_document = sum_list(l, s->q, s->sums, wide);", "(void)0; double of_document = sum_list(l, s->q, s->sums, wide); if (!wide) l->narrow[entry]--;", DRAWN),
    ("topics: the token itself stays in the tree", SAMPLER, "double less = hw_tree_weights(&s->tree)[from] - s->alpha[from] * s->q[from];", "double less = 0.0;", DRAWN),
    ("topics: alpha counts twice", SAMPLER, "weight[k] = s->alpha[k] * s->q[k]; }", "weight[k] = 2.0 * s->alpha[k] * s->q[k]; }", TOPICS),
    ("topics: a leaf of the word before stays", SAMPLER, "forget_counts(s); for (size_t u = 0; u < s->used; u++) set_weight(s, s->topic[u]);", "forget_counts(s); for (size_t u = 1; u < s->used; u++) set_weight(s, s->topic[u]);", DRAWN),
    ("topics: a topic without tokens stays in the list", SAMPLER, "bool gone = count_at(l, from, wide) == 0;", "bool gone = false;", DRAWN),
    ("topics: the lists of a stage that is done over are old", LDA + "block.c", "if (b->known == clocks) return;", "if (b->known != HW_LDA_UNKNOWN) return;", TOPICS),
    ("topics: a pass has the draws of another", LDA + "units.c", "HW_DRAW_PASS, pass,", "HW_DRAW_PASS, pass / 2,", TOPICS),
    ("topics: blocks see sums of their own alone", LDA + "units.c", "for (size_t k = 0; k < lda->topics; k++) n_k[k] = b->sampler.total[k]; b->known = ++turn[0];", "b->known = ++turn[0];", TOPICS),
    ("topics: an early end keeps the last model", LDA + "lda.c", "hawser_progress_return(progress, 0);", "(void)0;", TOPICS),
    ("topics: words that nobody asks for are no tokens", LDA + "validate.c", "numbers[pairs ? (size_t)line[e] : e] += line[pairs ? e + 1 : e];", "numbers[0] += 0;", TOPICS),
    ("topics: a token of a new document stays in its counts", LDA + "fold_in.c", "take_token(fold, fold->assigned[token]);", "if (token > 0) take_token(fold, fold->assigned[token]);", NEW),
    ("topics: all new documents have the same draws", LDA + "fold_in.c", "HW_DRAW_TOPICS, row);", "HW_DRAW_TOPICS, 0);", NEW),
    ("topics: the prior counts twice in new documents", LDA + "fold_in.c", "fold->prior[k] = sum +=", "fold->prior[k] = sum += 2.0 *", NEW),
    ("topics: the first half is predicted", LDA + "perplexity.c", "predict(&h->fold, h->words, count, h->theta)", "predict(&h->fold, h->first, count, h->theta)", NEW),
    # Stages.
    ("no stage for the second of two updates", STAGES, "|| (hw_kind_of(state)->summed && hw_unit_updates(unit, state))", ""),
    ("never a stage", STAGES, "if (hw_state_is_exchanged(state) && reads)", "if (hw_state_is_exchanged(state) && reads && state->number > 64)"),
    ("a stage looks at one unit before", STAGES, "if (needs_update_of(unit, l->plan->steps[i].unit) ||", "if ((i == l->first && needs_update_of(unit, l->plan->steps[i].unit)) ||"),
    ("a stage does not wait", PHASE, "return !worker->leaving && inputs_are_in(worker); }", "return !worker->leaving; }"),
    ("the third stage is skipped", PHASE, "steps[i].stage != worker->stage", "steps[i].stage != worker->stage || worker->stage == 2"),
    ("units on one block run on each", PHASE, "bool elsewhere = unit->one &&", "bool elsewhere = unit->one && worker->block > 1 &&"),
    # Inner loops of late loops.
    ("an inner loop's bsp counts for nothing", "src/program/operator.c", "return by_inner || unit->waits;", "return unit->waits;"),
    ("an inner loop ends early", STAGES, "inner ? op->until.clocks : 1;", "inner ? op->until.clocks - (op->until.clocks == 3) : 1;"),
    # Merges.
    ("a stale view: one tile is not renewed", MERGE, "payload->first / HW_TILE, last / HW_TILE + 1);", "payload->first / HW_TILE, last / HW_TILE + (last < HW_TILE));"),
    ("an addition is doubled", NUMBERS, "values[i] = sums[i] != 0 ? values[i] + (HW_T)scale * sums[i] : values[i];", "values[i] = sums[i] != 0 ? values[i] + (HW_T)scale * sums[i] + (sums[i] == 3 ? 3 : 0) : values[i];"),
    ("updates are added in another order", "src/exchange/reduce.h", "while (left < count - left)", "while (left < count - left && count != 3)"),
    ("damping is ignored", MERGE, "damping = user ? 1 : hw_damping_of(replica, clock);", "damping = 1;"),
    ("a part of an update is lost", RANGE, "any = true;", "if (any) break; any = true;"),
    ("the last of several numbers of four bytes is the first", MERGE, "memcpy(at, values + i * sizeof(float), sizeof(float));", "memcpy(at, values + (i > 2 ? 0 : i) * sizeof(float), sizeof(float));"),
    ("a value of another block is lost", MERGE, "char *at = to + hw_payload_index(payload, i) * size;", "char *at = to + hw_payload_index(payload, i) * size; if (i == 2) continue;"),
    ("a merge function gets the last block's sum", RANGE, "if (left == NULL)", "if (left == NULL || (range->blocks == 3 && where.clock == 2))"),
    # Cuts.
    ("the gain stays in what is sent", NUMBERS, "*delta = (a - b) / gain + (HW_T)0;", "*delta = (a - b) + (HW_T)0 * gain;"),
    ("an increase without the gain", NUMBERS, "HW_OF(scaled)(updates[i], (HW_T)gain)", "HW_OF(scaled)(updates[i], (HW_T)(gain > 0))"),
    ("a touched tile is not compared", CUT, "replica->marked && !hw_bit(replica->touched, tile)", "replica->marked && (!hw_bit(replica->touched, tile) || tile == 1)"),
    ("the last change is not sent", CUT, "size_t n = changes.last - changes.first + 1, at", "size_t n = changes.last - changes.first + (changes.last != 4), at"),
    ("a part is sent twice", CUT, "if (!last) advance_origin(replica);", "if (!last && replica->spec.block != 1) advance_origin(replica);"),
    # Relays under ssp and tap.
    ("relays: an update returns by its link", COMBINE, "if (range->links[l] == from) continue;", "if (range->links[l] == from && parcel->count == 1) continue;"),
    ("relays: a sum lacks the numbers of an update", COMBINE, "for (uint32_t i = 0; i < count; i++) { hw_payload", "for (uint32_t i = 0; i < count; i++) { if (i == 1) continue; hw_payload"),
    ("relays: a sum has an update twice", COMBINE, "end, 1, values, 0) != SIZE_MAX)", "end, i == 1 ? 2 : 1, values, 0) != SIZE_MAX)"),
    ("relays: a list has a wrong clock", COMBINE, "{.clock = envelope->clock, .block = envelope->first,", "{.clock = envelope->clock + (envelope->clock == 3), .block = envelope->first,"),
    ("relays: a sum is not sent on", COMBINE, "if (status == HAWSER_OK && replica->combiner != NULL) status = wait_for_links(", "if (status == HAWSER_OK && replica->combiner != NULL && parcel->count == 1) status = wait_for_links(", "test_exchange_combine"),
    ("relays: a full list is dropped", COMBINE, "if (waiting->count == HW_WAITING_MOST)", "if (waiting->count == HW_WAITING_MOST) drop(replica->combiner, waiting); if (waiting->count == HW_WAITING_MOST)", "test_exchange_combine"),
    # What is held and rounded.
    ("held entries are not sent in the end", PHASE, "if (!held) return HAWSER_OK;", "if (!held || worker->block == 1) return HAWSER_OK;"),
    ("a rounding error is dropped", "src/exchange/hold.c", "left = replica->numbers->load(at, 0) - sent;", "left = 0 * sent;"),
    ("a held change takes the place of the one before", NUMBERS, "over |= HW_OF(plus)(sums[i], change, &sum);", "over |= HW_OF(plus)(0, change, &sum);"),
    ("a state's own filter holds to the end", PHASE, "held = held || plan->filter.kind", "held = held || worker->session->plan->settings.filter.kind"),
    ("a state's own filter is ignored", "src/program/sending.c", "own->filter = state->filter;", "own->filter_class = NULL;"),
    ("a state's own filter has the job's quota", "src/program/sending.c", "own->filter = state->filter;", "own->filter = (hw_filter){state->filter.kind, own->filter.quota > 0 ? own->filter.quota : state->filter.quota, state->filter.max_held};"),
    # Local and derived states.
    ("a tied local state is not damped", "src/exchange/tied.c", "if (damping == 1)", "if (damping <= 1)"),
    ("a derived state is not built anew at a loop's start", PHASE, "(leaving || !part->fresh)", "leaving"),
    ("a derived state is fresh for ever", PHASE, "if (!leaving && changes_source(worker, part->state)) part->fresh = false;", ""),
    ("a part of numbers of four bytes begins where one of eight does", EXCHANGED, "(char *)hw_replica_cache(part->replica) + part->begin * hw_state_size(part->state)", "(char *)hw_replica_cache(part->replica) + part->begin * sizeof(double)"),
    ("a local solver sees its steps without sigma'", "src/runtime/block/cocoa.c", "s->shown.sigma * step, s->v);", "step, s->v);"),
    ("a coordinate is missing in the product", "src/runtime/block/cocoa.c", "if (own[j] != 0.0)", "if (own[j] != 0.0 && j != 1)"),
    # Moving states.
    ("moving: a part goes to its block of this clock", MOVING, "part->use.updates, moving->use + 1), moving->next));", "part->use.updates, moving->use), moving->next));", MOVES),
    ("moving: a part is used before it has come", MOVING, "return it->number != UINT32_MAX ? is_here(it->part->moving, it->number) :", "return it->number != UINT32_MAX ? true :", MOVES),
    ("moving: a part that has come is not the one of its use", MOVING, "moving->here[number] = NULL; return hw_send_update(", "if (number == 1) message->envelope.clock++; moving->here[number] = NULL; return hw_send_update(", MOVES),
    ("moving: an old version stays", MOVING, "if (block == worker->block) {", "if (block == worker->block || number == 2) {", MOVES),
    ("moving: a stage that is done over has its first numbers", MOVING, "if (part->moving->before[p] != NULL) memcpy(", "if (part->moving->before[p] != NULL && p != 0) memcpy(", MOVES),
    ("moving: a record lacks a part", MOVING, "for (uint32_t p = 0; p < parts_of(part); p++) if (part->moving->here[p] != NULL && bytes_of(part, p) > 0) hawser_record_bytes(", "for (uint32_t p = 1; p < parts_of(part); p++) if (part->moving->here[p] != NULL && bytes_of(part, p) > 0) hawser_record_bytes(", MOVES),
    ("moving: first values of another part", MOVING, "initial + hw_moving_first(part->state, p) * size", "initial + hw_moving_first(part->state, p > 0 ? p - 1 : p) * size", MOVES),
    ("moving: an inner loop has the clock around it", MOVING, "return inner != UINT64_MAX ? inner : worker->first_clock + use / each;", "return worker->first_clock + use / each + 0 * inner;", MOVES),
    ("moving: inner iterations are one stage", STAGES, "|| moves_between(l, unit, &l->plan->steps[i])", "", MOVES),
    ("moving: a kept part has another's numbers", MOVING, "memcpy(moving->here[p]->payload, from, bytes_of(part, p)); from += bytes_of(part, p);", "memcpy(moving->here[p]->payload, from, bytes_of(part, p));", MOVES),
    ("moving: a part comes back to the block that has it now", MOVING, "memcpy(moving->owners, from + moving->kept * hw_state_size(part->state), parts_of(part) * sizeof *moving->owners);", "", MOVES),
    ("moving: a write to what is read is not seen", MOVING, "if (part->moving->shown[p] != 0 && part->moving->shown[p] !=", "if (part->moving->shown[p] == 2 && part->moving->shown[p] !=", MOVES),
    # Entries states.
    ("entries: a row begins elsewhere", ENTRIES, "offsets[row] = (size_t)count;", "offsets[row] = (size_t)count + (row == 2 && count > 3);", OF_ENTRIES),
    ("entries: a stored zero has a number", ENTRIES, "sum += (uint32_t)value;", "sum += value == 0 ? 1 : (uint32_t)value;", OF_ENTRIES),
    ("entries: a value of three has two numbers", ENTRIES, "sum += (uint32_t)value;", "sum += value == 3 ? 2 : (uint32_t)value;"),
    ("entries: a fraction is cut off", ENTRIES, "|| value != (double)(uint32_t)value)", ")", OF_ENTRIES),
    ("entries: nodes do not tell their numbers", COUNTS, "counts[b] += sent[b];", "counts[b] += b == 3 ? 0 : sent[b];", OF_ENTRIES),
    ("entries: a record lacks the numbers", "src/runtime/block/part_local.c", "if (part->work != NULL && !part->unfilled) hawser_record_bytes(record, part->work, hw_part_size(part));", "", OF_ENTRIES),
    ("entries: a point keeps no copy", "src/runtime/block/part_local.c", "memcpy(values, part->copy != NULL ? part->copy : part->work, hw_part_size(part));", "", OF_ENTRIES),
    ("entries: a stage that is done over begins with what it has written", "src/runtime/block/part_local.c", "return part->copy == NULL && !part->retired ? part->work : NULL;", "return NULL;", OF_ENTRIES),
    ("entries: programs have the first values of another block", "src/program/kind_entries.c", "own->bounds[b + 1] = own->bounds[b] + (size_t)counts[b];", "own->bounds[b + 1] = own->bounds[b] + (size_t)counts[b] - (b == 1 && counts[b] > 0);", OF_ENTRIES),
    # Data.
    ("a row is lost at a cut", PLAN, "hawser_matrix part = hawser_matrix_rows(whole, begin, end);", "hawser_matrix part = hawser_matrix_rows(whole, begin, end - (block == 1 && end > begin + 1));"),
    ("a block has a row of the block before", PLAN, "hawser_matrix part = hawser_matrix_rows(whole, begin, end);", "hawser_matrix part = hawser_matrix_rows(whole, begin - (block == 2 && begin > 0), end);"),
    ("a column is lost at a cut", PLAN, "return hawser_matrix_columns(whole, begin, end);", "return hawser_matrix_columns(whole, begin, end - (block == 1 && end > begin + 1));"),
    ("a part of another block", PLAN, "(equal ? block + 1 : bounds[block + 1]) * state->width;", "(equal ? block + 1 : bounds[block + 1]) * state->width - (!equal && state->width > 1 && bounds[block + 1] > bounds[block]);"),
    ("a row that travels comes to the wrong place", BLOCKS, "s.first = from - blocks->bounds[b];", "s.first = from - blocks->bounds[b]; if (s.first > 0 && b == 1) s.first--;"),
    ("a target stays behind", BLOCKS, "memcpy(to, hw_dataset_beside_of(rows, k) + at, s->rows * sizeof(double));", "memcpy(to, hw_dataset_beside_of(rows, k), s->rows * sizeof(double));"),
    # The driver.
    ("a branch takes the other way", DRIVER, "yes ? branch->first : branch->first->next;", "yes && branch->first->next != NULL ? branch->first->next : branch->first;"),
    ("a loop around stands still", DRIVER, "driver->progress.clock = driver->around = clock;", "driver->progress.clock = driver->around = clock & 1;"),
    ("a metric without the last block", "src/runtime/drive/control.c", "hw_reduce_scalars(parts, driver->session->blocks)", "hw_reduce_scalars(parts, driver->session->blocks - (driver->session->blocks > 3))"),
    ("a loop ends a clock late", "src/runtime/drive/until.c", "if (tested && reason == NULL)", "if (tested && reason == NULL && clock > 0)"),
    ("a branch's sequence is left out", "src/program/operator.c", "else if (deep) unit = first_from(child->first, deep);", "else if (deep && (child->kind != HW_SEQUENCE || child->next != NULL)) unit = first_from(child->first, deep);"),
    # Records and kept points of states.
    ("a record lacks what a filter holds", KEEP, "if (replica->held != NULL) hawser_record_bytes(record, replica->held, bytes);", ""),
    ("a record lacks where a schedule continues", KEEP, "hawser_record_bytes(record, &replica->cursor, sizeof replica->cursor);", "", "test_runtime_keep"),
    ("a record lacks the ages of what is held", KEEP, "hawser_record_bytes(record, replica->since, entries * sizeof *replica->since);", ";", "test_runtime_keep"),
    ("a record lacks what a tied state has committed", LOCAL, "if (part->copy != NULL && !part->unfilled) hawser_record_bytes(record, part->copy, hw_part_size(part));", ""),
    ("a record lacks a share", "src/runtime/block/part_stored.c", "if (part->work != NULL) hawser_record_bytes(", "if (part->work == NULL) hawser_record_bytes("),
    ("a return to a kept point leaves the cache", KEEP, "memcpy(replica->cache, values, bytes);", "", "test_runtime_keep"),
    # Reductions, scratch and the store.
    ("a scratch is read back from nothing", "src/runtime/block/scratch.c", "hawser_status status = hawser_record_restore(visit_scratch, &given, bytes, size, &worker->error);", "hawser_status status = HAWSER_OK;"),
    ("a chunk is read a clock early", "src/runtime/block/stored.c", "chunk->count = end - chunk->first;", "chunk->count = end - chunk->first - (end - chunk->first > 3);"),
    ("a second read of an iteration counts as its first", "src/runtime/block/stored.c", "request->reread = stored->ordered && iteration < read;", "request->reread = stored->ordered && iteration < read && read == 0;"),
    ("first values of a stored state that no unit uses are lost", "src/runtime/drive/keep.c", "needs = needs || (hw_kind_of(state)->served &&", "needs = needs || (state->number > 64 &&"),
    ("first values of every block are those of the first", "src/program/parallelise.c", "(same ? 0 : begin * hw_state_size(state))", "(same || hw_state_is_of_blocks(state) ? 0 : begin * hw_state_size(state))"),
    ("a line of another block", "src/runtime/block/context.c", "*first = rows ? part->first_line : width > 0 ? begin / width : 0;", "*first = begin;"),
    # A stage that is done over.
    ("updates stay when the view changes", EXCHANGED, "if (part->live) hw_replica_rollback(part->replica);", ""),
    ("a tied local state stays when the view changes", LOCAL, "if (part->copy != NULL && !part->retired)", "if (part->copy != NULL && part->retired)"),
    ("a local state stays when the view changes", REDO, "if (memory != NULL) memcpy(memory,", "if (memory != NULL && worker->parts[i].stored != NULL) memcpy(memory,"),
    ("an own share of a stored state stays when the view changes", REDO, "if (memory != NULL) memcpy(memory,", "if (memory != NULL && worker->parts[i].stored == NULL) memcpy(memory,"),
    ("a report stays when the view changes", REDO, "worker->report = redo->report;", ""),
    ("a sum along a tree of blocks lacks the last one", "src/exchange/adding.h", "lowest > blocks - block ? blocks :", "lowest > blocks - block ? blocks - (block > 0) :", "test_runtime_reduce"),
    ("parts of an update go up and down a tree of blocks alone", "src/exchange/adding.c", "adding->gathers = adding->waits = true;", "adding->gathers = true;", "test_exchange_adding"),
    ("a worker keeps its thread while others wait for one", "src/runtime/exec/thread.c", "if (atomic_load(&executor->waiting) > 0) {", "if (atomic_load(&executor->waiting) > 1u << 30) {", "test_runtime_wait"),
    ("late updates count as if no worker were behind", "src/program/kind_exchanged.c", "2 * (window < UINT32_MAX", "(window < UINT32_MAX", "test_program_plan"),
    ("a reduction too many along a tree is not noticed", "src/exchange/reduction.c", "if (!adds_by_blocks(reduction) || share->last == 1", "if (share->count > 0 || share->last == 1", "test_exchange_reduction"),
    ("an end is sent on before all have ended", "src/exchange/reduction.c", "if (reduction->ended[block] <= clock)", "if (reduction->ended[block] < clock)", "test_exchange_reduction"),
    ("reductions go on when the view changes", REDO, "hw_reduction_go_back(worker->reduction, redo->reductions);", ""),
    ("a scratch stays when the view changes", REDO, "if (worker->scratch != NULL) HAWSER_TRY(hw_worker_renew_scratch(worker, redo->scratch, redo->scratch_bytes));", ""),
    ("a scratch begins anew when the view changes", REDO, "redo->scratch, redo->scratch_bytes));", "NULL, 0));"),
    ("prefetches go on when the view changes", REDO, "HAWSER_TRY(hw_stored_go_back(worker));", ""),
    ("a stage that has sent a part is done over", REDO, "worker->redo->forbidden = true; }", "worker->redo->forbidden = false; }"),
    # Tests of loops and branches.
    ("what a test remembers stays when it is done over", REMEMBER, "if (kept->size > 0 && kept->copy != NULL)", "if (kept->size > 1u << 30)"),
    ("what tests share stays when one is done over", REMEMBER, "if (kept->record != NULL) {", "if (kept->record_size > 1u << 30) {"),
    ("metrics that a test has set stay when it is done over", REMEMBER, "memcpy(driver->metrics, kept->metrics, sizeof kept->metrics);", "", "test_runtime_redo"),
    ("a branch's memory outlives its loop", REMEMBER, "memset(memory_of(driver, child), 0, child->remembers);", "(void)memory_of(driver, child);"),
    ("tests of branches share their memory", REMEMBER, "memories->at[i] = memories->size;", "memories->at[i] = 0;"),
    ("branches that are chosen anew remember the first choice", "src/runtime/drive/credit.c", "if (shipment->chosen > shipment->first)", "if (shipment->window > 0 && shipment->chosen > shipment->first + 1000)", "test_runtime_nested"),
    ("a branch runs by the choice of the first clock", "src/runtime/block/messages.c", "return choices[clock + control->choices - control->limit];", "return choices[0 * clock];"),
    ("a block runs another child of a branch", PHASE, "!hw_step_runs(&steps[i], worker->choices)", "!hw_step_runs(&steps[i], worker->choices ^ (worker->block == 1 && worker->clock == 3))"),
    # Changes of policies.
    ("changes of a policy do not have their fit", CHANGES, "name_fit(driver, &change);", "(void)name_fit;", "test_runtime_policy"),
    ("changes of a failed run are lost", "src/runtime/drive/run.c", "if (status != HAWSER_OK && session.driver != NULL)", "if (status > HAWSER_OK && session.driver != NULL)", "test_runtime_policy"),
    ("changes in flight: work holds from the arrival of its credit", "src/runtime/block/messages.c", "worker->paused = false; if (control->empty != 0)", "worker->paused = false; } worker->work = control->work; if (control->final != 0) { if (control->empty != 0)", WALKS),
    ("changes in flight: a block has the share of another one", "src/runtime/drive/orders.c", "hw_knobs_share(driver, driver->policies.loop, i);", "hw_knobs_share(driver, driver->policies.loop, (i + 1) % blocks);", WALKS),
    ("changes in flight: the figures name a clock that was announced before", CHANGES, "uint64_t clock = policies->first + policies->limit;", "uint64_t clock = policies->first + policies->limit - 1;", WALKS),
    ("changes in flight: a new sync skips a clock", "src/runtime/drive/credit.c", "shipment->first += shipment->combined;", "shipment->first += shipment->combined + sync_changed(shipment);", WALKS),
    ("a change has the run before", CHANGES, "change.run = driver->session->number;", "change.run = driver->session->number - (driver->session->number > 1);", "test_runtime_policy"),
    # Several targets as an array.
    ("each target is the first", "src/data/borrow.c", "hw_dense_place(Y, i, k)", "hw_dense_place(Y, i, 0 * k)", "test_algorithms_borrow"),
    ("the targets of a node's columns are mixed up", "src/runtime/input/load_columns.c", "gather_vector(l, l->rows->further[k],", "gather_vector(l, l->rows->further[l->whole.further - 1 - k],", "test_runtime_data"),
    ("the targets of a block's rows are mixed up", BLOCKS, ": rows->further[kind - HW_BESIDE_FURTHER];", ": rows->further[0];", "test_runtime_data"),
    # Results of local and stored states.
    ("numbers of a stored result come to another place", "src/runtime/job/kept_results.c", ".offset = (first + done - base) * values->size", ".offset = done * values->size"),
    ("the share of a stored result is that of the block before it", "src/runtime/block/part_stored.c", ".first = part->begin, .last = part->begin + part->count - 1,", ".first = part->begin > 0 ? part->begin - 1 : 0, .last = part->begin + part->count - 1 - (part->begin > 0),"),
    ("a node closes the job while one below reads its results", "src/runtime/job/kept_results.c", "ends->below != (1 << children) - 1", "ends->below == 0 && children > 0", "test_runtime_kept_results"),
    ("a number that is not finite has its place in the block", "src/runtime/drive/keep.c", ".number = share->begin + bad}", ".number = bad}", "test_runtime_kept_results"),
    ("the last node's number that is not finite is reported", "src/runtime/drive/collect.c", "found->number < first->number", "found->number > first->number", "test_runtime_kept_results"),
    # Checkpoints.
    ("a checkpoint has no merged values", "src/runtime/block/record.c", "part->kind->set_merged(part, values);", "(void)0;", RECORD),
    ("a checkpoint has no scratch", "src/runtime/block/record.c", "status == HAWSER_OK && given.scratch != NULL)", "status == HAWSER_OK && given.scratch == (void *)1)", RECORD),
    ("a loop of a checkpoint forgets its iteration", "src/runtime/drive/record.c", "until->first = entered->clock;", "until->first = 0;", RECORD),
    ("a test forgets what it remembered at a checkpoint", "src/runtime/drive/position.c", "memcpy(until->memory, memory, frame->memory);", "(void)memory;", RECORD),
    ("a phase of a checkpoint is another entry", "src/runtime/drive/control.c", "driver->entries += recording->step == 0;", "driver->entries++;", RECORD),
    ("a phase of a checkpoint begins anew", "src/runtime/drive/control.c", ".begins = recording->step}", ".begins = 0}", RECORD),
    ("a branch of a checkpoint is tested again", "src/runtime/drive/driver.c", "if (hw_level_entered(driver) != NULL)", "if (driver->clocks > UINT64_MAX - 2 && hw_level_entered(driver) != NULL)", RECORD),
    ("derived states are rebuilt after a checkpoint", "src/runtime/block/phase.c", "(leaving || worker->begins == 0) &&", "", RECORD),
    ("a record is written before all updates are merged", "src/runtime/block/phase.c", "hw_worker_commit(worker); EACH_REPLICA(worker, part) HAWSER_TRY(hw_replica_merge_before(part->replica, hw_worker_exchange(worker, part), &worker->error)); HAWSER_TRY(hw_points_begin_clock(worker));", "hw_worker_commit(worker); HAWSER_TRY(hw_points_begin_clock(worker));", RECORD),
    ("the parts of a checkpoint have moved on", "src/runtime/block/part_moving.c", "if (worker->begins > 0)", "if (worker->begins > 1000)", RECORD),
    # What drawn orders and faults on a simulated cluster find, and faults of that cluster itself.
    ("messages for a run to come are lost", "src/cluster/runs.c", "keep_early(cluster, message);", "hw_message_free(message);", WORLDS),
    ("a lost node wakes nobody", "src/cluster/losses.c", "pthread_cond_broadcast(&cluster->changed);", "(void)0;", WORLDS),
    ("node 0 does not pass a loss on", "src/cluster/reports.c", "send_to_all(cluster, &report, message);", "(void)send_to_all;", "test_cluster_reports"),
    ("a goodbye is forwarded to nodes that were sent it", "src/cluster/goodbye.c", "i == node || has_bit(reached, i) ||", "i == node || (has_bit(reached, i) && i == 0) ||", "test_cluster_reports"),
    ("a goodbye that was forwarded late counts", "src/cluster/join.c", "if (message->envelope.state <= joiner->goodbyes) {", "if (message->envelope.state == 0) {", "test_cluster_reports"),
    ("a loss of an earlier process counts", "src/cluster/reports.c", "report->incarnation == hw_members_at(cluster->members, node)->incarnation;", "true;", "test_cluster_reports"),
    ("a loss that arrives as a run ends has no text", DRIVER, "driver->error = ignored;", "(void)0;", WORLDS),
    ("a node that has left is waited for", "src/cluster/join.c", "joiner->left |= leaves;", "(void)leaves;", WORLDS),
    ("a store does not notice that a server has left", "src/runtime/store/open.c", ".left = hw_hub_node_left,", "", WORLDS),
    ("a node that cannot join any more goes on to dial", "src/cluster/join.c", "if (!cluster->formed && cluster->net != NULL && is_over(cluster))", "if (cluster->net == NULL)", WORLDS),
    ("a file gets its name before it is synced", "src/base/file.c", "if (status == HAWSER_OK && file->temporary != NULL && fsync(file->fd) != 0)", "if (status == HAWSER_OK && file->temporary != NULL && file->fd < 0)", WORLDS_OF_CHECKPOINTS),
    ("worlds: an update returns by its link", COMBINE, "if (range->links[l] == from) continue;", "if (range->links[l] == from && parcel->count == 1) continue;", WORLDS_OF_PROGRAMS),
    ("worlds: a sum has an update twice", COMBINE, "end, 1, values, 0) != SIZE_MAX)", "end, i == 1 ? 2 : 1, values, 0) != SIZE_MAX)", WORLDS_OF_PROGRAMS),
    ("worlds: a sum is not sent on", COMBINE, "if (status == HAWSER_OK && replica->combiner != NULL) status = wait_for_links(", "if (status == HAWSER_OK && replica->combiner != NULL && parcel->count == 1) status = wait_for_links(", "test_exchange_combine", WORLDS_OF_PROGRAMS),
    ("worlds: a list has a wrong clock", COMBINE, "{.clock = envelope->clock, .block = envelope->first,", "{.clock = envelope->clock + (envelope->clock == 3), .block = envelope->first,", WORLDS_OF_PROGRAMS),
    ("the history of a job that lost a node in a load does not name it", "src/runtime/job/recorder.c", "cluster != NULL ? hw_cluster_lost_nodes(", "recorder->ended != HAWSER_OK ? hw_cluster_lost_nodes(", WORLDS_OF_PROGRAMS),
    ("a history names the first lost node alone", "src/cluster/losses.c", "nodes[count++] = event.loss.node;", "nodes[count] = event.loss.node, count += count == 0;", WORLDS_OF_PROGRAMS),
    ("an agreement overtakes the last deltas of a vector", "src/cluster/alltoall.c", "HAWSER_THEN(status, await_acknowledgements(cluster, error));", "(void)await_acknowledgements;", WORLDS_OF_VECTORS),
    ("simulator: a link reorders its frames", "src/sim/network.c", "flow->reaches = begin > flow->reaches ? begin : flow->reaches;", "flow->reaches = begin;", WORLDS),
    ("stores: a barrier does not wait for clocks that an agreement overtakes", "src/runtime/store/ask.c", "HAWSER_THEN(all, hw_cluster_drain(store->job->cluster, &own));", "", WORLDS_OF_STORES),
    ("stores: a barrier is one meeting", "src/runtime/store/ask.c", "HAWSER_THEN(all, hw_cluster_agree(store->job->cluster, HAWSER_OK, &own));", "", ALL_ORDERS),
    ("stores: a client waits for the reply of a lost server", "src/runtime/store/remote.c", "while (remote->answer == NULL && !remote->lost &&", "while (remote->answer == NULL &&", WORLDS_OF_SERVERS),
    ("simulator: a full window stops no connection", "src/sim/network.c", "flow->flying_bytes >= window_of(host)", "false", LINKS),
    ("simulator: a stopped process loses a signal", "src/sim/world.c", "thread->facts.signals |= bit;", "if (process->state == SIM_RUNNING) thread->facts.signals |= bit;", SIGNALS),
    ("simulator: a goodbye overtakes what was sent before", "src/sim/mesh.c", "sim_send(&from->out, &parcel->item);", "if (what.kind == SIM_GOODBYE) { left(&parcel->item); arrived(&parcel->item); } else sim_send(&from->out, &parcel->item);", WORLDS),
    ("simulator: a mutex admits two", "src/sim/threads.c", "while (mutex->owner != NULL)", "while (mutex->owner != NULL && !sim_is_drawn())", WORLDS),
    ("calls: a block is read in another collective call", "src/cluster/blocks.c", "list->envelope.loop != (uint32_t)cluster->call ||", "", CALLS),
    ("calls: a node that has failed in a collective call makes another", "src/cluster/alltoall.c", "cluster->failed = status;", "cluster->failed = ends ? status : HAWSER_OK;", CALLS),
    ("calls: a node that knows of a loss makes a collective call", "src/cluster/alltoall.c", "lost = !failed && hw_cluster_is_lost(cluster);", "lost = false;", CALLS),
    ("calls: a node that has left in a collective call is waited for", "src/cluster/wait.c", "joiner->completed >= cluster->rounds;", "joiner->completed + 1 >= cluster->rounds;", WORLDS),
    ("a node that joins gives up before the manager", "src/cluster/join.c", "deadline + fmin(REASON_SECONDS, options->join_timeout);", "deadline;", WORLDS),
    ("the end of kept results is sent to each child twice", "src/runtime/job/kept_results.c", "if (from_parent) send_to_children(results, run);", "for (int k = 0; from_parent && k < 2; k++) send_to_children(results, run);", "test_runtime_kept_results"),
    ("simulator: only the newest net of a process ends with it", "src/sim/nets.c", "net != NULL; net = net->next_of_process) {", "net != NULL; net = NULL) {", WORLDS_OF_SERVERS),
    ("simulator: a signal of a condition is lost", "src/sim/threads.c", "sim_wake_first((sim_list *)(void *)condition);", "if (sim_below(20) > 0) sim_wake_first((sim_list *)(void *)condition);", WORLDS),
    # Late policies.
    ("a unit's own sync is ignored", PHASE, "if (!worker->own_syncs)", "if (worker->own_syncs || !worker->own_syncs)"),
    ("a unit's own sync counts in the first stage alone", STAGES, "if (steps[i].stage == stage &&", "if (stage == 0 && steps[i].stage == stage &&"),
    ("a clock too late under ssp", REPLICA, "policy.staleness * replica->each :", "policy.staleness * replica->each + (replica->each > 1) :"),
]


def pattern_of(text):
    """Blanks between two words may be any, and others may be none."""
    words = re.findall(r"\w+|[^\w\s]", text)
    out = re.escape(words[0])
    for before, word in zip(words, words[1:]):
        out += (r"\s+" if before[-1].isalnum() and word[0].isalnum() else r"\s*") + re.escape(word)
    return out


def place_of(text, found_in):
    found = list(re.finditer(pattern_of(text), found_in))
    return found[0] if len(found) == 1 else None


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


def build(top, test=PROGRAMS):
    return run(("cmake", "--build", os.path.join(top, "build"), "-j2", "--target", test))


def is_noticed(top, test=PROGRAMS):
    """Returns the first line of a failure; None: all tests passed."""
    end = time.monotonic() + SLOW
    path, why, code = os.path.join(top, "output"), None, None
    with open(path, "wb") as output:
        child = subprocess.Popen((os.path.join(top, "build", "tests", test),), stdout=output, stderr=subprocess.STDOUT,
                                 env={**os.environ, "HAWSER_TEST_LONG": ""})
    while why is None and code is None:
        time.sleep(0.05)
        code = child.poll()
        with open(path, encoding="utf-8", errors="replace") as said:
            failure = re.search(r"seed \d+ \(HAWSER_TEST_SEED\)[^\n]*|\[  FAILED  \][^\n]*", said.read())
        if failure:
            why = failure.group(0)
        elif code is not None and code != 0:
            why = f"it ended with {code}"
        elif time.monotonic() > end:
            why = "it does not end"
    if child.poll() is None:
        child.kill()
    child.wait()
    return why


def check_places():
    """The short form: each mutant has its place."""
    failures = 0
    for name, path, before, *_ in MUTANTS:
        with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
            if place_of(before, file.read()) is None:
                failures += 1
                print(f"{name}: its text is not in {path}, or more than once: {before}")
    print(f"{len(MUTANTS)} mutants have their places, {failures} have not; HAWSER_TEST_LONG=1 builds each of them")
    return 1 if failures else 0


def main():
    wanted = sys.argv[1:]
    if not wanted and not os.environ.get("HAWSER_TEST_LONG"):
        return check_places()
    mutants = [mutant for mutant in MUTANTS if not wanted or any(word in mutant[0] for word in wanted)]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        top = os.path.join(folder, "hawser")
        shutil.copytree(SOURCE, top, ignore=lambda path, names: LEFT_OUT & set(names) if os.path.samefile(path, SOURCE) else [], symlinks=True)
        made = run(("cmake", "-S", top, "-B", os.path.join(top, "build"), "-GNinja", "-DCMAKE_BUILD_TYPE=Release", "-DHAWSER_TESTS=ON"))
        made = made if made.returncode != 0 else build(top)
        if made.returncode != 0:
            print(made.stdout[-3000:])
            return 1
        why = is_noticed(top)
        if why is not None:
            print("the test fails without a mutant:", why)
            return 1
        for name, path, before, after, *test in mutants:
            with open(os.path.join(top, path), encoding="utf-8") as file:
                text = file.read()
            place = place_of(before, text)
            if place is None:
                failures.append(f"{name}: its text is not in {path}, or more than once: {before}")
                print(failures[-1], flush=True)
                continue
            with open(os.path.join(top, path), "w", encoding="utf-8") as file:
                file.write(text[: place.start()] + after + text[place.end():])
            made = build(top, *test)
            why = "?" if made.returncode != 0 else is_noticed(top, *test)
            if made.returncode != 0:
                failures.append(f"{name}: it does not compile\n{made.stdout[-2000:]}")
            elif why is None:
                failures.append(f"{name}: {test[0] if test else 'no random program'} does not notice it")
            print(failures[-1] if why in ("?", None) else f"noticed: {name}: {why}", flush=True)
            with open(os.path.join(top, path), "w", encoding="utf-8") as file:
                file.write(text)
    print(f"{len(mutants)} mutants, {len(failures)} not noticed")
    return 1 if failures else 0


sys.exit(main())
