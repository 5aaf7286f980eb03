      *> DISPLAY of each line; with LARGE lines that are joined: the remedy.
       identification division.
       program-id. lines.
       data division.
       working-storage section.
       01 arg-text pic x(40).
       01 total pic 9(9).
       01 i pic 9(9).
       01 remains pic 99.
       01 whole pic x(64000).
       01 at-byte pic 9(6) value 1.
       procedure division.
           accept arg-text from argument-value
           move function numval(arg-text) to total
           perform varying i from 1 by 1 until i > total
             compute remains = function mod(i, 17)
      >>IF LARGE DEFINED
             string i " " remains x"0a" delimited by size into whole
               with pointer at-byte
             if at-byte > 63900
               subtract 1 from at-byte
               display whole(1:at-byte) with no advancing
               move 1 to at-byte
             end-if
      >>ELSE
             display i " " remains
      >>END-IF
           end-perform
           if at-byte > 1
             subtract 1 from at-byte
             display whole(1:at-byte) with no advancing
           end-if
           stop run.
