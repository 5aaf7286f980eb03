# The lines are collected, and written by one cat.
n <- as.integer(commandArgs(TRUE)[1]); lines <- character(n);
for (i in 0:(n-1)) lines[i+1] <- paste0("line ", i); cat(paste0(lines, "\n", collapse=""))
