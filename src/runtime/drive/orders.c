/* orders.c - how the driver sends a message to all blocks, and asks them to pause. */
#include "runtime/drive/driver.h"

hawser_status hw_driver_send_all(hw_driver *driver, hw_message *message)
{
    uint32_t blocks = driver->session->blocks;
    for (uint32_t i = 0; i < blocks; i++) {
        hw_message *copy = message;
        if (i + 1 < blocks) {
            hawser_status status = hw_message_share(message, &copy, &driver->error);
            if (status != HAWSER_OK) {
                hw_message_free(message);
                return status;
            }
        }
        if (copy->envelope.kind == HW_MESSAGE_TRIGGER || copy->envelope.kind == HW_MESSAGE_CREDIT)
            copy->envelope.count = hw_knobs_share(driver, driver->policies.loop, i);
        hawser_status status = hw_send(&driver->mailbox, i, copy);
        if (status != HAWSER_OK && i + 1 < blocks)
            hw_message_free(message);
        HAWSER_TRY(status);
    }
    return HAWSER_OK;
}

bool hw_driver_paused(void *argument)
{
    hw_driver *driver = argument;
    return driver->paused == driver->session->blocks;
}

hawser_status hw_driver_ask_pause(hw_driver *driver, bool abandon)
{
    hw_message *message = NULL;
    HAWSER_TRY(hw_message_new(0, &message, &driver->error));
    message->envelope.kind = HW_MESSAGE_PAUSE;
    message->envelope.part = ++driver->pauses;
    message->envelope.last = abandon;
    driver->paused = 0;
    driver->furthest = 0;
    driver->agreed = UINT64_MAX;
    return hw_driver_send_all(driver, message);
}
