// A JSON pretty-printer: makes up a document, parses it, and prints it with an indentation and std::endl; with FIXED newlines and a buffer.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#ifdef FIXED
#define END '\n'
#else
#define END std::endl
#endif

static std::string make(long records) {
    std::string text = "[";
    for (long n = 0; n < records; n++) {
        if (n) text += ',';
        text += "{\"id\":" + std::to_string(n) + ",\"name\":\"item " + std::to_string(n * 7919 % 1000) + "\",\"tags\":[\"a\",\"b" +
                std::to_string(n % 10) + "\"],\"price\":" + std::to_string(n % 100) + ".5}";
    }
    return text + "]";
}

int main(int count, char **arguments) {
    long lines = count > 1 ? std::atol(arguments[count - 1]) : 20000;
#ifdef FIXED
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
    static char buffer[1 << 16];
    std::cout.rdbuf()->pubsetbuf(buffer, sizeof buffer);
#endif
    std::string text = make(lines / 9);
    int depth = 0;
    std::size_t at = 0;
    auto indent = [&] { for (int i = 0; i < depth; i++) std::cout << "    "; };
    while (at < text.size()) {
        char c = text[at++];
        if (c == '{' || c == '[') {
            std::cout << c << END;
            depth++;
            indent();
        } else if (c == '}' || c == ']') {
            std::cout << END;
            depth--;
            indent();
            std::cout << c;
        } else if (c == ',') {
            std::cout << c << END;
            indent();
        } else if (c == ':') {
            std::cout << ": ";
        } else if (c == '"') {
            std::size_t end = text.find('"', at);
            std::cout << '"' << text.substr(at, end - at) << '"';
            at = end + 1;
        } else {
            std::cout << c;
        }
    }
    std::cout << END;
}
