// What a C++ program does with include/outpace.hpp. Prints; check.sh compares with what `reference` prints by std::cout.
#include "outpace.hpp"

#include <cstdio>
#include <iomanip>
#include <sstream>
#include <thread>
#include <vector>

namespace {

struct point {
    int x, y;
};
std::ostream &operator<<(std::ostream &out, const point &p) { return out << '(' << p.x << ", " << p.y << ')'; }

/// Of a type of std's: the header cannot see it.
std::ostream &operator<<(std::ostream &out, const std::vector<int> &numbers) {
    for (int number : numbers) out << number << ' ';
    return out;
}

enum unscoped { one = 1 };

struct grouped : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

/// Each way to print, on either stream.
template <typename Out> void everything(Out &out) {
    for (long i = 0; i < 1000; i++) out << i * i * i * i * i << ' ' << -i << std::endl;
    out << 'c' << "literal" << std::string("string") << static_cast<const char *>("pointer") << '\n';
    out << short(-3) << 3u << 4ul << 5ll << 18446744073709551615ull << -9223372036854775807ll - 1 << std::endl;
    out << static_cast<signed char>('s') << static_cast<unsigned char>('u') << true << one << 1.5 << 2.5f << 1e300 << std::endl;
    out << std::hex << 255 << std::showbase << 255 << std::dec << std::noshowbase << 255 << std::showpos << 5 << std::noshowpos << '\n';
    out << std::setw(8) << 42 << std::setw(6) << "ab" << std::left << std::setw(5) << 'x' << std::right << '|' << std::flush;
    out << std::setfill('0') << std::setw(4) << 7 << std::setfill(' ') << std::setprecision(3) << 3.14159 << std::boolalpha << false;
    out << std::noboolalpha << point{1, 2} << std::ends << std::endl;
    out.width(5);
    out << 12 << 12 << '\n';
    out.put('p').write("write", 5);
    out << '\n';
    std::locale before = out.imbue(std::locale(std::locale::classic(), new grouped));
    out << 1234567 << std::endl;
    out.imbue(before);
    out << 1234567 << std::endl;
    std::string view("view");
#if __cplusplus >= 201703L
    out << std::string_view(view) << nullptr << '\n';
#else
    out << view << '\n';
#endif
    char array[] = "array";
    char *text = array;
    out << array << text << std::endl;
    out << static_cast<const void *>(nullptr) << '\n';
    out << 1 << std::vector<int>{2, 3} << 4 << std::setw(3) << 5 << std::endl;
    // Another buffer, as tests do that look at what is printed.
    std::ostringstream caught;
    std::streambuf *own = out.rdbuf(caught.rdbuf());
    out << 1 << 'c' << "caught" << std::endl;
    out.rdbuf(own);
    out << '[' << caught.str() << ']' << std::endl;
    std::ostream &plain = out;
    plain << "as an std::ostream " << 1 << std::endl;
}

} // namespace

int main(int argc, char **argv) {
    std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "reference") {
        everything(std::cout);
        std::cout << "behind it" << std::endl;
    } else if (mode == "outpace") {
        everything(outpace::cout);
        outpace::cout << "behind it" << std::endl;
    } else if (mode == "redirect") {
        {
            outpace::redirect redirect;
            everything(std::cout);
        }
        std::cout << "behind it" << std::endl;
    } else if (mode == "mixed") {
        // Order, as the header says how.
        for (int i = 0; i < 100; i++) {
            outpace::cout << i << " outpace" << std::endl;
            outpace::cout.drain();
            std::cout << i << " std::cout" << std::endl;
            std::printf("%d printf\n", i);
            std::fflush(stdout);
        }
    } else if (mode == "threads") {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++)
            threads.emplace_back([] {
                for (int i = 0; i < 10000; i++) outpace::cout << "a whole message\n";
            });
        for (auto &thread : threads) thread.join();
    } else if (mode == "ask") {
        outpace::tie();
        int answer;
        for (int i = 0; i < 3; i++) {
            outpace::cout << "question " << i << "? ";
            std::cin >> answer;
            outpace::cout << answer << std::endl;
        }
    } else if (mode == "failed") {
        outpace_buffering block = {OUTPACE_BLOCK, 0, 0, 0, nullptr, 0};
        outpace_set_buffering(outpace_stdout(), &block);
        outpace::cout << "nobody takes it" << std::endl;
        outpace::cout.drain();
        bool bad = outpace::cout.bad();
        outpace_clear_error(outpace_stdout());
        return bad ? 0 : 1;
    } else {
        return 2;
    }
    return 0;
}
