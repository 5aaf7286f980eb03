/* Numbers of random length, as the generator of the bench makes them: 1 to 18 digits, each length as often as the others
 * (Vigna's splitmix64). */
#ifndef RANDOM_H
#define RANDOM_H

static inline unsigned long long random_bits(unsigned long long index) {
    unsigned long long z = (index + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

static inline unsigned long long random_number(unsigned long long index) {
    static const unsigned long long powers[] = {
        1ULL,
        10ULL,
        100ULL,
        1000ULL,
        10000ULL,
        100000ULL,
        1000000ULL,
        10000000ULL,
        100000000ULL,
        1000000000ULL,
        10000000000ULL,
        100000000000ULL,
        1000000000000ULL,
        10000000000000ULL,
        100000000000000ULL,
        1000000000000000ULL,
        10000000000000000ULL,
        100000000000000000ULL,
    };
    unsigned long long least = powers[random_bits(index) % 18];
    return least + random_bits(~index) % (9 * least);
}

#endif
