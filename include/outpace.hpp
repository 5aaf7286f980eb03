// outpace for C++: an std::ostream whose std::endl costs no system call, and is seen in time all the same.
//
//     #include <outpace.hpp>
//
//     outpace::cout << "line " << i << std::endl;
//
// By default (`OUTPACE_PROMPT`) a helper thread writes what was printed within 4 ms; nothing is lost at exit. So std::endl
// and std::flush need not wait for the kernel, and do not: outpace::cout.drain() does, before something else writes to the
// same place: std::cout, printf, a child process. An object outpace::redirect makes std::cout itself write this way.
//
// std::cin is tied to outpace::cout by outpace::tie(), so that a question is seen before its answer is waited for (it is
// in any case within 4 ms).
//
// Everything that an std::ostream can do, it does; integers, text and characters without flags or width take a way of
// their own. Several threads may use it as they may use std::cout: text and a number are not torn; a << that writes several
// times (std::put_time, an operator<< of yours) may be. C++11 or later.
#ifndef OUTPACE_HPP
#define OUTPACE_HPP

#include "outpace.h"

#include <cstring>
#include <iostream>
#include <locale>
#include <ostream>
#include <streambuf>
#include <string>
#include <type_traits>
#include <utility>
#if __cplusplus >= 201703L
#include <string_view>
#endif

namespace outpace {

/// A stream that is locked, until the end of its scope: for messages of several parts, and for speed.
class guard {
public:
    explicit guard(const outpace_stream *stream = outpace_stdout()) : out_(outpace_lock(stream, &guard_)) {}
    ~guard() { outpace_unlock(&out_); }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;

    /// For the functions of outpace.h.
    outpace_out *out() { return &out_; }

private:
    outpace_guard guard_;
    outpace_out out_;
};

/// What an std::ostream writes to. It has no buffer of its own: the stream has one.
class streambuf : public std::streambuf {
public:
    explicit streambuf(const outpace_stream *stream) : stream_(stream) {}

    const outpace_stream *stream() const { return stream_; }

    /// Whether numbers look as in C.
    bool is_plain() const { return plain_; }

protected:
    std::streamsize xsputn(const char *bytes, std::streamsize count) override {
        if (count <= 0) return 0;
        return outpace_write(stream_, bytes, static_cast<std::size_t>(count)) ? 0 : count;
    }

    int_type overflow(int_type c) override {
        if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
        const char byte = traits_type::to_char_type(c);
        return outpace_write(stream_, &byte, 1) ? traits_type::eof() : c;
    }

    /// Nothing is held back here, and the stream's buffering says when it is written.
    int sync() override { return 0; }

    void imbue(const std::locale &locale) override { plain_ = locale == std::locale::classic(); }

private:
    const outpace_stream *stream_;
    bool plain_ = std::locale() == std::locale::classic();
};

namespace detail {
/// What is made before the std::ostream that uses it.
struct holder {
    explicit holder(const outpace_stream *stream) : buffer_(stream) {}
    streambuf buffer_;
};
} // namespace detail

/// An std::ostream on a stream.
class ostream : private detail::holder, public std::ostream {
    struct other {};
    struct one_character {};
    struct integer_signed {};
    struct integer_unsigned {};
    struct text {};

    template <typename T> struct kind_of {
        using plain = typename std::decay<T>::type;
        static constexpr bool is_character =
            std::is_same<plain, char>::value || std::is_same<plain, signed char>::value || std::is_same<plain, unsigned char>::value;
        static constexpr bool is_integer =
            std::is_same<plain, short>::value || std::is_same<plain, int>::value || std::is_same<plain, long>::value ||
            std::is_same<plain, long long>::value || std::is_same<plain, unsigned short>::value ||
            std::is_same<plain, unsigned>::value || std::is_same<plain, unsigned long>::value ||
            std::is_same<plain, unsigned long long>::value;
        static constexpr bool is_text = std::is_same<plain, const char *>::value || std::is_same<plain, char *>::value ||
#if __cplusplus >= 201703L
                                        std::is_same<plain, std::string_view>::value ||
#endif
                                        std::is_same<plain, std::string>::value;
        static constexpr bool is_ours = is_character || is_integer || is_text;
        using type = typename std::conditional<
            is_character, one_character,
            typename std::conditional<
                is_integer,
                typename std::conditional<std::is_signed<plain>::value, integer_signed, integer_unsigned>::type,
                typename std::conditional<is_text, text, other>::type>::type>::type;
    };
    template <typename T> using kind = typename kind_of<T>::type;

    /// Whether an std::ostream prints it, by the operators that are seen here.
    template <typename T> struct is_printable {
        template <typename U>
        static auto test(int) -> decltype(std::declval<std::ostream &>() << std::declval<const U &>(), std::true_type());
        template <typename U> static std::false_type test(...);
        static constexpr bool value = decltype(test<T>(0))::value;
    };

public:
    explicit ostream(const outpace_stream *stream) : detail::holder(stream), std::ostream(&buffer_) {}

    const outpace_stream *stream() const { return buffer_.stream(); }

    /// Returns once the kernel has accepted everything written before the call; badbit if it has not.
    ostream &drain() {
        if (outpace_flush(stream())) setstate(std::ios_base::badbit);
        return *this;
    }

    /// What can be printed from here; an operator<< that is only seen where it is used, such as one in the global namespace
    /// for a type of std's, is called there, and returns an std::ostream.
    template <typename T, typename std::enable_if<kind_of<T>::is_ours || is_printable<T>::value, int>::type = 0>
    ostream &operator<<(const T &value) {
        write(value, kind<T>());
        return *this;
    }

    /// std::endl and std::flush, std::hex and the like.
    ostream &operator<<(std::ostream &(*manipulator)(std::ostream &)) {
        using function = std::ostream &(*)(std::ostream &);
        if (is_own() && good() && !tie() && manipulator == static_cast<function>(std::endl))
            character('\n');
        else
            manipulator(*this);
        return *this;
    }
    ostream &operator<<(std::ios_base &(*manipulator)(std::ios_base &)) {
        manipulator(*this);
        return *this;
    }
    ostream &operator<<(std::ios &(*manipulator)(std::ios &)) {
        manipulator(*this);
        return *this;
    }

private:
    /// It writes to its stream (a program may give it another rdbuf), and numbers look as in C.
    bool is_own() const { return rdbuf() == &buffer_ && buffer_.is_plain(); }

    /// No flag, width or locale changes how a value looks, and nothing has failed.
    bool is_simple() const {
        return flags() == (std::ios_base::skipws | std::ios_base::dec) && width() == 0 && is_own() && good() && !tie();
    }

    void message(const char *bytes, std::size_t length) {
        if (outpace_write(stream(), bytes, length)) setstate(std::ios_base::badbit);
    }

    void character(char c) { message(&c, 1); }

    template <typename T> void write(const T &value, other) { static_cast<std::ostream &>(*this) << value; }

    template <typename T> void write(const T &value, one_character) {
        if (is_simple())
            character(static_cast<char>(value));
        else
            static_cast<std::ostream &>(*this) << value;
    }

    template <typename T> void write(const T &value, integer_signed) {
        if (!is_simple()) {
            static_cast<std::ostream &>(*this) << value;
            return;
        }
        char digits[32];
        message(digits, static_cast<std::size_t>(outpace_put_int_(digits, value) - digits));
    }

    template <typename T> void write(const T &value, integer_unsigned) {
        if (!is_simple()) {
            static_cast<std::ostream &>(*this) << value;
            return;
        }
        char digits[32];
        message(digits, static_cast<std::size_t>(outpace_put_uint_(digits, value) - digits));
    }

    static std::size_t length(const std::string &text) { return text.size(); }
    static const char *bytes(const std::string &text) { return text.data(); }
#if __cplusplus >= 201703L
    static std::size_t length(std::string_view text) { return text.size(); }
    static const char *bytes(std::string_view text) { return text.data(); }
#endif
    static std::size_t length(const char *text) { return std::strlen(text); }
    static const char *bytes(const char *text) { return text; }

    template <typename T> void write(const T &value, text) {
        if (!is_simple() || !bytes(value)) {
            static_cast<std::ostream &>(*this) << value;
            return;
        }
        message(bytes(value), length(value));
    }
};

/// Standard output and standard error. Never destroyed, so that other objects' destructors may still print.
inline ostream &standard_output() {
    static ostream &stream = *new ostream(outpace_stdout());
    return stream;
}
inline ostream &standard_error() {
    static ostream &stream = *new ostream(outpace_stderr());
    return stream;
}
namespace {
ostream &cout = standard_output();
ostream &cerr = standard_error();
} // namespace

/// Makes reading from std::cin show what was printed before.
inline void tie() { std::cin.tie(&standard_output()); }

/// Makes std::cout write this way until the end of the object's scope, without a change to what prints.
class redirect {
public:
    redirect() : buffer_(outpace_stdout()), before_((std::cout.flush(), std::cout.rdbuf(&buffer_))) {}
    ~redirect() {
        std::cout.rdbuf(before_);
        // What std::cout prints from here on comes behind it. An error stays with the stream.
        (void)outpace_flush(outpace_stdout());
    }
    redirect(const redirect &) = delete;
    redirect &operator=(const redirect &) = delete;

private:
    streambuf buffer_;
    std::streambuf *before_;
};

} // namespace outpace
#endif
