#include "report/threads.h"

#include "base/machine.h"

void hw_load_threads(const hawser_job *job, hawser_load *load)
{
    uint32_t share = hawser_job_workers(job) / hawser_job_nodes(job), processors = hw_machine_processors();
    if (load->threads == 0 && (share > 1 || hawser_job_nodes(job) > 1)) /* each reader has buffers */
        load->threads = share < processors ? share : processors;
}
