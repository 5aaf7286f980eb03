// ladder/random-fmt: {fmt} with a format that is compiled, into its own buffer of 64 KiB, one write a buffer. (Its output_file
// opens a path; this is what it does behind it.) https://fmt.dev
#define FMT_HEADER_ONLY
#include "rung.h"

#include "random.h"

#include <fmt/compile.h>
#include <fmt/format.h>

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);
    fmt::basic_memory_buffer<char, 65536> buffer;

    rung_begin();
    for (unsigned long long i = 0; i < messages; i++) {
        if (buffer.size() > 65536 - 64) {
            rung_write_all(buffer.data(), buffer.size());
            buffer.clear();
        }
        fmt::format_to(fmt::appender(buffer), FMT_COMPILE("Hello, {}\t"), random_number(i));
    }
    rung_called();
    rung_write_all(buffer.data(), buffer.size());
    return rung_end();
}
