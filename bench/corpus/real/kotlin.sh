#!/bin/sh
# kotlin.sh SOURCE RESULT: kotlinc takes its time, and is asked once.
[ -s "$2" ] || kotlinc "$1" -include-runtime -d "$2" >/dev/null 2>&1
