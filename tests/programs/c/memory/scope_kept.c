// property: valid-memsafety
static int *counter(void) {
    static int count;
    return &count;
}

int main(void) {
    int *p, n = 2;
    for (int i = 0; i < n; i++) {
        int x = i;
        p = &x;
        *p += *counter(); // HOLDS
        if (*p > 5) continue;
    }
    *counter() = 2; // HOLDS
    switch (n) {
    case 2: {
        int a[n];
        a[1] = 2; // HOLDS
        p = counter();
        break;
    }
    }
    return *p; // HOLDS
}
