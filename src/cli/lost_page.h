/* lost_page.h - what the command prints for a mapped file that another program has cut. */
#ifndef HW_CLI_LOST_PAGE_H
#define HW_CLI_LOST_PAGE_H

/* Handles SIGBUS from now on: prints one line with the name of the file, and ends the process with 3. */
void hw_handle_lost_pages(void);

#endif
