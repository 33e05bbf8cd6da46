// decided-by: bmc
// wcsspn, wcscspn and wcspbrk: how far a wide string goes within, or without, a set of characters.
#include <assert.h>
#include <wchar.h>

extern int __VERIFIER_nondet_int(void);

int main(void) {
    wchar_t text[3] = {0};
    text[0] = __VERIFIER_nondet_int();
    text[1] = __VERIFIER_nondet_int();
    size_t within = wcsspn(text, L"ab"), without = wcscspn(text, L"ab");
    assert(within <= 2 && without <= 2);                                 // HOLDS
    assert(within == 0 || without == 0);                                 // HOLDS
    assert(text[0] == 0 || within + without != 0);                       // HOLDS
    assert(wcspbrk(text, L"ab") == (text[without] ? text + without : 0)); // HOLDS
    assert(within < 2 || text[1] == L'a');                               // VIOLATED
    return 0;
}
