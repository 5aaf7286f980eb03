#!/bin/sh
# bytes.sh FILE: bytes for od.
seq 1000000 > "$1"
