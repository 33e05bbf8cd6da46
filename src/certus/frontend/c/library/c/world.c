/* The program's surroundings: the arguments of `main`, functions that run at the end, a line of input, the difference of
 * two times. */

#include "certus.h"

/* The arguments of `main`, strings of any length, and a null pointer at the end. */
char **__certus_arguments(int number)
{
    char **list = __certus_static_object(((size_t)number + 1) * sizeof *list, "argv");
    for (int i = 0; i < number; i++) {
        size_t length = __certus_input_argument_length();
        char *argument = __certus_static_object(length + 1, "an argument");
        for (size_t j = 0; j < length; j++) {
            byte c = __certus_input_argument_byte();
            __certus_assume(c != 0);
            argument[j] = (char)c;
        }
        argument[length] = 0;
        list[i] = argument;
    }
    list[number] = 0;
    return list;
}

static struct registered {
    void (*function)(void);
    struct registered *before;
} *last_registered;

int atexit(void (*function)(void))
{
    struct registered *made = __certus_static_object(sizeof *made, "atexit");
    made->function = function;
    made->before = last_registered;
    last_registered = made;
    return 0;
}

/* Run the functions that were registered, the last first. One that is registered meanwhile runs next. */
void __certus_run_registered(void)
{
    while (last_registered) {
        void (*function)(void) = last_registered->function;
        last_registered = last_registered->before;
        function();
    }
}

/* What `fgets` reads if it succeeds: less than `size` characters, only the last of which may be a newline, and a zero.
 * Where there is room for one, there is at least one. */
void __certus_line(char *to, int size)
{
    if (size <= 0) return;
    int length = 0;
    while (length < size - 1) {
        byte c = __certus_input_byte();
        to[length++] = (char)c;
        if (c == '\n' || !__certus_input_byte()) break;
    }
    to[length] = 0;
}

/* The difference as a mathematical integer, rounded once. */
double difftime(long a, long b)
{
    unsigned long more = a, less = b;
    return a < b ? -(double)(less - more) : (double)(more - less);
}
