/* Workspaces of kernels.

   A kernel allocates its workspace at the start of a call and frees it at the end. The system takes
   back the pages of large blocks, and the next call pays for a page fault for every 4 KiB. So each
   thread keeps one block. */

#include "workspace.h"

#include <pthread.h>
#include <stdlib.h>

enum { KEPT_MOST = 64 << 20 };

typedef struct {
    void *memory;
    size_t alignment, size;
    int is_used;
} Workspace;

static pthread_key_t workspace_key;
static int has_workspace_key;

static void
drop_workspace(void *workspace)
{
    free(((Workspace *)workspace)->memory);
    free(workspace);
}

/* Prepare the other functions, once; 0 if threads cannot keep a block. */
int
can_keep_workspaces(void)
{
    if (!has_workspace_key) {
        has_workspace_key = pthread_key_create(&workspace_key, drop_workspace) == 0;
    }
    return has_workspace_key;
}

/* As aligned_alloc; the memory is the thread's block if that is free. */
void *
take_workspace(size_t alignment, size_t size)
{
    Workspace *kept = pthread_getspecific(workspace_key);
    if (kept == NULL && (kept = calloc(1, sizeof(Workspace))) != NULL &&
        pthread_setspecific(workspace_key, kept)) {
        free(kept);
        kept = NULL;
    }
    if (kept == NULL || kept->is_used || size > KEPT_MOST) {
        return aligned_alloc(alignment, size);
    }
    if (kept->size < size || kept->alignment < alignment) {
        free(kept->memory);
        kept->memory = aligned_alloc(alignment, size);
        kept->alignment = alignment;
        kept->size = kept->memory == NULL ? 0 : size;
    }
    kept->is_used = kept->memory != NULL;
    return kept->memory;
}

/* As free, for memory of take_workspace. */
void
give_workspace(void *memory)
{
    Workspace *kept = pthread_getspecific(workspace_key);
    if (kept != NULL && memory != NULL && memory == kept->memory) {
        kept->is_used = 0;
        return;
    }
    free(memory);
}
