; display: a write for each piece on a terminal, blocks elsewhere.
(let ((n (string->number (cadr (command-line))))) (do ((i 0 (+ i 1))) ((= i n)) (display "line ") (display i) (newline)))
