#!/bin/sh
# ledger.sh HOW NUMBER: a ledger by busybox's awk, flushed after each entry; told `large`, collected (it flushes each printf by itself).
how=$1 lines=$2
exec busybox awk -v how="$how" -v lines="$lines" 'BEGIN {
    for (n = 0; n < lines; n++) {
        account = (n * 7919) % 23
        balance[account] += (n % 200) - 90
        entry = sprintf("%06d account %02d %8d\n", n, account, balance[account])
        if (how == "small") {
            printf "%s", entry
            fflush()
        } else {
            text = text entry
            if (n % 40 == 39) {
                printf "%s", text
                text = ""
            }
        }
    }
    printf "%s", text
}'
