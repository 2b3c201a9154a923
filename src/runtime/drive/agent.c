#include "runtime/drive/agent.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* The interval in which an agent checks whether a signal asked this node to end the run. */
#define POLL_SECONDS 0.05

static hawser_status handle(void *owner, hw_message *message)
{
    hw_agent *agent = owner;
    if (message->envelope.kind == HW_MESSAGE_RESULT && agent->result == NULL) {
        agent->result = message;
        return HAWSER_OK;
    }
    if (message->envelope.kind == HW_MESSAGE_INTERRUPT) {
        atomic_store(&agent->session->ending, true);
        hw_message_free(message);
        return HAWSER_OK;
    }
    hawser_status status =
        hawser_fail(&agent->error, HAWSER_INTERNAL, "an agent got a message of kind %u", message->envelope.kind);
    hw_message_free(message);
    return status;
}

static hawser_status lost(void *owner, const hw_loss *loss)
{
    return hw_fail_loss(&((hw_agent *)owner)->mailbox, loss, NULL, 0);
}

void hw_agent_open(hw_agent *agent, hw_session *session)
{
    agent->session = session;
    agent->mailbox = (hw_mailbox){.session = session,
                                  .endpoint = hw_agent_endpoint(session, session->node),
                                  .runner = session->local,
                                  .owner = agent,
                                  .handle = handle,
                                  .lost = lost,
                                  .poll = POLL_SECONDS,
                                  .error = &agent->error};
}

void hw_agent_close(hw_agent *agent)
{
    hw_message_free(agent->result);
}

static hawser_status say(hw_agent *agent, hw_message *message, hw_message_kind kind)
{
    message->envelope.kind = (uint8_t)kind;
    return hw_send(&agent->mailbox, agent->session->blocks, message);
}

static hawser_status say_program(hw_agent *agent)
{
    char *text = NULL;
    hw_message *message = NULL;
    HAWSER_TRY(hw_session_program(agent->session, &text, &agent->error));
    hawser_status status = hw_message_new(strlen(text) + 1, &message, &agent->error);
    if (status == HAWSER_OK)
        memcpy(message->payload, text, strlen(text) + 1);
    free(text);
    return status == HAWSER_OK ? say(agent, message, HW_MESSAGE_PROGRAM) : status;
}

static void pass_interrupt(hw_agent *agent)
{
    hawser_job *job = agent->session->job;
    hw_message *message = NULL;
    if (agent->sent_interrupt || !hw_job_interrupted(job))
        return;
    uint64_t asked = atomic_load(&job->asked);
    if (hw_message_new(sizeof asked, &message, &agent->error) != HAWSER_OK) /* it tries again at the next check */
        return;
    memcpy(message->payload, &asked, sizeof asked);
    agent->sent_interrupt = say(agent, message, HW_MESSAGE_INTERRUPT) == HAWSER_OK;
}

static bool blocks_have_ended(void *argument)
{
    hw_agent *agent = argument;
    pass_interrupt(agent);
    return agent->result != NULL || atomic_load(&agent->session->ended) == agent->session->local;
}

static bool has_result(void *argument)
{
    return ((hw_agent *)argument)->result != NULL;
}

/* If node 0 is lost to this node, node 0 has left a result, or the report of its loss is about to arrive. */
static hawser_status unless_gone(hw_agent *agent, hawser_status status)
{
    return status == HAWSER_PEER_LOST ? hw_wait(&agent->mailbox, has_result, agent) : status;
}

static hawser_status serve(hw_agent *agent)
{
    hw_message *gathered = NULL;
    HAWSER_TRY(unless_gone(agent, say_program(agent)));
    HAWSER_TRY(hw_wait(&agent->mailbox, blocks_have_ended, agent));
    if (agent->result != NULL)
        return HAWSER_OK;
    hawser_status packed = hw_gather_pack(agent->session, &gathered, &agent->error);
    if (packed == HAWSER_PEER_LOST) /* in a read of a stored state; the report of the loss says where the job was */
        return hw_wait(&agent->mailbox, has_result, agent);
    HAWSER_TRY(packed);
    HAWSER_TRY(unless_gone(agent, say(agent, gathered, HW_MESSAGE_GATHER)));
    return hw_wait(&agent->mailbox, has_result, agent);
}

void hw_agent_main(hw_agent *agent)
{
    hawser_status status = agent->error.status = serve(agent);
    if (status < HAWSER_OK && status != HAWSER_PEER_LOST) /* no node waits for this one, and its own blocks end */
        hw_cluster_give_up(agent->session->cluster, agent->error.text);
}
