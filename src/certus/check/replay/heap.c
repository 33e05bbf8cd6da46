/* The heap of a sanitized program, and the search for leaks when it ends. This text follows sanitizer.c. */

/* ------------------------------------------------------------------------------------------ allocation */

enum { NEAR = 64, FAR = 1 << 16, FAR_OBJECTS = 1024 }; /* bytes between objects; FAR for the first ones */

static void *allocate(size_t size, size_t align, size_t *frame)
{
    struct object *object = objects + object_count;
    size_t start, gap = object_count < FAR_OBJECTS && room - heap < HEAP_SIZE / 2 ? FAR + size : NEAR;
    if (align < 16) align = 16;
    if (size > HEAP_SIZE || align > HEAP_SIZE || (object_count + 1) * sizeof *object > OBJECTS_SIZE)
        certus_finish(NO_MEMORY);
    start = room + align - 1 & -align;
    if (start - heap + size + gap > HEAP_SIZE) gap = NEAR;
    if (start - heap + size + gap > HEAP_SIZE) certus_finish(NO_MEMORY);
    room = start + size + gap + 15 & ~(size_t)15;
    object_count++;
    object->start = start;
    object->size = size;
    record_origin(object->allocated, frame);
    fill(heap_shadow + (start - heap >> 3), size >> 3, 8);
    if (size & 7) heap_shadow[start - heap + size >> 3] = size & 7;
    set_contents((byte *)start, size);
    return (void *)start;
}

/* Return the object at an address, which must be the start of one. */
static struct object *owned(void *old, size_t *frame)
{
    size_t start = (size_t)old, number = in_heap(start) ? objects_up_to(start) : 0;
    struct object *object = objects + number - 1;
    circumstance = PLAIN;
    if (!number || object->start != start || object->freed || object->local)
        fail(INVALID_FREE, start, 0, frame);
    return object;
}

static void release(struct object *object, size_t *frame)
{
    object->freed = 1;
    record_origin(object->released, frame);
    fill(heap_shadow + (object->start - heap >> 3), object->size + 7 >> 3, FREED);
}

/* Return an object for the program, or null if the harness of a trace says that this allocation fails. */
static void *request(size_t size, size_t align, size_t *frame)
{
    return fails() ? 0 : allocate(size, align, frame);
}

WEAK void *malloc(size_t size) { return request(size, 16, OWN_FRAME); }

WEAK void *calloc(size_t count, size_t size)
{
    if (size && count > (size_t)-1 / size) certus_finish(NO_MEMORY);
    return request(count * size, 16, OWN_FRAME);
}

WEAK void *realloc(void *old, size_t size)
{
    if (!old) return request(size, 16, OWN_FRAME);
    struct object *object = owned(old, OWN_FRAME);
    if (fails()) return 0;
    release(object, OWN_FRAME);
    void *start = allocate(size, 16, OWN_FRAME);
    copy(start, old, object->size < size ? object->size : size);
    return start;
}

WEAK void *reallocarray(void *old, size_t count, size_t size)
{
    if (size && count > (size_t)-1 / size) certus_finish(NO_MEMORY);
    return realloc(old, count * size);
}

static void *own_aligned(size_t align, size_t size) { return request(size, align, OWN_FRAME); }
OWN(own_aligned) void *aligned_alloc(size_t align, size_t size);
OWN(own_aligned) void *memalign(size_t align, size_t size);
WEAK void *valloc(size_t size) { return request(size, PAGE, OWN_FRAME); }

WEAK int posix_memalign(void **to, size_t align, size_t size)
{
    void *start = request(size, align, OWN_FRAME);
    if (!start) return 12; /* ENOMEM */
    check(INVALID_WRITE, (size_t)to, sizeof *to, OWN_FRAME);
    *to = start;
    return 0;
}

static void own_free(void *old) { if (old) release(owned(old, OWN_FRAME), OWN_FRAME); }
OWN(own_free) void free(void *old);
OWN(own_free) void cfree(void *old);

/* Clang treats `alloca` as a function if it is declared with another type. The end of its object is seen at the
 * next access of a calling function. */
WEAK void *alloca(size_t size)
{
    end_local_objects((size_t)(OWN_FRAME + 2));
    void *start = allocate(size, 16, OWN_FRAME);
    struct object *object = objects + object_count - 1;
    object->local = 1;
    object->caller = *OWN_FRAME;
    object->next = local_objects;
    local_objects = object_count;
    report->blind |= AMBIGUOUS_STACK;
    return start;
}

/* ---------------------------------------------------------------------------------------------- leaks */

static size_t unsearched; /* a list of objects; number + 1 */

/* A pointer to any byte of an object, or just past its end, keeps it. */
static void reach(size_t address)
{
    if (!in_heap(address)) return;
    size_t number = objects_up_to(address);
    if (!number) return;
    struct object *object = objects + number - 1;
    if (object->freed || object->reached || object->local || address - object->start > object->size) return;
    object->reached = 1;
    object->next = unsearched;
    unsearched = number;
}

/* Look for pointers, at any alignment. */
static void search(size_t from, size_t to)
{
    struct { size_t value; } __attribute__((packed)) *at;
    for (; to - from >= sizeof(size_t) && from < to; from++) {
        at = (void *)from;
        reach(at->value);
    }
}

static void search_reached(void)
{
    while (unsearched) {
        struct object *object = objects + unsearched - 1;
        unsearched = object->next;
        search(object->start, object->start + object->size);
    }
}

static unsigned long count_unreached(const struct object **first)
{
    unsigned long count = 0;
    for (size_t i = object_count; i-- > 0;)
        if (!objects[i].freed && !objects[i].reached && !objects[i].local) count++, *first = objects + i;
    return count;
}

/* Search local objects. `top` is where the frames of the program begin: below, functions of this runtime may have left
 * copies of addresses. Without optimisation, the program keeps no address in a register when it calls a function. */
static void search_locals(size_t top)
{
    search(top, stack_start);
    for (int kind = 0; kind < CLASSES; kind++)
        for (size_t number = 0; rings[kind].active && number < FRAME_NUMBERS >> kind; number++)
            if (active_frames[(size_t)kind * FRAME_NUMBERS + number])
                search(frame_start(kind, number), frame_start(kind, number + 1));
    for (size_t i = 0; i < object_count; i++)
        if (objects[i].local && !objects[i].freed) search(objects[i].start, objects[i].start + objects[i].size);
    search_reached();
}

/* Count the objects that were not freed, and those of them that static objects do not lead to. When `main` has
 * returned, its local objects have ended; otherwise local objects may lead to others as well. */
static void count_objects(int code, size_t top)
{
    const struct object *first = 0;
    report->live = count_unreached(&first);
    if (!report->live) return;
    for (int i = 0; i < __ehdr_start.count; i++)
        if (segments()[i].type == LOADED && segments()[i].flags & WRITABLE)
            search(segments()[i].at, segments()[i].at + segments()[i].size);
    search_reached();
    report->lost = count_unreached(&first);
    if (code != RETURNED && report->lost) {
        word unreached = report->lost;
        search_locals(top);
        report->lost = count_unreached(&first);
        report->held = unreached - report->lost;
    }
    describe_object(first, first->start);
}

/* End the run in the function with this frame. The program has called the function that has called it. */
static void conclude(int code, size_t *frame)
{
    static int concluded;
    if (concluded++ || !report || report->error != NO_ERROR) return;
    if (code == RETURNED || code == EXITED || code == ABORTED || code == ASSERTION || code == ERROR)
        count_objects(code, frame[0] + 2 * sizeof(size_t));
}
