// ladder/lightning-cpp: as vecbuf in Rust: a std::string is the buffer, POSIX write empties it.
#include "rung.h"

#include <string>

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);
    constexpr std::size_t capacity = 8192;
    constexpr std::size_t front = 7;
    std::string buffer;
    buffer.reserve(capacity);
    std::string message = "Hello, 0\t";

    rung_begin();
    while (messages--) {
        if (buffer.size() + message.size() > capacity) {
            rung_write_all(buffer.data(), buffer.size());
            buffer.clear();
        }
        buffer.append(message);

        auto digit = message.size() - 2;
        while (message[digit] == '9' && digit > front) message[digit--] = '0';
        if (message[digit] != '9') {
            ++message[digit];
        } else {
            message[front] = '1';
            message.insert(message.size() - 1, 1, '0');
        }
    }
    rung_called();
    rung_write_all(buffer.data(), buffer.size());
    return rung_end();
}
