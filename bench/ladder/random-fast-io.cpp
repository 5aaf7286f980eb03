// ladder/random-fast-io: fast_io's print to its buffered file on descriptor 1.
// https://github.com/cppfastio/fast_io
// flags: -std=gnu++20
#include "rung.h"

#include "random.h"

#include <fast_io.h>

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);

    rung_begin();
    {
        fast_io::out_buf_type out{fast_io::out()};
        for (unsigned long long i = 0; i < messages; i++) {
            fast_io::io::print(out, "Hello, ", random_number(i), "\t");
        }
        rung_called();
    }
    return rung_end();
}
