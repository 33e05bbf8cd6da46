// property: no-uninitialised-read
int main(void) {
    int a[2] = {1, 2}, *p = a, x;
    __sync_fetch_and_add(&x, 1); // VIOLATED
    return p[1];
}
