// contest/…: reads pairs of numbers and prints each sum. WAY chooses: 0 scanf and printf, 1 cin and cout without sync, 2 a
// mapped word-at-a-time reader and four digits at a time out of a table, as the fastest solutions on library-checker do.
#define main reader_main
#define READER MAPPED
#include "reader.cpp"
#undef main

static char table[40000], out[1 << 16];
static size_t used;

static inline void print(u64 n) {
    if (used + 32 > sizeof out) rung_write_all(out, used), used = 0;
    char text[24];
    int first = 24;
    for (; n >= 10000; n /= 10000) memcpy(text + (first -= 4), table + 4 * (n % 10000), 4);
    int digits = n >= 1000 ? 4 : n >= 100 ? 3 : n >= 10 ? 2 : 1;
    memcpy(out + used, table + 4 * n + 4 - digits, 4);
    used += (size_t)digits;
    memcpy(out + used, text + first, 24);
    used += (size_t)(24 - first);
    out[used++] = '\n';
}

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);
    if (WAY == 1) std::ios::sync_with_stdio(false), std::cin.tie(nullptr);
    rung_begin();
    if (WAY == 2) {
        map_input();
        for (int i = 0; i < 10000; i++)
            for (int place = 3, rest = i; place >= 0; place--, rest /= 10) table[4 * i + place] = (char)('0' + rest % 10);
    }
    for (u64 i = 0; i < messages; i++) {
        u64 a = 0, b = 0;
        if (WAY == 0) {
            if (scanf("%llu %llu", &a, &b) != 2) return 1;
            printf("%llu\n", a + b);
        } else if (WAY == 1) {
            std::cin >> a >> b;
            std::cout << a + b << '\n';
        } else {
            a = mapped_integer(), b = mapped_integer();
            print(a + b);
        }
    }
    rung_called();
    if (WAY == 2) rung_write_all(out, used);
    std::cout.flush();
    fflush(stdout);
    return rung_end();
}
