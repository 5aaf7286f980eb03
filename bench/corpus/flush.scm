; force-output after each line.
(let ((n (string->number (cadr (command-line))))) (do ((i 0 (+ i 1))) ((= i n)) (display "line ") (display i) (newline) (force-output)))
