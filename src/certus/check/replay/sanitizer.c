/* An AddressSanitizer and leak runtime without a C library. It follows start.c in one text.
 *
 * Clang inserts a call before each access that may be invalid (`__asan_load4(address)`), and around the lifetime
 * of local objects. Every object has a shadow that says which of its bytes are valid, eight bytes in one:
 *
 *   - Heap objects are never placed where another one has been, and are far apart. Their shadow counts the valid
 *     bytes of each eight; 0 is memory outside objects.
 *   - Local objects whose address is used live in frames that this file allocates, so that they can be used no
 *     more after the function has returned. Clang computes the addresses of their shadow itself, and 0 means
 *     that all eight bytes are valid, a negative number that none is.
 *   - Static objects have the same shadow as local ones, in a place of our own.
 *
 * The first error ends the program. What is known about it is in the report, which Python reads
 * (`check.replay.sanitized`). heap.c, which follows, has `malloc` and `free`, and looks for leaks at the end. */

/* --------------------------------------------------------------------------------------- the report */

enum { NO_ERROR, INVALID_READ, INVALID_WRITE, INVALID_FREE };
enum { NO_OBJECT, HEAP, LOCAL, STATIC };
enum { LIVE, ENDED };
/* Further facts about an access: the address is the result of arithmetic that overflowed, the access is outside
 * the object that it names, code was expected there, the memory is read-only, no array has such a size. */
enum { PLAIN, WRAPPED, OUTSIDE, NO_CODE, READ_ONLY, NO_SIZE };
/* Why an error may not have been seen. */
enum { FRAMES_REUSED = 1, FRAME_ON_STACK = 2, AMBIGUOUS_STACK = 4, BELOW_BASE = 8, SCOPE_AGAIN = 16, BEFORE_OBJECT = 32 };
enum { PLACES = 8, ORIGINS = 4, NAME = 256 };

struct report {
    word ready, error, size, storage, state, object_size, offset, circumstance;
    word live, lost, held; /* objects on the heap at the end: all, unreachable, reachable from the stack only */
    word blind;
    word places[PLACES], allocated[ORIGINS], freed[ORIGINS]; /* return addresses, innermost first */
    char name[NAME];
};
enum { READY = 0x5a17 };

static struct report *report;

/* Store the return addresses of the frames from `frame` on. */
static void record_calls(word *places, int most, size_t *frame)
{
    for (int i = 0; i < most; i++) {
        if (!on_stack((byte *)frame) || (size_t)frame % sizeof(size_t)) return;
        places[i] = frame[1];
        if (frame[0] <= (size_t)frame) return;
        frame = (size_t *)frame[0];
    }
}

/* --------------------------------------------------------------------------------------- the shadow */

#ifdef __x86_64__
#define LOCAL_SHADOW 0x7fff8000UL /* as in the code that Clang generates */
#define HEAP_AT 0x600000000000UL
#define FRAMES_AT 0x500000000000UL
#else
#define LOCAL_SHADOW 0x20000000UL
#define HEAP_AT 0x60000000UL
#define FRAMES_AT 0x50000000UL
#endif

#define HEAP_SIZE ((size_t)1 << 30)
#define OBJECTS_SIZE ((size_t)1 << 28)
#define BEFORE_STATIC 32                 /* bytes of shadow: memory before a static object that is marked */
#define CLASSES 11                       /* of frames: 64 bytes, 128 ... */
#define CLASS_SIZE ((size_t)1 << 24)     /* bytes for the frames of a class */
#define FRAMES_SIZE (CLASSES * CLASS_SIZE)
#define PAGE ((size_t)4096)
#define RESERVED (PRIVATE_ANONYMOUS | 0x4000) /* pages exist when they are used */

/* Values of the shadow: those of Clang; FRESH for the memory of a new frame, which is valid; AFTER_SCOPE instead of
 * BEFORE_SCOPE for an object that has been valid before; AFTER_RETURN also for stack memory of `alloca` and of
 * arrays of variable length that have ended; UNKNOWN_OWNER for memory before a static object that may belong to
 * another one without a zone around it. */
enum { FRESH = 8, UNKNOWN_OWNER = 9, BEFORE_SCOPE = 0xf8, AFTER_SCOPE = 0xf7, AFTER_RETURN = 0xf5, STATIC_ZONE = 0xf9, FREED = 0xfd, ALLOCA_LEFT = 0xca, ALLOCA_RIGHT = 0xcb };

static size_t heap, frames, image, image_size;
static size_t stack_start; /* the frame of `main` lies below */
static byte *heap_shadow, *image_shadow;

static byte *local_shadow(size_t address) { return (byte *)((address >> 3) + LOCAL_SHADOW); }
static int in_heap(size_t address) { return address - heap < HEAP_SIZE; }
static int in_frames(size_t address) { return address - frames < FRAMES_SIZE; }
static int in_image(size_t address) { return address - image < image_size; }

static void fill(byte *at, size_t n, int value) { while (n--) *at++ = (byte)value; }

/* Whether the shadow of local or static memory permits an access. */
static int permitted(const byte *shadow, size_t address, size_t n)
{
    for (;;) {
        size_t within = address & 7, part = 8 - within < n ? 8 - within : n;
        int valid = (signed char)*shadow++;
        if (valid && (valid < 0 || within + part > (size_t)valid)) return 0;
        if (!(n -= part)) return 1;
        address += part;
    }
}

static int permitted_on_heap(size_t address, size_t n)
{
    const byte *shadow = heap_shadow + (address - heap >> 3);
    for (;;) {
        size_t within = address & 7, part = 8 - within < n ? 8 - within : n;
        if (*shadow == FREED || within + part > *shadow) return 0;
        if (!(n -= part)) return 1;
        shadow++, address += part;
    }
}

/* Whether the stack may be accessed by a function whose stack pointer is `top`. Memory below it has ended. Memory
 * marked AFTER_RETURN may belong to another function by now, whose own objects have no marks. */
static int permitted_on_stack(size_t address, size_t n, size_t top)
{
    if (address < top) return 0;
    if (permitted(local_shadow(address), address, n)) return 1;
    for (size_t i = 0; i < n; i++)
        if (*local_shadow(address + i) != AFTER_RETURN && !permitted(local_shadow(address + i), address + i, 1))
            return 0;
    report->blind |= AMBIGUOUS_STACK;
    return 1;
}

static int valid(size_t address, size_t n, size_t top)
{
    if (n == 0) return 1;
    if (address + n < address) return 0;
    if (in_frames(address)) return in_frames(address + n - 1) && permitted(local_shadow(address), address, n);
    if (in_heap(address)) return in_heap(address + n - 1) && permitted_on_heap(address, n);
    if (in_image(address)) {
        const byte *shadow = image_shadow + (address - image >> 3);
        if (*shadow == UNKNOWN_OWNER) report->blind |= BEFORE_OBJECT;
        return in_image(address + n - 1) && permitted(shadow, address, n);
    }
    return on_stack((byte *)address) && address + n <= (size_t)stack && permitted_on_stack(address, n, top);
}

/* Mark `n` bytes from an address that is a multiple of eight as valid. */
static void permit(byte *shadow, size_t n)
{
    fill(shadow, n >> 3, 0);
    if (n & 7) shadow[n >> 3] = n & 7;
}

/* ------------------------------------------------------------------------------------- heap objects */

struct object {
    size_t start, size;
    unsigned freed, reached, local; /* an object of `alloca` as a function is local: it must not be freed */
    size_t next;   /* objects that are reached but not yet searched form a list: number + 1; so do local ones */
    size_t caller; /* the frame of the function that called `alloca` */
    size_t allocated[ORIGINS], released[ORIGINS];
};

static struct object *objects; /* in the order of their addresses */
static size_t object_count;
static size_t room; /* where the next object may start */
static size_t local_objects;

/* The number of objects that start at or below an address. */
static size_t objects_up_to(size_t address)
{
    size_t low = 0, high = object_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (objects[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void record_origin(size_t *origins, size_t *frame)
{
    word places[ORIGINS];
    for (int i = 0; i < ORIGINS; i++) places[i] = 0;
    record_calls(places, ORIGINS, frame);
    for (int i = 0; i < ORIGINS; i++) origins[i] = (size_t)places[i];
}

/* Describe a heap object in the report. */
static void describe_object(const struct object *object, size_t address)
{
    report->storage = object->local ? LOCAL : HEAP;
    report->state = object->freed ? ENDED : LIVE;
    report->object_size = object->size;
    report->offset = (word)(long long)(long)(address - object->start);
    for (int i = 0; i < ORIGINS; i++) {
        report->allocated[i] = object->allocated[i];
        report->freed[i] = object->released[i];
    }
}

/* Describe the object that contains an address or is next to it. */
static void describe_heap(size_t address)
{
    size_t number = objects_up_to(address);
    if (!object_count) return;
    if (number == object_count
        || (number && address - objects[number - 1].start - objects[number - 1].size
                          < objects[number].start - address)
        || (number && address - objects[number - 1].start < objects[number - 1].size))
        number--;
    describe_object(objects + number, address);
}

/* --------------------------------------------------------------------- static and local objects, by name */

struct global { size_t start, size, whole, name, module, dynamic, location, indicator; };

static struct { struct global *from, *to; } modules[1024];
static int module_count;

static void copy_name(const char *name, size_t n)
{
    for (size_t i = 0; i < n && i < NAME - 1 && name[i]; i++) report->name[i] = name[i];
}

static size_t distance(size_t address, size_t start, size_t size)
{
    return address < start ? start - address : address - start < size ? 0 : address - start - size + 1;
}

static void describe_static(size_t address)
{
    const struct global *nearest = 0;
    for (int i = 0; i < module_count; i++)
        for (const struct global *each = modules[i].from; each < modules[i].to; each++)
            if (!nearest
                || distance(address, each->start, each->size) < distance(address, nearest->start, nearest->size))
                nearest = each;
    if (!nearest || distance(address, nearest->start, nearest->size) > nearest->whole) return;
    report->storage = STATIC;
    report->object_size = nearest->size;
    report->offset = (word)(long long)(long)(address - nearest->start);
    copy_name((const char *)nearest->name, NAME);
}

static size_t number_in(const char **text)
{
    size_t value = 0;
    while (**text == ' ') ++*text;
    while (**text >= '0' && **text <= '9') value = 10 * value + (size_t)(*(*text)++ - '0');
    return value;
}

/* Describe the local object next to an address in a frame. The frame starts with a mark and a text: the number
 * of objects, then the offset, the size, the length of the name and the name of each. */
static void describe_local(size_t frame, size_t address)
{
    const char *text = ((const char **)frame)[1], *name = 0;
    size_t start = 0, size = 0, length = 0, mark = *(size_t *)frame;
    if ((mark != 0x41b58ab3 && mark != 0x45e0360e) || !in_image((size_t)text)) return;
    for (size_t left = number_in(&text); left; left--) {
        size_t offset = number_in(&text), extent = number_in(&text), letters = number_in(&text);
        if (!name || distance(address, frame + offset, extent) < distance(address, start, size))
            start = frame + offset, size = extent, length = letters, name = text + 1;
        text += 1 + letters;
    }
    report->storage = LOCAL;
    report->object_size = size;
    report->offset = (word)(long long)(long)(address - start);
    for (size_t i = 0; i < length; i++) if (name[i] == ':') length = i; /* the line follows */
    copy_name(name, length);
}

/* Describe the object of `alloca`, or the array of variable length, next to an address: its shadow lies between
 * two zones. */
static void describe_dynamic(size_t address)
{
    size_t lowest = (size_t)stack - STACK_SIZE, start = address & ~(size_t)7, size = 0;
    while (*local_shadow(start) == ALLOCA_LEFT) start += 8;
    while (start > lowest && *local_shadow(start - 8) != ALLOCA_LEFT) start -= 8;
    if (*local_shadow(start - 8) != ALLOCA_LEFT) return;
    while (!*local_shadow(start + size)) size += 8;
    if (*local_shadow(start + size) < 8) size += *local_shadow(start + size);
    report->object_size = size;
    report->offset = (word)(long long)(long)(address - start);
    report->storage = LOCAL;
}

/* ------------------------------------------------------------------------------------------- errors */

static int circumstance;      /* what the program said about its next access */
static size_t wrapped_result; /* the address that it computed, if that overflowed */

static int frame_class(size_t address) { return (int)((address - frames) / CLASS_SIZE); }

static void describe(size_t address)
{
    byte value;
    if (in_heap(address)) describe_heap(address);
    else if (in_image(address)) describe_static(address);
    else if (in_frames(address)) {
        size_t size = (size_t)64 << frame_class(address);
        value = *local_shadow(address);
        describe_local(address - (address - frames) % size, address);
        report->state = value == AFTER_RETURN || value == AFTER_SCOPE || value == BEFORE_SCOPE ? ENDED : LIVE;
    } else if (on_stack((byte *)address)) {
        value = *local_shadow(address);
        if (value < 8 || value == ALLOCA_LEFT || value == ALLOCA_RIGHT) describe_dynamic(address);
    }
}

/* Report an error in `n` bytes at an address and end the program. The offset is that of the address; the object
 * is that of the first invalid byte. `frame` is the frame of the function that the program called. */
__attribute__((noreturn, noinline)) static void fail(int error, size_t address, size_t n, size_t *frame)
{
    size_t bad = address;
    if (circumstance == PLAIN && n && address + n > address)
        while (bad < address + n - 1 && valid(bad, 1, (size_t)(frame + 2))) bad++;
    if (report->error == NO_ERROR) {
        report->error = (word)error;
        report->size = n;
        report->circumstance = (word)circumstance;
        if (circumstance != WRAPPED && circumstance != NO_SIZE) describe(bad);
        report->offset -= bad - address;
        record_calls(report->places, PLACES, frame);
    }
    certus_finish(CRASHED);
}

/* End the objects of `alloca` whose function has returned: the stack pointer is above its frame. */
static void end_local_objects(size_t top)
{
    while (local_objects && objects[local_objects - 1].caller < top) {
        struct object *object = objects + local_objects - 1;
        object->freed = 1;
        fill(heap_shadow + (object->start - heap >> 3), object->size + 7 >> 3, FREED);
        local_objects = object->next;
    }
}

/* Check an access by the function that called the function with this frame. What the program said about its next
 * access holds for this one. */
static inline void check(int error, size_t address, size_t n, size_t *frame)
{
    if (!report) return;
    if (local_objects) end_local_objects((size_t)(frame + 2));
    if (circumstance == WRAPPED && address - wrapped_result >= PAGE) circumstance = PLAIN;
    if (circumstance != PLAIN && n) fail(error, address, n, frame);
    if (!valid(address, n, (size_t)(frame + 2))) fail(error, address, n, frame);
}

#define OWN_FRAME ((size_t *)__builtin_frame_address(0))

/* A page fault: `cause` says whether it was a write (2) or the processor looked for an instruction (16). A call of
 * an address without code has pushed the place that it returns to. */
static void faulted(size_t address, size_t **registers, int cause)
{
    size_t place = (size_t)registers[PLACE];
    int called = cause & 16 || address == place;
    if (!report || report->error != NO_ERROR) return;
    report->error = cause & 2 ? INVALID_WRITE : INVALID_READ;
    report->circumstance = called ? NO_CODE : cause & 2 && in_image(address) ? READ_ONLY : PLAIN;
    if (!called) describe(address);
    report->places[0] = called ? *registers[TOP] : place + 1;
    record_calls(report->places + 1, PLACES - 1, registers[FRAME]);
}

static int negative_length; /* of the array that the program declares */

/* The length of an array is negative or zero. Clang takes it for an unsigned number; zero is allowed here. */
void __ubsan_handle_vla_bound_not_positive(void *data, size_t length)
{
    (void)data;
    negative_length = length != 0;
}

/* The stack pointer has left the stack: report an array of negative length, if that is the cause. */
static void left_stack(size_t **registers)
{
    if (!negative_length || !report || report->error != NO_ERROR) return;
    report->error = INVALID_WRITE;
    report->circumstance = NO_SIZE;
    report->places[0] = (size_t)registers[PLACE] + 1;
    record_calls(report->places + 1, PLACES - 1, registers[FRAME]);
    certus_finish(CRASHED);
}

/* -------------------------------------------------------------------------------- calls from Clang: accesses */

#define ACCESS(n) \
    void __asan_load##n(size_t address) { check(INVALID_READ, address, n, OWN_FRAME); } \
    void __asan_store##n(size_t address) { check(INVALID_WRITE, address, n, OWN_FRAME); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
void __asan_loadN(size_t address, size_t n) { check(INVALID_READ, address, n, OWN_FRAME); }
void __asan_storeN(size_t address, size_t n) { check(INVALID_WRITE, address, n, OWN_FRAME); }

/* Arithmetic on a pointer overflowed. That is an error only if the result is used. A result below the base may
 * come from a negative offset in an unsigned type, such as `p[k - n]`: then the address alone decides. */
void __ubsan_handle_pointer_overflow(void *data, size_t base, size_t result)
{
    (void)data;
    if (base == 0 || result == 0) return;
    if (result < base) {
        report->blind |= BELOW_BASE;
        return;
    }
    circumstance = WRAPPED;
    wrapped_result = result;
}

/* The next access is outside the object that it names. */
void __ubsan_handle_local_out_of_bounds(void) { circumstance = OUTSIDE; }

static void copy(byte *to, const byte *from, size_t n)
{
    if (to < from) while (n--) *to++ = *from++;
    else while (n--) to[n] = from[n];
}

static inline void check_copy(void *to, const void *from, size_t n, size_t *frame)
{
    check(INVALID_READ, (size_t)from, n, frame);
    check(INVALID_WRITE, (size_t)to, n, frame);
}

static void *own_memcpy(void *to, const void *from, size_t n)
{
    check_copy(to, from, n, OWN_FRAME);
    copy(to, from, n);
    return to;
}

static void *own_memset(void *to, int value, size_t n)
{
    check(INVALID_WRITE, (size_t)to, n, OWN_FRAME);
    fill(to, n, value);
    return to;
}

/* The program may define these functions; Clang then still calls those with the prefix. */
#define OWN(name) __attribute__((weak, alias(#name)))
OWN(own_memcpy) void *memcpy(void *to, const void *from, size_t n);
OWN(own_memcpy) void *memmove(void *to, const void *from, size_t n);
OWN(own_memset) void *memset(void *to, int value, size_t n);

static void *(*volatile const used_memcpy)(void *, const void *, size_t) = memcpy;
static void *(*volatile const used_memmove)(void *, const void *, size_t) = memmove;
static void *(*volatile const used_memset)(void *, int, size_t) = memset;

void *__asan_memcpy(void *to, const void *from, size_t n)
{
    if (used_memcpy != own_memcpy) return used_memcpy(to, from, n);
    check_copy(to, from, n, OWN_FRAME);
    copy(to, from, n);
    return to;
}

void *__asan_memmove(void *to, const void *from, size_t n)
{
    if (used_memmove != own_memcpy) return used_memmove(to, from, n);
    check_copy(to, from, n, OWN_FRAME);
    copy(to, from, n);
    return to;
}

void *__asan_memset(void *to, int value, size_t n)
{
    if (used_memset != own_memset) return used_memset(to, value, n);
    check(INVALID_WRITE, (size_t)to, n, OWN_FRAME);
    fill(to, n, value);
    return to;
}

WEAK void *mempcpy(void *to, const void *from, size_t n)
{
    check_copy(to, from, n, OWN_FRAME);
    copy(to, from, n);
    return (byte *)to + n;
}

WEAK void bcopy(const void *from, void *to, size_t n)
{
    check_copy(to, from, n, OWN_FRAME);
    copy(to, from, n);
}

static void own_bzero(void *to, size_t n)
{
    check(INVALID_WRITE, (size_t)to, n, OWN_FRAME);
    fill(to, n, 0);
}

OWN(own_bzero) void bzero(void *to, size_t n);
OWN(own_bzero) void __bzero(void *to, size_t n);

/* Both ranges must be valid as a whole, wherever they differ. */
static int own_memcmp(const void *a, const void *b, size_t n)
{
    const byte *p = a, *q = b;
    check(INVALID_READ, (size_t)a, n, OWN_FRAME);
    check(INVALID_READ, (size_t)b, n, OWN_FRAME);
    for (; n--; p++, q++) if (*p != *q) return *p < *q ? -1 : 1;
    return 0;
}

OWN(own_memcmp) int memcmp(const void *a, const void *b, size_t n);
OWN(own_memcmp) int bcmp(const void *a, const void *b, size_t n);

/* ------------------------------------------------------------------------- calls from Clang: static objects */

void __asan_register_elf_globals(size_t *registered, struct global *from, struct global *to)
{
    if (*registered) return;
    *registered = 1;
    if (module_count == sizeof modules / sizeof *modules) certus_finish(NO_MEMORY);
    modules[module_count].from = from;
    modules[module_count++].to = to;
    for (; from < to; from++) {
        byte *shadow = image_shadow + (from->start - image >> 3);
        for (int i = 1; i <= BEFORE_STATIC && shadow - i >= image_shadow && !shadow[-i]; i++) shadow[-i] = UNKNOWN_OWNER;
        fill(shadow, from->whole >> 3, STATIC_ZONE);
        permit(shadow, from->size);
    }
}

void __asan_register_globals(struct global *from, size_t count)
{
    size_t registered = 0;
    __asan_register_elf_globals(&registered, from, from + count);
}

void __asan_unregister_elf_globals(void) { }
void __asan_unregister_globals(void) { }
void __asan_init(void) { }
void __asan_version_mismatch_check_v8(void) { }
void __asan_handle_no_return(void) { }

/* --------------------------------------------------------------------------- calls from Clang: local objects */

/* The scope of an object begins: its bytes are valid. If it has begun before, in a loop, a pointer to the earlier
 * object leads to the new one, and its use is not seen. */
static void begin_scope(byte *shadow, size_t n, int value)
{
    for (; n--; shadow++) {
        if (*shadow == AFTER_SCOPE) report->blind |= SCOPE_AGAIN;
        *shadow = (byte)value;
    }
}

#define BEGIN_SCOPE(value) \
    void __asan_set_shadow_0##value(byte *shadow, size_t n) { begin_scope(shadow, n, value); }
BEGIN_SCOPE(0) BEGIN_SCOPE(1) BEGIN_SCOPE(2) BEGIN_SCOPE(3) BEGIN_SCOPE(4) BEGIN_SCOPE(5) BEGIN_SCOPE(6)
BEGIN_SCOPE(7)
void __asan_set_shadow_f1(byte *shadow, size_t n) { fill(shadow, n, 0xf1); }
void __asan_set_shadow_f2(byte *shadow, size_t n) { fill(shadow, n, 0xf2); }
void __asan_set_shadow_f3(byte *shadow, size_t n) { fill(shadow, n, 0xf3); }
void __asan_set_shadow_f5(byte *shadow, size_t n) { fill(shadow, n, AFTER_RETURN); }

/* Clang calls this when a function is entered, and at the end of scopes. */
void __asan_set_shadow_f8(byte *shadow, size_t n)
{
    for (; n--; shadow++)
        *shadow = *shadow == FRESH || *shadow == BEFORE_SCOPE ? BEFORE_SCOPE : AFTER_SCOPE;
}

/* Frames of one class form a ring: a frame is used again when all others have been. */
static struct { size_t next, active; int reused; } rings[CLASSES];
static byte *active_frames; /* by number; a class has CLASS_SIZE / 64 numbers */
#define FRAME_NUMBERS (CLASS_SIZE / 64)

static size_t frame_start(int kind, size_t number)
{
    return frames + (size_t)kind * CLASS_SIZE + (number << (6 + kind));
}

/* Return a frame; 0 if none is left, and Clang uses the stack. */
static size_t new_frame(int kind)
{
    size_t count = FRAME_NUMBERS >> kind, number;
    byte *active = active_frames + (size_t)kind * FRAME_NUMBERS;
    if (rings[kind].active == count) {
        report->blind |= FRAME_ON_STACK;
        return 0;
    }
    do {
        number = rings[kind].next++;
        if (rings[kind].next == count) rings[kind].next = 0, rings[kind].reused = 1;
    } while (active[number]);
    if (rings[kind].reused) report->blind |= FRAMES_REUSED;
    active[number] = 1;
    rings[kind].active++;
    fill(local_shadow(frame_start(kind, number)), (size_t)8 << kind, FRESH);
    return frame_start(kind, number);
}

static void end_frame(int kind, size_t frame)
{
    active_frames[(size_t)kind * FRAME_NUMBERS + ((frame - frame_start(kind, 0)) >> (6 + kind))] = 0;
    rings[kind].active--;
    fill(local_shadow(frame), (size_t)8 << kind, AFTER_RETURN);
}

#define FRAMES_OF(kind) \
    size_t __asan_stack_malloc_##kind(size_t n) { (void)n; return new_frame(kind); } \
    size_t __asan_stack_malloc_always_##kind(size_t n) { (void)n; return new_frame(kind); } \
    void __asan_stack_free_##kind(size_t frame, size_t n) { (void)n; end_frame(kind, frame); }
FRAMES_OF(0) FRAMES_OF(1) FRAMES_OF(2) FRAMES_OF(3) FRAMES_OF(4) FRAMES_OF(5) FRAMES_OF(6) FRAMES_OF(7)
FRAMES_OF(8) FRAMES_OF(9) FRAMES_OF(10)
int __asan_option_detect_stack_use_after_return = 1;

/* `alloca` or an array of variable length; Clang left room for 32 bytes before it, and for 32 to 63 after it. No
 * object has more than half of the bytes of the address space. */
void __asan_alloca_poison(size_t start, size_t n)
{
    size_t end = start + n, after = (end + 31 & ~(size_t)31) + 32;
    int too_large = end < start || !on_stack((byte *)start - 32) || after > (size_t)stack;
    if (n > (size_t)-1 >> 1 || (too_large && negative_length)) {
        circumstance = NO_SIZE;
        fail(INVALID_WRITE, start, 0, OWN_FRAME);
    }
    if (too_large) certus_finish(NO_STACK);
    negative_length = 0;
    for (size_t at = start; at < end; at += 8)
        if (*local_shadow(at) == AFTER_RETURN) report->blind |= AMBIGUOUS_STACK;
    fill(local_shadow(start - 32), 4, ALLOCA_LEFT);
    fill(local_shadow(start), after - start >> 3, ALLOCA_RIGHT);
    permit(local_shadow(start), n);
}

/* All such objects from `top` to `bottom` end. */
void __asan_allocas_unpoison(size_t top, size_t bottom)
{
    if (top && top < bottom) fill(local_shadow(top), bottom - top >> 3, AFTER_RETURN);
}

/* ---------------------------------------------------------------------------------------------- start */

/* The header of the executable and its list of segments, which the linker puts at its start. */
#ifdef __x86_64__
struct segment { unsigned type, flags; size_t offset, at, physical, in_file, size, align; };
struct header { byte start[32]; size_t segments_at; byte middle[16]; unsigned short count; };
#else
struct segment { unsigned type; size_t offset, at, physical, in_file, size; unsigned flags, align; };
struct header { byte start[28]; size_t segments_at; byte middle[12]; unsigned short count; };
#endif
enum { LOADED = 1, WRITABLE = 2 };
extern const struct header __ehdr_start __attribute__((visibility("hidden")));

static const struct segment *segments(void)
{
    return (const struct segment *)((const byte *)&__ehdr_start + __ehdr_start.segments_at);
}

static void *reserve(size_t at, size_t size)
{
    void *memory = map_at(at, size, RESERVED, -1);
    if ((size_t)memory > (size_t)-4096) certus_finish(NO_MEMORY);
    return memory;
}

/* Reserve the shadow of local objects where the code of Clang expects it. */
static void reserve_local_shadow(size_t from, size_t size)
{
    size_t start = (size_t)local_shadow(from) & -PAGE, end = (size_t)local_shadow(from + size) + PAGE & -PAGE;
    enum { NOT_OVER_ANOTHER = 0x100000 };
    if ((size_t)map_at(start, end - start, RESERVED | NOT_OVER_ANOTHER, -1) != start) certus_finish(NO_MEMORY);
}

static void prepare(void)
{
    size_t end = 0;
    struct report *shared = map(sizeof *shared, SHARED, 0);
    if ((size_t)shared > (size_t)-4096) certus_finish(NO_MEMORY);
    image = (size_t)-1;
    for (int i = 0; i < __ehdr_start.count; i++) {
        const struct segment *each = segments() + i;
        if (each->type != LOADED) continue;
        if (each->at < image) image = each->at & -PAGE;
        if (each->at + each->size > end) end = each->at + each->size + PAGE - 1 & -PAGE;
    }
    image_size = end - image;
    image_shadow = reserve(0, image_size >> 3);
    heap = (size_t)reserve(HEAP_AT, HEAP_SIZE);
    heap_shadow = reserve(0, HEAP_SIZE >> 3);
    room = heap + 0x12340; /* no round number, which an integer could have by chance */
    objects = reserve(0, OBJECTS_SIZE);
    frames = (size_t)reserve(FRAMES_AT, FRAMES_SIZE);
    active_frames = reserve(0, CLASSES * FRAME_NUMBERS);
    reserve_local_shadow(frames, FRAMES_SIZE);
    reserve_local_shadow((size_t)stack - STACK_SIZE, STACK_SIZE);
    stack_start = (size_t)OWN_FRAME + 256;
    report = shared;
    report->ready = READY;
}
