#!/bin/sh
# The questions: sums and products.
awk 'BEGIN { for (n = 0; n < 400000; n++) print n % 1000, n % 2 ? "+" : "*", n % 37 }' > "$1"
