# cat: a write for each piece.
n <- as.integer(commandArgs(TRUE)[1]);
for (i in 0:(n-1)) cat("line ", i, "\n", sep="")
