// log/quill: quill's logger, with its defaults, to its sink on stdout; its backend's thread formats the lines.
// CASE chooses the variant, as in the catalogue. https://github.com/odygrd/quill
// flags: -pthread
#include "rung.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <quill/Backend.h>
#include <quill/Frontend.h>
#include <quill/LogMacros.h>
#include <quill/Logger.h>
#include <quill/sinks/ConsoleSink.h>

static const unsigned long long GROUP = 20;
static const size_t MORE_THAN_L2 = 4 << 20;

// The median time between two readings of the clock.
static long long clock_takes() {
    std::vector<long long> apart(1001);
    for (auto &each : apart) {
        long long begun = rung_clock(CLOCK_MONOTONIC);
        each = rung_clock(CLOCK_MONOTONIC) - begun;
    }
    std::sort(apart.begin(), apart.end());
    return apart[apart.size() / 2];
}

static void pause_between_groups() {
    struct timespec time = {0, 50000};
    nanosleep(&time, nullptr);
}

int main(int argc, char **argv) {
    unsigned long long messages = rung_messages(argc, argv);
    const char *variable = getenv("CASE");
    std::string variant = variable ? variable : "hot";
    bool cold = variant == "cold";
    unsigned long long threads = variant == "threads" ? 4 : 1;

    quill::Backend::start();
    quill::ConsoleSinkConfig config;
    config.set_colour_mode(quill::ConsoleSinkConfig::ColourMode::Never);
    auto sink = quill::Frontend::create_or_get_sink<quill::ConsoleSink>("stdout", config);
    quill::PatternFormatterOptions pattern{variant == "time" ? "%(time) %(message)" : "%(message)", "%H:%M:%S.%Qus",
                                           quill::Timezone::GmtTime};
    quill::Logger *logger = quill::Frontend::create_or_get_logger("log", std::move(sink), pattern);

    long long floor = clock_takes();
    std::vector<std::vector<long long>> times(threads);
    rung_begin();
    auto work = [&](unsigned long long thread) {
        std::vector<long long> &own = times[thread];
        own.reserve(messages / threads + 1);
        std::vector<unsigned char> memory(cold ? MORE_THAN_L2 : 0);
        unsigned long long count = 0;
        for (unsigned long long i = thread; i < messages; i += threads, count++) {
            bool first = count % GROUP == 0;
            if (first && !cold) pause_between_groups();
            if (first && cold)
                for (size_t at = 0; at < memory.size(); at += 64) ((volatile unsigned char *)memory.data())[at]++;
            long long begun = rung_clock(CLOCK_MONOTONIC);
            LOG_INFO(logger, "request {} of {}: answered {} in {} us", i, "127.0.0.1", 200, i * 7 % 1000);
            long long took = rung_clock(CLOCK_MONOTONIC) - begun;
            if (first || !cold) own.push_back(std::max(took - floor, 0LL));
        }
    };
    if (threads == 1) {
        work(0);
    } else {
        std::vector<std::thread> all;
        for (unsigned long long thread = 0; thread < threads; thread++) all.emplace_back(work, thread);
        for (auto &thread : all) thread.join();
    }
    rung_called();
    logger->flush_log();
    int status = rung_end();

    std::vector<long long> all;
    for (auto &own : times) all.insert(all.end(), own.begin(), own.end());
    std::sort(all.begin(), all.end());
    const char *path = getenv("OUTPACE_RUNG_REPORT");
    FILE *report = path && !all.empty() ? fopen(path, "a") : nullptr;
    if (report) {
        auto quantile = [&](double share) { return all[std::min(all.size() - 1, (size_t)(all.size() * share))]; };
        fprintf(report, "note %lld call_median_ns\nnote %lld call_p99_ns\nnote %lld call_p99_9_ns\nnote %lld call_max_ns\n",
                quantile(0.5), quantile(0.99), quantile(0.999), all.back());
        status |= fclose(report) != 0;
    }
    quill::Backend::stop();
    return status;
}
