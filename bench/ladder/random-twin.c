/* ladder/random-twin: what outpace does, by hand: four digits at a time from a table, zeros in front shifted out, 64 KiB, one
 * write a buffer. */
#include "rung.h"

#include "random.h"

#include <stdint.h>

#define CAPACITY 65536

static uint32_t four_digits[10000];

/* Eight digits, the first in the lowest byte. */
static inline uint64_t eight(uint32_t n) {
    return four_digits[n / 10000] | (uint64_t)four_digits[n % 10000] << 32;
}

static inline char *all(char *to, uint32_t n) {
    uint64_t word = eight(n) | 0x3030303030303030;
    memcpy(to, &word, 8);
    return to + 8;
}

static inline char *without_zeros(char *to, uint32_t n) {
    uint64_t word = eight(n);
    int zeros = __builtin_ctzll(word | UINT64_C(1) << 56) & ~7;
    word = (word | 0x3030303030303030) >> zeros;
    memcpy(to, &word, 8);
    return to + 8 - zeros / 8;
}

static inline char *put(char *to, uint64_t n) {
    const uint64_t e8 = 100000000;
    if (n < e8) return without_zeros(to, (uint32_t)n);
    if (n < e8 * e8) return all(without_zeros(to, (uint32_t)(n / e8)), (uint32_t)(n % e8));
    to = without_zeros(to, (uint32_t)(n / (e8 * e8)));
    n %= e8 * e8;
    return all(all(to, (uint32_t)(n / e8)), (uint32_t)(n % e8));
}

int main(int argc, char **argv) {
    unsigned long long messages = rung_messages(argc, argv);
    static char buffer[CAPACITY];
    char *at = buffer;
    for (uint32_t n = 0; n < 10000; n++)
        four_digits[n] = n / 1000 | n / 100 % 10 << 8 | n / 10 % 10 << 16 | n % 10 << 24;

    rung_begin();
    for (unsigned long long i = 0; i < messages; i++) {
        if (buffer + CAPACITY - at < 40) {
            rung_write_all(buffer, (size_t)(at - buffer));
            at = buffer;
        }
        memcpy(at, "Hello, ", 7);
        at = put(at + 7, random_number(i));
        *at++ = '\t';
    }
    rung_called();
    rung_write_all(buffer, (size_t)(at - buffer));
    return rung_end();
}
