/* Start and end of a program that Certus runs: it is confined, and its exit code says how it ended.
 *
 * Before any statement of the program, including constructors, the process gives up all system calls except
 * those that end it or allocate memory. With CERTUS_RUNS the program runs many times: its standard input is a
 * table with the inputs of each run, which receives the results. Every run is a child process, forked before
 * the program starts, so that all runs start in the same state. With CERTUS_UNCONFINED the process keeps all
 * system calls: for kernels without seccomp, and for programs that make no system call by themselves.
 *
 * With CERTUS_LIBC the program is linked with a C library, and this code runs before its initialisation.
 *
 * With CERTUS_SANITIZED sanitizer.c follows this text: it checks every access to memory, and describes the first
 * error in its standard input, a file that is mapped before the process gives up its system calls. */

typedef __SIZE_TYPE__ size_t;
typedef unsigned char byte;
typedef unsigned long long word;

enum {
    RETURNED = 10, ERROR, ASSERTION, ASSUMPTION, EXHAUSTED, ABORTED, EXITED, NO_MEMORY, DIVIDED_BY_ZERO,
    NO_STACK, CRASHED, UNCONFINED, OVERFLOWED = 40, NOTED = 64
};

extern int certus_argc;
extern char *certus_argv[];
int certus_noted; /* whether the program called an undefined function */
/* Which allocations fail, by their numbers: the harness of a trace may say so. */
__attribute__((weak)) const int *certus_failing = 0;
__attribute__((weak)) int certus_failing_count = 0;

/* Decide whether the next allocation fails. */
static int fails(void)
{
    static int asked;
    return asked < certus_failing_count && certus_failing[asked++];
}

/* The first bytes of new objects on the heap, one object after the other, and how many each has: the harness of a
 * trace may have them. All other bytes are 0. */
__attribute__((weak)) const byte *certus_contents = 0;
__attribute__((weak)) const unsigned *certus_contents_sizes = 0;
__attribute__((weak)) int certus_contents_count = 0;

/* Give the next new object its contents. */
static void set_contents(byte *object, size_t size)
{
    static int number;
    if (number >= certus_contents_count) return;
    unsigned n = certus_contents_sizes[number++];
    for (unsigned i = 0; i < n && i < size; i++) object[i] = certus_contents[i];
    certus_contents += n;
}

/* ---------------------------------------------------------------------------------- system calls */

#ifdef __x86_64__
enum { MMAP = 9, MUNMAP = 11, BRK = 12, SIGACTION = 13, MREMAP = 25, SETITIMER = 38, FORK = 57, EXIT = 60,
       WAIT4 = 61, SIGALTSTACK = 131, PRCTL = 157, EXIT_GROUP = 231, ARCHITECTURE = 0xc000003e };

static long system_call(long number, long a, long b, long c, long d, long e)
{
    register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

static void *map_at(size_t at, size_t size, long flags, long file)
{
    return (void *)system_call(MMAP, (long)at, (long)size, 3, flags, file);
}
#else
enum { EXIT = 1, FORK = 2, BRK = 45, MMAP = 90, MUNMAP = 91, SETITIMER = 104, WAIT4 = 114, MREMAP = 163,
       PRCTL = 172, SIGACTION = 174, SIGALTSTACK = 186, EXIT_GROUP = 252, ARCHITECTURE = 0x40000003 };

static long system_call(long number, long a, long b, long c, long d, long e)
{
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                     : "memory");
    return result;
}

static void *map_at(size_t at, size_t size, long flags, long file)
{
    struct { unsigned long at, size, access; long flags, file; unsigned long offset; } request
        = {at, size, 3, flags, file, 0};
    return (void *)system_call(MMAP, (long)&request, 0, 0, 0, 0);
}
#endif

static void *map(size_t size, long flags, long file) { return map_at(0, size, flags, file); }

enum { SHARED = 1, PRIVATE_ANONYMOUS = 0x22 };

/* Memory for the functions of runtime.c; null if none is left. */
void *certus_map(size_t size)
{
    void *memory = map(size, PRIVATE_ANONYMOUS, -1);
    return (size_t)memory > (size_t)-4096 ? 0 : memory;
}

#ifdef CERTUS_SANITIZED
static void prepare(void);
static void conclude(int code, size_t *frame);
static void faulted(size_t address, size_t **registers, int cause);
static void left_stack(size_t **registers);
#endif

__attribute__((noreturn)) void certus_finish(int code)
{
#ifdef CERTUS_SANITIZED
    conclude(code, __builtin_frame_address(0));
#endif
    if (certus_noted) code |= NOTED;
    for (;;) system_call(EXIT_GROUP, code, 0, 0, 0, 0);
}

/* ----------------------------------------------------------------------------------- confinement */

#ifdef CERTUS_UNCONFINED

static void confine(void) { }

#else

struct filter { unsigned short code; byte if_true, if_false; unsigned value; };
struct program { unsigned short length; const struct filter *filters; };

enum { LOAD = 0x20, EQUAL = 0x15, RETURN = 0x06, ALLOWED = 0x7fff0000, NUMBER_AT = 0, ARCHITECTURE_AT = 4 };
#ifdef CERTUS_LIBC
enum { REFUSED = 0x00050026 }; /* the call fails, which the C library handles */
#else
enum { REFUSED = (int)0x80000000 }; /* the process is ended by SIGSYS */
#endif

static const struct filter filters[] = {
    {LOAD, 0, 0, ARCHITECTURE_AT},
    {EQUAL, 0, 7, ARCHITECTURE},
    {LOAD, 0, 0, NUMBER_AT},
    {EQUAL, 6, 0, EXIT_GROUP},
    {EQUAL, 5, 0, EXIT},
    {EQUAL, 4, 0, MMAP},
    {EQUAL, 3, 0, MUNMAP},
    {EQUAL, 2, 0, BRK},
    {EQUAL, 1, 0, MREMAP},
    {RETURN, 0, 0, (unsigned)REFUSED},
    {RETURN, 0, 0, ALLOWED},
};

static void confine(void)
{
    struct program filter = {sizeof filters / sizeof *filters, filters};
    enum { NO_NEW_PRIVILEGES = 38, SECCOMP = 22, FILTER = 2 };
    if (system_call(PRCTL, NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
        && system_call(PRCTL, SECCOMP, FILTER, (long)&filter, 0, 0) == 0)
        return;
    certus_finish(UNCONFINED);
}

#endif

/* ------------------------------------------------------------------------------ invalid accesses */

static byte *stack;
static byte other_stack[1 << 16] __attribute__((aligned(16)));
enum { STACK_SIZE = 600 << 20, SEGMENTATION = 11, BUS = 7 };

/* Whether an address lies in the stack. */
static int on_stack(const byte *address) { return (size_t)stack - (size_t)address < STACK_SIZE; }

/* Where the kernel saved registers of the program; `CAUSE` is the error code of a page fault. */
#ifdef __x86_64__
enum { FRAME = 15, TOP = 20, PLACE = 21, CAUSE = 24 };
#else
enum { FRAME = 11, TOP = 12, CAUSE = 18, PLACE = 19 };
#endif

/* The stack is exhausted if the access was to it, or if the stack pointer has left it, for example because an
 * array is too large. The kernel's information contains the address of the access after three numbers, aligned
 * for a pointer. */
static void accessed(int signal, byte **information, byte **registers)
{
    byte *address = information[sizeof(void *) == 8 ? 2 : 3];
    (void)signal;
#ifdef CERTUS_SANITIZED
    if (!on_stack(registers[TOP])) left_stack((size_t **)registers);
#endif
    if (on_stack(address) || !on_stack(registers[TOP])) certus_finish(NO_STACK);
#ifdef CERTUS_SANITIZED
    faulted((size_t)address, (size_t **)registers, (int)(size_t)registers[CAUSE]);
#endif
    certus_finish(CRASHED);
}

static void catch_accesses(void)
{
    struct { void *start; int flags; size_t size; } alternative = {other_stack, 0, sizeof other_stack};
    struct { void *handler; unsigned long flags; void *restorer; word mask; } action
        = {(void *)accessed, 0x0c000004 /* information, own stack, restorer */, (void *)certus_finish, 0};
    system_call(SIGALTSTACK, (long)&alternative, 0, 0, 0, 0);
    system_call(SIGACTION, SEGMENTATION, (long)&action, 0, 8, 0);
    system_call(SIGACTION, BUS, (long)&action, 0, 8, 0);
}

/* ------------------------------------------------------------------------------------------ runs */

#ifdef CERTUS_RUNS

/* The table: these numbers; for each run its result, the number of inputs that it requested, and for each
 * function the position and the number of its values; for each run the functions that it called, in order;
 * finally the values. All are words, and positions are counted in words from the start. */
struct table { word size, runs, functions, logged, microseconds, results, logs; };
struct supply { word start, count; };

static struct table *table;
static word *result, *log;      /* of this run: its status and number of inputs; the functions called */
static struct supply *supplies; /* of this run, by function */

static void choose(word run)
{
    word *words = (word *)table;
    result = words + table->results + run * (2 + 2 * table->functions);
    supplies = (struct supply *)(result + 2);
    log = words + table->logs + run * table->logged;
}

/* Return the next value of an input function, which has this number of words, and log the call. */
const word *certus_input(int function, int words)
{
    struct supply *supply = supplies + function;
    if (result[1] < table->logged) log[result[1]] = (word)function;
    result[1]++;
    if (supply->count == 0) certus_finish(EXHAUSTED);
    const word *value = (word *)table + supply->start;
    supply->start += (word)words;
    supply->count--;
    return value;
}

static void limit(word microseconds)
{
    struct { long repeat[2], seconds, fraction; } timer
        = {{0, 0}, (long)(microseconds / 1000000), (long)(microseconds % 1000000)};
    enum { OF_THE_PROCESSOR = 2 };
    system_call(SETITIMER, OF_THE_PROCESSOR, (long)&timer, 0, 0, 0);
}

/* Return once for each run, in a child process. If the first run requests no input, there are no others. */
static void fork_runs(void)
{
    struct table *head = map(sizeof *head, SHARED, 0);
    table = map((size_t)head->size, SHARED, 0);
    for (word run = 0; run < table->runs; run++) {
        int status = 0;
        long child = system_call(FORK, 0, 0, 0, 0, 0);
        if (child == 0) {
            choose(run);
            limit(table->microseconds);
            return;
        }
        if (child < 0) certus_finish(NO_MEMORY);
        while (system_call(WAIT4, child, (long)&status, 0, 0, 0) == -4) { }
        choose(run);
        result[0] = (word)(unsigned)status;
        if (result[1] == 0 && run == 0) break;
    }
    certus_finish(RETURNED);
}

#endif

static void begin(void)
{
    byte here;
    stack = &here + 4096;
#ifdef CERTUS_SANITIZED
    prepare(); /* first of all: the compiler may copy records by a checked function */
#endif
    catch_accesses();
#ifdef CERTUS_RUNS
    fork_runs();
#endif
    confine();
}

/* -------------------------------------------------------------------------------- start and end */

/* Constructors run before main, destructors after it or in `exit`, in reverse order: the linker lists them. */
typedef void (*certus_function)(void);
extern certus_function __init_array_start[], __init_array_end[], __fini_array_start[], __fini_array_end[];

/* Handlers run when the program ends, in reverse order; one that is registered meanwhile runs next. */
static certus_function certus_handlers[4096];
static int certus_registered;

void certus_run_handlers(void)
{
    static certus_function *left = __fini_array_end;
    while (certus_registered) certus_handlers[--certus_registered]();
    while (left != __fini_array_start) (*--left)();
}

static void certus_returned(void)
{
    certus_run_handlers();
    certus_finish(RETURNED);
}

#define WEAK __attribute__((weak))

WEAK int atexit(void (*handler)(void))
{
    if (certus_registered == sizeof certus_handlers / sizeof *certus_handlers) certus_finish(NO_MEMORY);
    certus_handlers[certus_registered++] = handler;
    return 0;
}

WEAK void abort(void) { certus_finish(ABORTED); }
WEAK void exit(int code) { (void)code; certus_run_handlers(); certus_finish(EXITED); }
WEAK void _exit(int code) { (void)code; certus_finish(EXITED); }
WEAK void _Exit(int code) { (void)code; certus_finish(EXITED); }
WEAK void quick_exit(int code) { (void)code; certus_finish(EXITED); }

#ifdef CERTUS_LIBC

__attribute__((used, section(".preinit_array"))) static void (*const certus_begin)(void) = begin;

int __real_main();
int __wrap_main(void)
{
    __real_main(certus_argc, certus_argv, certus_argv + certus_argc);
    certus_returned();
}

#else

int main();
__attribute__((used)) void certus_start(void)
{
    begin();
    for (certus_function *at = __init_array_start; at != __init_array_end;) (*at++)();
    main(certus_argc, certus_argv, certus_argv + certus_argc);
    certus_returned();
}

#ifdef __x86_64__
__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %rsp\n call certus_start\n hlt\n");
#else
__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %esp\n call certus_start\n hlt\n");
#endif

#endif
