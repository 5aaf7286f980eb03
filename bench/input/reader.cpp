// input/…: the usual ways to read numbers, words and lines in C and C++, each at its best. READER chooses one; the sum of each
// 1,000 values is printed. Sources (looked up in November 2026):
// - A word at a time: "Faster integer parsing", 2020-05-26,
//   https://kholdstare.github.io/technical/2020/05/26/faster-integer-parsing.html; in Rust by contestants, too:
//   https://snippets.kiwiyou.dev/io.html. The input is mapped, or read whole if it cannot be mapped. Faster here than the
//   digit by digit of the libraries at the top of library-checker: https://github.com/yosupo06/yosupo-library
//   (src/yosupo/fastio.hpp), https://nyaannyaan.github.io/library/misc/fastio.hpp, and maspy's, which
//   https://maspypy.com/library-checker-many-a-b explains.
// - A register at a time: the last digit goes to the last place, without a loop. "Parsing integers quickly with
//   AVX-512", 2023-09-22, https://lemire.me/blog/2023/09/22/parsing-integers-quickly-with-avx-512/, after
//   https://github.com/WojciechMula/parsing-int-series. By AVX2: with AVX-512's masks it was no faster.
#include "rung.h"

#include <charconv>
#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <cstdint>
#include <iostream>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <vector>

typedef unsigned long long u64;
enum { SCANF, CIN_TIED, CIN, FREAD, MAPPED, SIMD, STRTOD, FROM_CHARS, CIN_FLOAT, FGETS, GETLINE, SCANF_WORD, CIN_WORD };

static const char *p, *end;

// All of it, with a page of zeros before and behind.
static void map_input() {
    struct stat status;
    if (fstat(0, &status) == 0 && S_ISREG(status.st_mode)) {
        size_t length = (size_t)status.st_size, room = (length | 4095) + 1 + 2 * 4096;
        char *at = (char *)mmap(0, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
        if (length) mmap(at, length, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, 0, 0);
        p = at, end = at + length;
        return;
    }
    size_t room = 1 << 24, length = 64;
    char *at = (char *)malloc(room);
    memset(at, 0, length);
    for (ssize_t got; (got = read(0, at + length, room - length - 64)) > 0;) {
        length += (size_t)got;
        if (room - length < (1 << 20)) at = (char *)realloc(at, room *= 2);
    }
    memset(at + length, 0, 64);
    p = at + 64, end = at + length;
}

static inline u64 eight(u64 x) {
    x = x * 10 + (x >> 8);
    return ((x & 0x000000ff000000ff) * 0x000f424000000064 + ((x >> 16) & 0x000000ff000000ff) * 0x0000271000000001) >> 32;
}

static inline u64 mapped_integer() {
    static const u64 powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    while (*p <= ' ') p++;
    for (u64 value = 0;; p += 8) {
        u64 word;
        memcpy(&word, p, 8);
        u64 digits = word - 0x3030303030303030;
        u64 others = ((word + 0x4646464646464646) | digits) & 0x8080808080808080;
        if (!others) {
            value = value * 100000000 + (uint32_t)eight(digits);
            continue;
        }
        int count = __builtin_ctzll(others) >> 3;
        p += count + 1;
        if (count == 0) return value;
        return value * powers[count] + (uint32_t)eight(digits << (64 - 8 * count));
    }
}

static inline u64 simd_integer() {
#ifdef __AVX2__
    static const char masks[64] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                   15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
                                   15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};
    while (*p <= ' ') p++;
    auto load = [](const char *from) { return _mm256_loadu_si256((const __m256i *)from); };
    __m256i text = _mm256_sub_epi8(load(p), _mm256_set1_epi8('0'));
    unsigned digits = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(text, _mm256_set1_epi8(9)), text));
    unsigned count = digits == ~0u ? 32 : (unsigned)__builtin_ctz(~digits);
    __m256i ones = _mm256_and_si256(load(p + count - 32), load(masks + count));
    p += count + 1;
    __m256i by2 = _mm256_maddubs_epi16(ones, _mm256_set1_epi16(1 << 8 | 10));
    __m256i by4 = _mm256_madd_epi16(by2, _mm256_set1_epi32(1 << 16 | 100));
    __m256i by8 = _mm256_madd_epi16(_mm256_packus_epi32(by4, by4), _mm256_set1_epi32(1 << 16 | 10000));
    u64 low = (u64)_mm_cvtsi128_si64(_mm256_extracti128_si256(by8, 1));
    u64 high = (u64)_mm_cvtsi128_si64(_mm256_castsi256_si128(by8)) >> 32;
    return high * 10000000000000000 + (uint32_t)low * (u64)100000000 + (low >> 32);
#else
    return mapped_integer();
#endif
}

static char buffer[1 << 16];
static size_t at, filled;
static inline int next_byte() {
    if (at == filled) {
        filled = fread(buffer, 1, sizeof buffer, stdin), at = 0;
        if (!filled) return -1;
    }
    return (unsigned char)buffer[at++];
}
static inline u64 fread_integer() {
    int c = next_byte();
    while (c <= ' ' && c >= 0) c = next_byte();
    u64 value = 0;
    for (; c >= '0'; c = next_byte()) value = value * 10 + (u64)(c - '0');
    return value;
}

static u64 bits(double number) {
    u64 value;
    memcpy(&value, &number, 8);
    return value;
}

static char line[1 << 12];

template <int reader> static inline u64 next_value(std::string &word) {
    u64 value = 0;
    double number = 0;
    switch (reader) {
    case SCANF: return scanf("%llu", &value) == 1 ? value : 0;
    case CIN_TIED:
    case CIN: return std::cin >> value, value;
    case FREAD: return fread_integer();
    case MAPPED: return mapped_integer();
    case SIMD: return simd_integer();
    case STRTOD:
        if (!fgets(line, sizeof line, stdin)) return 0;
        return bits(strtod(line, 0));
    case FROM_CHARS: {
        while (*p <= ' ') p++;
        p = std::from_chars(p, end, number).ptr;
        return bits(number);
    }
    case CIN_FLOAT: return std::cin >> number, bits(number);
    case FGETS:
        if (!fgets(line, sizeof line, stdin)) return 0;
        return strlen(line) - 1 + (unsigned char)line[0];
    case GETLINE: {
        static char *got;
        static size_t room;
        ssize_t length = getline(&got, &room, stdin);
        return length > 0 ? (u64)length - 1 + (unsigned char)got[0] : 0;
    }
    case SCANF_WORD: return scanf("%4000s", line) == 1 ? strlen(line) + (unsigned char)line[0] : 0;
    case CIN_WORD: return std::cin >> word, word.size() + (unsigned char)word[0];
    }
    return 0;
}

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);
    if (READER != CIN_TIED) std::ios::sync_with_stdio(false), std::cin.tie(nullptr);
    std::string word;
    rung_begin();
    if (READER == MAPPED || READER == SIMD || READER == FROM_CHARS) map_input();
    u64 sum = 0;
    for (u64 i = 0; i < messages; i++) {
        sum += next_value<READER>(word);
        if (i % 1000 == 999) {
            printf("%llu\n", sum);
            sum = 0;
        }
    }
    rung_called();
    fflush(stdout);
    return rung_end();
}
