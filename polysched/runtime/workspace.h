/* Workspaces of kernels: each thread keeps one block of memory. */

#ifndef POLYSCHED_WORKSPACE_H
#define POLYSCHED_WORKSPACE_H

#include <stddef.h>

int can_keep_workspaces(void);
void *take_workspace(size_t alignment, size_t size);
void give_workspace(void *memory);

#endif
