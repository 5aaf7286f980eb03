// contest/…: reads pairs of numbers and prints each sum. WAY chooses: SCANF and printf, CIN and cout without sync, MAPPED: a
// word-at-a-time reader and four digits at a time out of a table, as the fastest solutions on library-checker do
// (https://nyaannyaan.github.io/library/misc/fastio.hpp), SIMD: a register at a time for reading (reader.cpp) and writing, as
// https://snippets.kiwiyou.dev/io.html does for eight digits; AVX-512's multiplications were no faster
// (https://lemire.me/blog/2022/03/28/converting-integers-to-decimal-strings-faster-with-avx-512/).
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

#ifdef __AVX2__
// Sixteen digits, the first one lowest: by pairs, from the largest to the smallest.
static inline __m128i sixteen(u64 n) {
    __m128i x = _mm_set_epi64x((long long)(n % 100000000), (long long)(n / 100000000));
    __m128i q = _mm_srli_epi64(_mm_mul_epu32(x, _mm_set1_epi32((int)0xd1b71759)), 45);
    x = _mm_add_epi64(q, _mm_slli_epi64(_mm_sub_epi64(x, _mm_mul_epu32(q, _mm_set1_epi32(10000))), 32));
    q = _mm_srli_epi32(_mm_mulhi_epu16(x, _mm_set1_epi32(5243)), 3);
    x = _mm_add_epi32(q, _mm_slli_epi32(_mm_sub_epi32(x, _mm_mullo_epi16(q, _mm_set1_epi32(100))), 16));
    q = _mm_srli_epi16(_mm_mullo_epi16(x, _mm_set1_epi16(103)), 10);
    return _mm_add_epi8(q, _mm_slli_epi16(_mm_sub_epi16(x, _mm_mullo_epi16(q, _mm_set1_epi16(10))), 8));
}

static inline void print_by_simd(u64 n) {
    static const char moves[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                   -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    if (used + 40 > sizeof out) rung_write_all(out, used), used = 0;
    u64 high = n / 10000000000000000;
    __m128i digits = sixteen(n % 10000000000000000);
    unsigned zeros = 0;
    if (high) {
        unsigned count = high >= 1000 ? 4 : high >= 100 ? 3 : high >= 10 ? 2 : 1;
        for (unsigned i = count; i--; high /= 10) out[used + i] = (char)('0' + high % 10);
        used += count;
    } else {
        zeros = (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(digits, _mm_setzero_si128())) | 1 << 15);
    }
    __m128i text = _mm_add_epi8(digits, _mm_set1_epi8('0'));
    _mm_storeu_si128((__m128i *)(out + used), _mm_shuffle_epi8(text, _mm_loadu_si128((const __m128i *)(moves + zeros))));
    used += 16 - zeros;
    out[used++] = '\n';
}
#else
#define print_by_simd print
#endif

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);
    if (WAY == CIN) std::ios::sync_with_stdio(false), std::cin.tie(nullptr);
    rung_begin();
    if (WAY == MAPPED || WAY == SIMD) map_input();
    if (WAY == MAPPED) {
        for (int i = 0; i < 10000; i++)
            for (int place = 3, rest = i; place >= 0; place--, rest /= 10) table[4 * i + place] = (char)('0' + rest % 10);
    }
    for (u64 i = 0; i < messages; i++) {
        u64 a = 0, b = 0;
        if (WAY == SCANF) {
            if (scanf("%llu %llu", &a, &b) != 2) return 1;
            printf("%llu\n", a + b);
        } else if (WAY == CIN) {
            std::cin >> a >> b;
            std::cout << a + b << '\n';
        } else if (WAY == MAPPED) {
            a = mapped_integer(), b = mapped_integer();
            print(a + b);
        } else {
            a = simd_integer(), b = simd_integer();
            print_by_simd(a + b);
        }
    }
    rung_called();
    if (WAY == MAPPED || WAY == SIMD) rung_write_all(out, used);
    if (!std::cout.flush()) return rung_failed(errno);
    fflush(stdout);
    return rung_end();
}
