% A line and fflush; told large, no flush: the remedy.
variable large = (__argv[1] == "large"), lines = atoi (__argv[2]), n;
for (n = 0; n < lines; n++)
{
  () = fprintf (stdout, "%d %d\n", n, n mod 17);
  ifnot (large) () = fflush (stdout);
}
