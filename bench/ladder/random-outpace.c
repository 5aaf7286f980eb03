/* ladder/random-outpace-h: the same as ladder/outpace-h, of numbers of random length. */
#include "random.h"

#define NUMBER random_number
#include "outpace.c"
