/* How a process gets its place: the channel of `hawser run`, keys, and environments of unknown launchers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/place.h"
#include "directory.h"

static const char key_digits[] = "000102030405060708090a0b0c0d0e0fF0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/* A node as hawser run starts it, and the launcher's end of its channel. */
typedef struct node {
    int launcher;
    char launch[40], number[40], count[40];
    char *environment[8];
    hw_place_options options;
    hw_place place;
    hawser_error error;
} node;

static void start(node *it, unsigned number, unsigned count)
{
    int ends[2];
    memset(it, 0, sizeof *it);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    it->launcher = ends[0];
    snprintf(it->launch, sizeof it->launch, "HAWSER_LAUNCH=fd:%d", fcntl(ends[1], F_DUPFD, 3));
    close(ends[1]);
    snprintf(it->number, sizeof it->number, "HAWSER_NODE=%u", number);
    snprintf(it->count, sizeof it->count, "HAWSER_NODES=%u", count);
    char *const all[] = {it->launch,       it->number, it->count, (char *)"HAWSER_JOB=job-7", (char *)"HAWSER_NODE_NAME=ash",
                         (char *)"HOME=/", NULL};
    memcpy(it->environment, all, sizeof all);
    it->options.environment = it->environment;
}

static void send_line(const node *it, const char *text)
{
    assert_int_equal(write(it->launcher, text, strlen(text)), strlen(text));
}

static void send_key(const node *it)
{
    char line[100];
    snprintf(line, sizeof line, "key %s\n", key_digits);
    send_line(it, line);
}

static void finish(node *it)
{
    hw_place_close(&it->place);
    hw_place_close(&it->place);
    close(it->launcher);
}

static void key_and_place_are_received_over_the_channel(void **state)
{
    (void)state;
    node it;
    start(&it, 2, 4);
    send_key(&it);
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
    assert_non_null(it.place.ops);
    assert_string_equal(it.place.ops->how, "hawser run");
    assert_int_equal(it.place.node, 2);
    assert_int_equal(it.place.nodes, 4);
    assert_string_equal(it.place.job, "job-7");
    assert_string_equal(it.place.name, "ash");
    assert_int_equal(it.place.key_length, 32);
    assert_int_equal(it.place.key[0], 0);
    assert_int_equal(it.place.key[16], 0xf0);
    assert_int_equal(it.place.key[31], 0xff);
    assert_true(fcntl(it.place.channel[0], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(it.place.lifeline, it.place.channel[0]);
    finish(&it);
    assert_int_equal(it.place.key[31], 0); /* forgotten */
    assert_int_equal(it.place.lifeline, -1);
}

static void an_address_is_sent_to_the_launcher_and_the_other_nodes(void **state)
{
    (void)state;
    node it;
    char address[HW_NET_ADDRESS], line[100] = "";
    start(&it, 0, 2);
    send_key(&it);
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
    assert_int_equal(it.place.ops->publish(&it.place, "tcp:[::1]:7070", &it.error), HAWSER_OK);
    assert_int_equal(read(it.launcher, line, sizeof line - 1), 23);
    assert_string_equal(line, "address tcp:[::1]:7070\n");
    finish(&it);

    start(&it, 1, 2);
    send_key(&it);
    send_line(&it, "manager tcp:[::1]:"); /* a line may come in pieces, or with others */
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
    send_line(&it, "7070\nmanager x\n");
    assert_int_equal(it.place.ops->fetch(&it.place, 5, address, &it.error), HAWSER_OK);
    assert_string_equal(address, "tcp:[::1]:7070");
    finish(&it);
}

static void a_missing_address_passes_its_deadline(void **state)
{
    (void)state;
    node it;
    char address[HW_NET_ADDRESS];
    start(&it, 1, 2);
    send_key(&it);
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
    assert_int_equal(it.place.ops->fetch(&it.place, 0.05, address, &it.error), HAWSER_TIMEOUT);
    assert_non_null(strstr(it.error.text, "address of node 0"));
    send_line(&it, "nonsense\n");
    assert_int_equal(it.place.ops->fetch(&it.place, 5, address, &it.error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(it.error.text, "nonsense"));
    char longest[600];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    send_line(&it, longest);
    assert_int_equal(it.place.ops->fetch(&it.place, 5, address, &it.error), HAWSER_BAD_INPUT);
    finish(&it);
}

static void a_lost_launcher_is_reported(void **state)
{
    (void)state;
    node it;
    char address[HW_NET_ADDRESS];
    start(&it, 1, 2);
    shutdown(it.launcher, SHUT_RDWR);
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_PEER_LOST);
    assert_null(it.place.ops);
    assert_non_null(strstr(it.error.text, "hawser run"));
    finish(&it);

    start(&it, 0, 2);
    send_key(&it);
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
    shutdown(it.launcher, SHUT_RDWR);
    assert_int_equal(it.place.ops->publish(&it.place, "x", &it.error), HAWSER_PEER_LOST); /* and no SIGPIPE */
    assert_int_equal(it.place.ops->fetch(&it.place, 5, address, &it.error), HAWSER_PEER_LOST);
    finish(&it);
}

static void a_wrong_key_line_is_refused_and_not_repeated(void **state)
{
    (void)state;
    static const char *const lines[] = {"key 00ff\n", "key \n", "no 00\n", "key 000102030405060708090a0b0c0d0e0g\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        node it;
        start(&it, 1, 2);
        send_line(&it, lines[i]);
        assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_BAD_INPUT);
        assert_null(strstr(it.error.text, "00"));
        finish(&it);
    }
}

/* What a process is that asks for a place: 0: one of several nodes, 1: alone, 2: refused by a text with this. */
static int kind_of_place(const hw_place_options *options, const char *why)
{
    hw_place place;
    hawser_error error = {0};
    hawser_status status = hw_place_find(options, &place, &error);
    bool alone = status == HAWSER_OK && place.ops == NULL && place.node == 0 && place.nodes == 1 && place.name[0] != '\0';
    int kind = alone                                                              ? 1
               : status == HAWSER_BAD_ARGUMENT && strstr(error.text, why) != NULL ? 2
               : status == HAWSER_OK                                              ? 0
                                                                                  : 3;
    hw_place_close(&place);
    return kind;
}

static void process_that_has_joined_is_the_only_one_of_its_node(void **state)
{
    (void)state;
    node it;
    int go[2], result = 0;
    start(&it, 1, 2);
    send_key(&it);
    assert_int_equal(pipe(go), 0);
    pid_t before = fork(); /* it has the channel, too, and asks for its place after its parent */
    if (before == 0) {
        char byte;
        close(go[1]);
        bool asked = read(go[0], &byte, 1) == 1;
        _exit(asked ? kind_of_place(&it.options, "another process of this node has joined") : 4);
    }
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
    assert_non_null(it.place.ops);
    assert_int_equal(kind_of_place(&it.options, "this process has joined"), 2);
    pid_t after = fork();
    if (after == 0)
        _exit(kind_of_place(&it.options, ""));
    assert_int_equal(waitpid(after, &result, 0), after);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 1);
    assert_int_equal(write(go[1], "", 1), 1);
    assert_int_equal(waitpid(before, &result, 0), before);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 2);
    send_line(&it, "manager tcp:[::1]:7070\n"); /* no other process has taken what the launcher sends */
    char address[HW_NET_ADDRESS];
    assert_int_equal(it.place.ops->fetch(&it.place, 5, address, &it.error), HAWSER_OK);
    close(go[0]);
    close(go[1]);
    finish(&it);
}

/* Reads what the launcher has received so far. */
static void received(const node *it, char text[100])
{
    ssize_t length = recv(it->launcher, text, 99, MSG_DONTWAIT);
    text[length > 0 ? length : 0] = '\0';
}

static void node_0_reports_its_checkpoints(void **state)
{
    (void)state;
    for (unsigned nodes = 1; nodes <= 3; nodes++)
        for (unsigned number = 0; number < nodes; number++) {
            node it;
            char text[100];
            start(&it, number, nodes);
            send_key(&it);
            assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
            hw_place_progress(&it.place, 812);
            received(&it, text);
            assert_string_equal(text, number == 0 ? "progress 812\n" : "");
            hw_place_close(&it.place);
            hw_place_progress(&it.place, 813);
            received(&it, text);
            assert_string_equal(text, "");
            finish(&it);
        }
}

static void a_single_node_reports_to_nothing_but_its_launcher(void **state)
{
    (void)state;
    node it;
    char text[100];
    start(&it, 0, 1); /* no key waits there: another socket has this number */
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
    hw_place_progress(&it.place, 5);
    received(&it, text);
    assert_string_equal(text, "");
    finish(&it);
    start(&it, 0, 1);
    it.options.alone = true;
    send_key(&it);
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_OK);
    hw_place_progress(&it.place, 5);
    received(&it, text);
    assert_string_equal(text, "");
    finish(&it);
}

static void a_wrong_channel_is_refused(void **state)
{
    (void)state;
    static const char *const values[] = {"fd:", "fd:1", "fd:x", "fd:9999", "stdio", "fd:4x", "fd:-3"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        node it;
        start(&it, 1, 2);
        int kept;
        assert_int_equal(sscanf(it.launch, "HAWSER_LAUNCH=fd:%d", &kept), 1);
        snprintf(it.launch, sizeof it.launch, "HAWSER_LAUNCH=%s", values[i]);
        assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_BAD_OPTION);
        assert_non_null(strstr(it.error.text, "HAWSER_LAUNCH"));
        close(kept);
        finish(&it);
    }
    node it;
    start(&it, 3, 2); /* node 3 of 2 */
    send_key(&it);
    assert_int_equal(hw_place_find(&it.options, &it.place, &it.error), HAWSER_BAD_OPTION);
    finish(&it);
}

static hawser_status find(char *variable, bool alone, hw_place *place, hawser_error *error)
{
    char *const environment[] = {(char *)"HOME=/", variable, NULL};
    hw_place_options options = {.environment = environment, .alone = alone};
    hawser_status status = hw_place_find(&options, place, error);
    if (status == HAWSER_OK)
        assert_null(place->ops);
    hw_place_close(place);
    return status;
}

static void one_of_several_that_cannot_find_the_others_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"HAWSER_NODES", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hw_place place;
        hawser_error error = {0};
        char variable[60];
        snprintf(variable, sizeof variable, "%s=3", names[i]);
        assert_int_equal(find(variable, false, &place, &error), HAWSER_BAD_OPTION);
        assert_non_null(strstr(error.text, variable));
        assert_non_null(strstr(error.text, "--alone"));
        assert_int_equal(find(variable, true, &place, &error), HAWSER_OK);
        assert_int_equal(place.nodes, 1);
        snprintf(variable, sizeof variable, "%s=1", names[i]);
        assert_int_equal(find(variable, false, &place, &error), HAWSER_OK);
        assert_true(place.name[0] != '\0');
    }
}

static void a_program_that_a_node_in_python_starts_is_alone(void **state)
{
    (void)state;
    char own[60];
    snprintf(own, sizeof own, "HAWSER_PYTHON_NODE=%d//0/ns/2/////5/", (int)getpid());
    static const struct {
        const char *mark; /* NULL: of this process */
        bool alone;
    } cases[] = {{"HAWSER_PYTHON_NODE=1//0/ns/2/////5/", true},
                 {NULL, false},
                 {"HAWSER_PYTHON_NODE=1//0/ns/2/////5/3", false},
                 {"HAWSER_PYTHON_NODE=1//0/ns2/2/////5/", false},
                 {"HAWSER_PYTHON_NODE=1//0/n/2/////5/", false},
                 {"HAWSER_PYTHON_NODE=1", false},
                 {"HAWSER_PYTHON_NODE=1//0/ns/2/////", false},
                 {"HAWSER_PYTHON_NODE=", false},
                 {"HOME=/", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *const environment[] = {(char *)"HAWSER_NODES=3",
                                     (char *)"HAWSER_NODE=0",
                                     (char *)"PMIX_NAMESPACE=ns",
                                     (char *)"PMIX_RANK=2",
                                     (char *)"SLURM_STEP_ID=5",
                                     cases[i].mark != NULL ? (char *)cases[i].mark : own,
                                     NULL};
        hw_place_options options = {.environment = environment};
        hw_place place;
        hawser_error error = {0};
        hawser_status status = hw_place_find(&options, &place, &error);
        assert_int_equal(status == HAWSER_OK && place.ops == NULL, cases[i].alone);
        hw_place_close(&place);
    }
}

/* What sbatch sets for a script, and srun for a task. */
static void one_process_of_a_job_with_several_tasks_is_in_doubt(void **state)
{
    (void)state;
    char text[500] = "";
    char job[] = "SLURM_JOB_ID=7", tasks[] = "SLURM_NTASKS=4", one[] = "SLURM_NTASKS=1", number[] = "SLURM_PROCID=0",
         step[] = "SLURM_STEP_NUM_TASKS=1", launch[] = "HAWSER_LAUNCH=fd:3";
    assert_true(hw_place_doubt((char *const[]){job, tasks, number, NULL}, text, sizeof text));
    assert_non_null(strstr(text, "given this job 4 tasks"));
    assert_non_null(strstr(text, "srun --mpi=pmix"));
    assert_non_null(strstr(text, "--cpus-per-task=4"));
    assert_non_null(strstr(text, "this is meant")); /* the end is there */
    assert_false(hw_place_doubt((char *const[]){job, one, number, NULL}, text, sizeof text));
    assert_false(hw_place_doubt((char *const[]){tasks, NULL}, text, sizeof text));
    assert_false(hw_place_doubt((char *const[]){job, tasks, number, step, NULL}, text, sizeof text));
    assert_false(hw_place_doubt((char *const[]){job, tasks, number, launch, NULL}, text, sizeof text));
}

static void keys_are_written_and_read_again(void **state)
{
    (void)state;
    unsigned char key[32], other[32], back[HW_NET_KEY_MOST];
    char text[65];
    size_t length = 0;
    hawser_error error;
    assert_int_equal(hw_key_make(key, &error), HAWSER_OK);
    assert_int_equal(hw_key_make(other, &error), HAWSER_OK);
    assert_memory_not_equal(key, other, 32);
    hw_key_text(key, 32, text);
    assert_int_equal(strlen(text), 64);
    assert_int_equal(hw_key_parse(text, 64, back, &length, &error), HAWSER_OK);
    assert_int_equal(length, 32);
    assert_memory_equal(key, back, 32);

    assert_int_equal(hw_key_write("job.key", key, 32, &error), HAWSER_OK);
    struct stat facts;
    assert_int_equal(stat("job.key", &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    memset(back, 0, sizeof back);
    assert_int_equal(hw_key_read("job.key", back, &length, &error), HAWSER_OK);
    assert_int_equal(length, 32);
    assert_memory_equal(key, back, 32);
    assert_int_equal(hw_key_write("job.key", other, 32, &error), HAWSER_IO); /* never replaced */
    assert_int_equal(hw_key_read("job.key", back, &length, &error), HAWSER_OK);
    assert_memory_equal(key, back, 32);
}

static void a_key_that_others_may_read_is_refused(void **state)
{
    (void)state;
    unsigned char key[32] = {1}, back[HW_NET_KEY_MOST];
    size_t length;
    hawser_error error;
    static const mode_t modes[] = {0640, 0604, 0660, 0601, 0610};
    assert_int_equal(hw_key_write("open.key", key, 32, &error), HAWSER_OK);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod("open.key", modes[i]), 0);
        assert_int_equal(hw_key_read("open.key", back, &length, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "chmod 600"));
    }
    assert_int_equal(chmod("open.key", 0400), 0);
    assert_int_equal(hw_key_read("open.key", back, &length, &error), HAWSER_OK);
}

static void a_key_of_another_user_is_refused(void **state)
{
    (void)state;
    unsigned char key[32] = {1}, back[HW_NET_KEY_MOST];
    size_t length;
    hawser_error error;
    if (geteuid() != 0)
        skip(); /* only root can give files away */
    assert_int_equal(hw_key_write("given.key", key, 32, &error), HAWSER_OK);
    assert_int_equal(chown("given.key", 12345, (gid_t)-1), 0);
    assert_int_equal(hw_key_read("given.key", back, &length, &error), HAWSER_BAD_INPUT);
    assert_non_null(strstr(error.text, "given.key: this key file belongs to user 12345"));
    assert_int_equal(chown("given.key", 0, (gid_t)-1), 0);
    assert_int_equal(hw_key_read("given.key", back, &length, &error), HAWSER_OK);
}

static void an_invalid_key_file_is_refused(void **state)
{
    (void)state;
    unsigned char back[HW_NET_KEY_MOST];
    size_t length;
    hawser_error error;
    static const char *const texts[] = {"",
                                        "\n",
                                        "0011",
                                        "zz0102030405060708090a0b0c0d0e0f",
                                        "000102030405060708090a0b0c0d0e0f0",
                                        "00000000000000000000000000000000",
                                        "00 0102030405060708090a0b0c0d0e0f0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int fd = open("bad.key", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
        close(fd);
        assert_int_equal(hw_key_read("bad.key", back, &length, &error), HAWSER_BAD_INPUT);
        assert_non_null(strstr(error.text, "bad.key"));
        assert_null(strstr(error.text, "0102030405"));
    }
    unsigned char zeros[HW_NET_KEY_MOST] = {0};
    for (size_t bytes = HW_NET_KEY_LEAST; bytes <= HW_NET_KEY_MOST; bytes++) {
        assert_int_equal(hw_key_copy(zeros, bytes, back, &length, &error), HAWSER_BAD_ARGUMENT);
        zeros[bytes - 1] = 1;
        assert_int_equal(hw_key_copy(zeros, bytes, back, &length, &error), HAWSER_OK);
        zeros[bytes - 1] = 0;
    }
    assert_int_equal(hw_key_read("none.key", back, &length, &error), HAWSER_IO);
    assert_int_equal(mkdir("folder.key", 0700), 0);
    assert_int_equal(hw_key_read("folder.key", back, &length, &error), HAWSER_BAD_INPUT);
    assert_int_equal(mkfifo("pipe.key", 0600), 0); /* does not wait for a writer */
    assert_int_equal(hw_key_read("pipe.key", back, &length, &error), HAWSER_BAD_INPUT);
}

static void the_first_host_of_slurms_list(void **state)
{
    (void)state;
    static const char *const lists[][2] = {{"ash", "ash"},
                                           {"ash,birch", "ash"},
                                           {"birch[01-03,07]", "birch01"},
                                           {"birch[7,9]-ib,ash", "birch7-ib"},
                                           {"r[1-2]c[03-04]n[5]", "r1c03n5"},
                                           {"a-b[0008-0010].cluster", "a-b0008.cluster"},
                                           {"10.0.0.[1-4]", "10.0.0.1"}};
    static const char *const wrong[] = {"", ",ash", "a[", "a[]", "a[x]", "a[1", "a[1x]", "a]", "a b", "-o[1]", "(null)"};
    char host[160], small[6];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!hw_nodelist_first(lists[i][0], host, sizeof host))
            fail_msg("not understood: %s", lists[i][0]);
        assert_string_equal(host, lists[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (hw_nodelist_first(wrong[i], host, sizeof host))
            fail_msg("'%s' was taken for %s", wrong[i], host);
    assert_true(hw_nodelist_first("birch", small, sizeof small));
    assert_false(hw_nodelist_first("birch1", small, sizeof small));
    assert_false(hw_nodelist_first("b[12345]", small, sizeof small));
}

static hawser_status find_slurm(const char *job, const char *step, uint16_t low, uint16_t high, hw_place *place)
{
    char job_text[60], step_text[60];
    snprintf(job_text, sizeof job_text, "SLURM_JOB_ID=%s", job);
    snprintf(step_text, sizeof step_text, "SLURM_STEP_ID=%s", step);
    char *const environment[] = {(char *)"SLURM_PROCID=5",
                                 (char *)"SLURM_STEP_NUM_TASKS=8",
                                 (char *)"SLURM_STEP_NUM_NODES=2",
                                 (char *)"SLURM_STEP_NODELIST=n[07-08]",
                                 (char *)"SLURMD_NODENAME=n08",
                                 job_text,
                                 step_text,
                                 NULL};
    hw_place_options options = {.environment = environment, .key_file = "slurm.key", .port_low = low, .port_high = high};
    hawser_error error;
    return hw_place_find(&options, place, &error);
}

static void slurm_gives_number_job_and_meeting_point(void **state)
{
    (void)state;
    unsigned char key[32] = {7};
    hw_place place, other;
    hawser_error error;
    char address[HW_NET_ADDRESS], expected[HW_NET_ADDRESS];
    assert_int_equal(hw_key_write("slurm.key", key, 32, &error), HAWSER_OK);
    assert_int_equal(find_slurm("123", "4", 0, 0, &place), HAWSER_OK);
    assert_int_equal(place.node, 5);
    assert_int_equal(place.nodes, 8);
    assert_string_equal(place.job, "slurm-123.4");
    assert_string_equal(place.name, "n08-5");
    assert_false(place.local);
    assert_memory_equal(place.key, key, 32);
    assert_int_equal(place.ops->fetch(&place, 1, address, &error), HAWSER_OK);
    snprintf(expected, sizeof expected, "n07:%u", place.port);
    assert_string_equal(address, expected);
    assert_int_equal(find_slurm("124", "4", 0, 0, &other), HAWSER_OK);
    assert_int_not_equal(place.port, other.port);
    hw_place_close(&place);
    hw_place_close(&other);
    assert_int_equal(find_slurm("123", "4", 7000, 7003, &place), HAWSER_OK);
    assert_in_range(place.port, 7000, 7003);
    hw_place_close(&place);
    assert_int_equal(find_slurm("x", "4", 0, 0, &place), HAWSER_BAD_OPTION);
}

static void nodes_started_by_hand_need_a_key_and_a_manager(void **state)
{
    (void)state;
    unsigned char key[32] = {9};
    char *const environment[] = {NULL};
    char address[HW_NET_ADDRESS];
    hw_place place;
    hawser_error error;
    hw_place_options options = {.environment = environment, .join = "ash:7000"};
    assert_int_equal(hw_place_find(&options, &place, &error), HAWSER_BAD_OPTION);
    assert_non_null(strstr(error.text, "--key-file"));
    assert_int_equal(hw_key_write("hand.key", key, 32, &error), HAWSER_OK);
    options.key_file = "hand.key";
    options.name = "birch";
    assert_int_equal(hw_place_find(&options, &place, &error), HAWSER_OK);
    assert_int_equal(place.node, HW_NET_ANY);
    assert_int_equal(place.nodes, 0);
    assert_string_equal(place.name, "birch");
    assert_int_equal(place.ops->fetch(&place, 1, address, &error), HAWSER_OK);
    assert_string_equal(address, "ash:7000");
    char job[HW_NET_NAME];
    memcpy(job, place.job, sizeof job);
    hw_place_close(&place);
    options = (hw_place_options){.environment = environment, .listen = 3, .key_file = "hand.key"};
    assert_int_equal(hw_place_find(&options, &place, &error), HAWSER_OK);
    assert_int_equal(place.node, 0);
    assert_int_equal(place.nodes, 3);
    assert_string_equal(place.job, job); /* or the two would refuse each other */
    hw_place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_and_place_are_received_over_the_channel),
        cmocka_unit_test(an_address_is_sent_to_the_launcher_and_the_other_nodes),
        cmocka_unit_test(a_missing_address_passes_its_deadline),
        cmocka_unit_test(a_lost_launcher_is_reported),
        cmocka_unit_test(a_wrong_key_line_is_refused_and_not_repeated),
        cmocka_unit_test(process_that_has_joined_is_the_only_one_of_its_node),
        cmocka_unit_test(node_0_reports_its_checkpoints),
        cmocka_unit_test(a_single_node_reports_to_nothing_but_its_launcher),
        cmocka_unit_test(a_wrong_channel_is_refused),
        cmocka_unit_test(a_program_that_a_node_in_python_starts_is_alone),
        cmocka_unit_test(one_of_several_that_cannot_find_the_others_is_refused),
        cmocka_unit_test(one_process_of_a_job_with_several_tasks_is_in_doubt),
        cmocka_unit_test(the_first_host_of_slurms_list),
        cmocka_unit_test(slurm_gives_number_job_and_meeting_point),
        cmocka_unit_test(nodes_started_by_hand_need_a_key_and_a_manager),
        cmocka_unit_test(keys_are_written_and_read_again),
        cmocka_unit_test(a_key_that_others_may_read_is_refused),
        cmocka_unit_test(a_key_of_another_user_is_refused),
        cmocka_unit_test(an_invalid_key_file_is_refused),
    };
    return cmocka_run_group_tests_name("cluster place", tests, make_directory, remove_directory);
}
